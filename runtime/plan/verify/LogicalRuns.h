// Pieces of a parameter arena as parts of logical tensors, without expanding their rows.
#ifndef PLAIT_RUNTIME_PLAN_VERIFY_LOGICALRUNS_H
#define PLAIT_RUNTIME_PLAN_VERIFY_LOGICALRUNS_H

#include "runtime/plan/RankSets.h"
#include "runtime/plan/layout/Box.h"

namespace plait {

/// A rectangle of a logical tensor seen as a matrix of `width` columns (its last dimension; 1 for a vector).
struct LogicalRun {
  uint32_t tensor = 0;
  int64_t row = 0, rows = 1, column = 0, columns = 0, width = 0;
  int64_t elements() const { return rows * columns; }
  /// Flat position of the first element.
  int64_t first() const { return row * width + column; }
  /// True if the elements follow each other in the tensor's flat order.
  bool isFlat() const { return rows == 1 || columns == width; }
};

/// Residences of one rank as intervals of its arena, in arena order.
class ArenaMap {
public:
  /// Error: a residence outside its tensor, one that is no rectangle of it, or two that overlap in the arena.
  static Result<ArenaMap> of(const pb::Plan &plan, const RankPlace &place);

  struct Interval {
    uint32_t tensor;
    int64_t offset, rows, columns;   ///< in the arena, dense
    int64_t row, column, width;      ///< first element in the tensor's matrix
    int64_t elements() const { return rows * columns; }
  };
  const std::vector<Interval> &intervals() const { return list; }
  /// First element behind the last interval.
  int64_t end() const { return list.empty() ? 0 : list.back().offset + list.back().elements(); }

  /// A rectangle of one interval, relative to it.
  struct Part {
    size_t interval;
    int64_t row, rows, column, columns;
    int64_t elements() const { return rows * columns; }
  };
  /// The rectangles of a piece in its order; a piece of one row may pass from one residence to the next. Error: elements
  /// outside every residence, or rows that are not rows of one residence.
  Result<std::vector<Part>> partsOf(const pb::Piece &piece) const;
  LogicalRun runOf(const Part &part) const;

private:
  std::vector<Interval> list;
};

/// Nothing if both lists hold the same elements in the same order, else the first difference, for a message.
std::optional<std::string> difference(std::vector<LogicalRun> a, std::vector<LogicalRun> b);

/// Nothing if the runs hold every element of a matrix of rows x width once, else what is wrong.
std::optional<std::string> tilingFault(int64_t rows, int64_t width, const std::vector<LogicalRun> &runs);

} // namespace plait

#endif
