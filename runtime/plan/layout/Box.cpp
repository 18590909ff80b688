#include "runtime/plan/layout/Box.h"
#include <algorithm>

namespace plait {

int64_t Box::elements() const {
  int64_t count = 1;
  for (int64_t extent : size)
    count *= extent;
  return count;
}

Box wholeBox(const std::vector<int64_t> &shape) { return {std::vector<int64_t>(shape.size(), 0), shape}; }

bool isInside(const Box &box, const std::vector<int64_t> &shape) {
  if (box.start.size() != shape.size() || box.size.size() != shape.size())
    return false;
  for (size_t k = 0; k < shape.size(); ++k)
    if (box.start[k] < 0 || box.size[k] <= 0 || box.size[k] > shape[k] || box.start[k] > shape[k] - box.size[k])
      return false;
  return true;
}

bool contains(const Box &outer, const Box &inner) {
  for (size_t k = 0; k < outer.start.size(); ++k)
    if (inner.start[k] < outer.start[k] || inner.start[k] + inner.size[k] > outer.start[k] + outer.size[k])
      return false;
  return true;
}

std::optional<Box> intersect(const Box &a, const Box &b) {
  Box common;
  for (size_t k = 0; k < a.start.size(); ++k) {
    int64_t begin = std::max(a.start[k], b.start[k]);
    int64_t end = std::min(a.start[k] + a.size[k], b.start[k] + b.size[k]);
    if (begin >= end)
      return std::nullopt;
    common.start.push_back(begin);
    common.size.push_back(end - begin);
  }
  return common;
}

std::string toString(const Box &box) {
  std::string text = "[";
  for (size_t k = 0; k < std::min(box.start.size(), box.size.size()); ++k) {
    if (k)
      text += ", ";
    text += std::to_string(box.start[k]);
    text += ':';
    text += std::to_string(box.start[k] + box.size[k]);
  }
  return text + "]";
}

namespace {

/// One dimension of a part: `size` of `full` positions, the first of them at `start`; `step` elements apart.
struct Dim {
  int64_t full, start, size, step;
};

/// Dimensions of the part with those that lie densely inside their neighbour merged, and without those of size 1,
/// which only shift the offset.
std::vector<Dim> collapse(const Box &outer, const Box &inner, int64_t &offset) {
  std::vector<Dim> dims; // innermost first
  int64_t step = 1;
  for (size_t k = outer.size.size(); k-- > 0;) {
    Dim dim{outer.size[k], inner.start[k] - outer.start[k], inner.size[k], step};
    step *= dim.full;
    offset += dim.start * dim.step;
    if (!dims.empty() && dims.back().size == dims.back().full && dims.back().step * dims.back().full == dim.step)
      dims.back() = {dims.back().full * dim.full, 0, dims.back().size * dim.size, dims.back().step};
    else if (dim.size > 1)
      dims.push_back(dim);
  }
  std::reverse(dims.begin(), dims.end());
  return dims;
}

} // namespace

std::vector<StridedPiece> stridedPieces(const Box &outer, const Box &inner) {
  int64_t offset = 0;
  std::vector<Dim> dims = collapse(outer, inner, offset);
  StridedPiece piece{offset, 1, 1, 1};
  bool dense = !dims.empty() && dims.back().step == 1;
  if (dense) {
    piece.rowElements = dims.back().size;
    dims.pop_back();
  }
  piece.rowStride = piece.rowElements;
  if (!dims.empty()) {
    piece.rows = dims.back().size;
    piece.rowStride = dims.back().step;
    dims.pop_back();
  }
  std::vector<StridedPiece> pieces{piece};
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    std::vector<StridedPiece> repeated;
    for (int64_t i = 0; i < dim->size; ++i)
      for (StridedPiece part : pieces) {
        part.offset += i * dim->step;
        repeated.push_back(part);
      }
    pieces = std::move(repeated);
  }
  return pieces;
}

} // namespace plait
