// Boxes: axis-aligned parts of a row-major tensor, in elements, and where their elements lie in memory.
#ifndef PLAIT_RUNTIME_PLAN_LAYOUT_BOX_H
#define PLAIT_RUNTIME_PLAN_LAYOUT_BOX_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plait {

/// Elements start_k <= index_k < start_k + size_k in every dimension k. A box of rank 0 holds one element.
struct Box {
  std::vector<int64_t> start, size;
  int64_t elements() const;
  bool operator==(const Box &) const = default;
};

/// The box of all elements of a tensor.
Box wholeBox(const std::vector<int64_t> &shape);
/// True if the ranks agree, sizes are positive and the box lies inside the shape.
bool isInside(const Box &box, const std::vector<int64_t> &shape);
/// True if every element of inner is in outer. Both have the same rank.
bool contains(const Box &outer, const Box &inner);
/// Common elements; nothing if there are none. Both have the same rank.
std::optional<Box> intersect(const Box &a, const Box &b);
/// "[0:4, 8:16]": for messages.
std::string toString(const Box &box);

/// rows x rowElements elements at offset + row * rowStride; all in elements. One row has rowStride == rowElements.
struct StridedPiece {
  int64_t offset = 0, rows = 1, rowElements = 0, rowStride = 0;
  int64_t elements() const { return rows * rowElements; }
  bool operator==(const StridedPiece &) const = default;
};

/// Where the elements of `inner` lie in a dense row-major buffer that holds `outer`; order of the pieces and of the
/// elements in them is inner's row-major order. One piece for ranks 1 and 2, and whenever the part allows it;
/// contiguous elements are one row. Precondition: contains(outer, inner).
std::vector<StridedPiece> stridedPieces(const Box &outer, const Box &inner);

} // namespace plait

#endif
