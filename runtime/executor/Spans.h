// Where the elements of logical tensors lie in the parameter arena of a rank (the gradient arena has the same element
// offsets), and which of them the rank owns. All lists are sorted by arena offset.
#ifndef PLAIT_RUNTIME_EXECUTOR_SPANS_H
#define PLAIT_RUNTIME_EXECUTOR_SPANS_H

#include "runtime/plan/RankSets.h"
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace plait {

/// `count` elements that are consecutive both in the arena (from element `local`) and in the flat row-major order of a
/// logical tensor (from element `logical`).
struct Span {
  uint32_t tensor = 0; ///< index into plan.tensors
  uint64_t logical = 0, local = 0, count = 0;
  bool operator==(const Span &) const = default;
};

/// `count` elements that are consecutive both in the arena and in the owned part of one Sync.
struct OwnedRun {
  uint32_t part = 0;   ///< index into role.sync_parts
  uint64_t local = 0;  ///< element of the arena
  uint64_t state = 0;  ///< element among those owned of the part: the index of its optimizer state
  uint64_t count = 0;
  bool decay = false;  ///< weight decay applies
  bool counted = true; ///< false where another rank holds an equal copy that is the one to count or write
};

/// One row of a piece: flat elements [flat, flat + count) of the Sync, at arena element `local`.
struct PieceRow {
  uint64_t flat = 0, local = 0, count = 0;
  bool decay = false;
};

/// Calls `visit` for the rows of `part` cut to flat elements [begin, end), in flat order. Rows that follow each other in
/// the arena come as one.
template <typename Visit> void forEachRow(const pb::SyncPart &part, uint64_t begin, uint64_t end, Visit visit) {
  uint64_t flat = 0;
  for (const pb::Piece &piece : part.pieces()) {
    const bool dense = piece.row_stride() == piece.row_elements();
    const uint64_t rows = dense ? 1 : piece.rows();
    const uint64_t width = dense ? piece.rows() * piece.row_elements() : piece.row_elements();
    for (uint64_t row = 0; row < rows; ++row, flat += width) {
      const uint64_t from = std::max(flat, begin), to = std::min(flat + width, end);
      if (from < to)
        visit(PieceRow{from, piece.offset() + row * piece.row_stride() + (from - flat), to - from, piece.decay()});
    }
  }
}

/// All elements that the rank holds.
std::vector<Span> heldSpans(const pb::Plan &plan, const RankPlace &place);
/// Flat range of `sync` that member `index` owns.
struct FlatRange {
  uint64_t begin = 0, end = 0;
};
FlatRange ownedRange(const pb::Sync &sync, uint32_t index);
/// All elements that the rank updates. groupIndex: the rank's index in the group of each part.
std::vector<OwnedRun> ownedRuns(const pb::Plan &plan, const pb::Role &role, std::span<const uint32_t> groupIndex);

/// A piece of a span that lies in an owned run.
struct OwnedSpan {
  Span span;
  uint32_t run = 0;   ///< index into the runs
  uint64_t state = 0; ///< as OwnedRun::state, of the first element
};
std::vector<OwnedSpan> intersect(std::span<const Span> spans, std::span<const OwnedRun> runs);

} // namespace plait

#endif
