#include "runtime/plan/verify/LogicalRuns.h"
#include <algorithm>

namespace plait {
namespace {

/// Offsets and counts above this are refused, so that sums of a few of them do not overflow.
constexpr uint64_t kLimit = uint64_t(1) << 60;

/// A box of a tensor seen as [product of the leading dimensions, last dimension]; a vector is one column. Nothing if the
/// rows of the box do not follow each other.
struct Matrix {
  int64_t row = 0, rows = 1, column = 0, columns = 1, width = 1;
};
std::optional<Matrix> asMatrix(const std::vector<int64_t> &shape, const Box &box) {
  Matrix matrix;
  size_t leading = shape.size();
  if (leading > 1) {
    --leading;
    matrix.width = shape[leading];
    matrix.column = box.start[leading];
    matrix.columns = box.size[leading];
  }
  int64_t step = 1;
  bool isPartial = false; // a dimension further in is not wholly covered
  for (size_t k = leading; k-- > 0; step *= shape[k]) {
    if (isPartial && box.size[k] != 1)
      return std::nullopt;
    isPartial |= box.size[k] != shape[k];
    matrix.row += box.start[k] * step;
    matrix.rows *= box.size[k];
  }
  return matrix;
}

std::string describe(const pb::Tensor &tensor, const Box &box) { return "'" + tensor.name() + "' " + toString(box); }

} // namespace

Result<ArenaMap> ArenaMap::of(const pb::Plan &plan, const RankPlace &place) {
  std::string role = "role '" + place.role().name() + "'";
  ArenaMap map;
  for (const pb::Residence &residence : place.role().residences()) {
    if (residence.tensor() >= uint32_t(plan.tensors_size()))
      return Error{ExitCode::CheckFailed, role + ": tensor " + std::to_string(residence.tensor()) + " does not exist"};
    const pb::Tensor &tensor = plan.tensors(static_cast<int>(residence.tensor()));
    std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
    Box box{{}, {residence.size().begin(), residence.size().end()}};
    for (const pb::Offset &offset : residence.start())
      box.start.push_back(place.evaluate(offset));
    if (box.start.size() != shape.size() || box.size.size() != shape.size())
      return Error{ExitCode::CheckFailed, role + ": a residence of '" + tensor.name() + "' has " +
                                              std::to_string(box.start.size()) + " starts and " +
                                              std::to_string(box.size.size()) + " sizes for " +
                                              std::to_string(shape.size()) + " dimensions"};
    if (!isInside(box, shape))
      return Error{ExitCode::CheckFailed, role + ": rank " + std::to_string(place.rank()) + " holds " +
                                              describe(tensor, box) + ", which is not inside " + toString(wholeBox(shape))};
    std::optional<Matrix> matrix = asMatrix(shape, box);
    if (!matrix || residence.offset() > kLimit)
      return Error{ExitCode::CheckFailed, role + ": residence " + describe(tensor, box) + " at " +
                                              std::to_string(residence.offset()) +
                                              " is not rows and columns of its tensor"};
    map.list.push_back({residence.tensor(), static_cast<int64_t>(residence.offset()), matrix->rows, matrix->columns,
                        matrix->row, matrix->column, matrix->width});
  }
  std::stable_sort(map.list.begin(), map.list.end(),
                   [](const Interval &a, const Interval &b) { return a.offset < b.offset; });
  for (size_t i = 1; i < map.list.size(); ++i)
    if (map.list[i - 1].offset + map.list[i - 1].elements() > map.list[i].offset)
      return Error{ExitCode::CheckFailed, role + ": residences of '" + plan.tensors(int(map.list[i - 1].tensor)).name() +
                                              "' and '" + plan.tensors(int(map.list[i].tensor)).name() +
                                              "' overlap in the parameter arena"};
  return map;
}

Result<std::vector<ArenaMap::Part>> ArenaMap::partsOf(const pb::Piece &piece) const {
  auto fail = [&](const char *what) {
    return Error{ExitCode::CheckFailed, "piece of " + std::to_string(piece.rows()) + " x " +
                                            std::to_string(piece.row_elements()) + " elements at " +
                                            std::to_string(piece.offset()) + " " + what};
  };
  if (piece.offset() > kLimit || piece.rows() == 0 || piece.row_elements() == 0 ||
      piece.rows() > kLimit / piece.row_elements() ||
      (piece.rows() > 1 && piece.row_stride() > kLimit / (piece.rows() - 1)))
    return fail("is empty or too large");
  auto offset = static_cast<int64_t>(piece.offset()), rows = static_cast<int64_t>(piece.rows()),
       columns = static_cast<int64_t>(piece.row_elements()), stride = static_cast<int64_t>(piece.row_stride());
  auto after = std::upper_bound(list.begin(), list.end(), offset,
                                [](int64_t at, const Interval &interval) { return at < interval.offset; });
  if (after == list.begin())
    return fail("lies before every residence");
  size_t interval = after - 1 - list.begin();
  if (rows > 1 && stride == columns) { // a dense piece is one row
    columns *= rows;
    rows = 1;
  }
  if (rows > 1) {
    const Interval &home = list[interval];
    int64_t start = offset - home.offset, column = start % home.columns;
    if (start + (rows - 1) * stride + columns > home.elements() || stride != home.columns ||
        column + columns > home.columns)
      return fail("is not a part of one residence's rows");
    return std::vector<Part>{{interval, start / home.columns, rows, column, columns}};
  }
  std::vector<Part> parts;
  while (columns > 0) {
    if (interval == list.size() || offset < list[interval].offset ||
        offset >= list[interval].offset + list[interval].elements())
      return fail("leaves the residences of its role");
    const Interval &home = list[interval];
    int64_t start = offset - home.offset, column = start % home.columns, row = start / home.columns;
    int64_t whole = column == 0 ? std::min(columns / home.columns, home.rows - row) : 0;
    parts.push_back(whole > 0 ? Part{interval, row, whole, 0, home.columns}
                              : Part{interval, row, 1, column, std::min(columns, home.columns - column)});
    columns -= parts.back().elements();
    offset += parts.back().elements();
    if (offset == home.offset + home.elements())
      ++interval;
  }
  return parts;
}

LogicalRun ArenaMap::runOf(const Part &part) const {
  const Interval &home = list[part.interval];
  return {home.tensor, home.row + part.row, part.rows, home.column + part.column, part.columns, home.width};
}

namespace {

std::string positionText(const LogicalRun &run) {
  return "element " + std::to_string(run.first()) + " of tensor " + std::to_string(run.tensor);
}

/// One row if the elements follow each other.
LogicalRun flattened(LogicalRun run) {
  if (run.isFlat() && run.rows > 1) {
    run.columns *= run.rows;
    run.rows = 1;
  }
  return run;
}

/// Removes `taken` leading elements, whole rows or a part of the only row.
void drop(LogicalRun &run, const LogicalRun &taken) {
  if (run.rows > 1 || taken.columns == run.columns) {
    run.row += taken.rows;
    run.rows -= taken.rows;
  } else {
    run.column += taken.columns;
    run.columns -= taken.columns;
  }
}

} // namespace

std::optional<std::string> difference(std::vector<LogicalRun> a, std::vector<LogicalRun> b) {
  std::reverse(a.begin(), a.end());
  std::reverse(b.begin(), b.end());
  while (!a.empty() && !b.empty()) {
    LogicalRun x = flattened(a.back()), y = flattened(b.back());
    if (x.tensor != y.tensor || x.first() != y.first())
      return positionText(x) + " against " + positionText(y);
    LogicalRun common = x;
    if (x.rows == y.rows && x.columns == y.columns) {
    } else if (x.rows == 1 && y.rows == 1) {
      common.columns = std::min(x.columns, y.columns);
    } else if (x.columns == y.columns) {
      common.rows = std::min(x.rows, y.rows);
    } else {
      return "different parts of the rows from " + positionText(x);
    }
    for (auto [list, run] : {std::pair(&a, x), std::pair(&b, y)}) {
      drop(run, common);
      list->back() = run;
      if (run.rows == 0 || run.columns == 0)
        list->pop_back();
    }
  }
  if (a.empty() && b.empty())
    return std::nullopt;
  return "one ends before " + positionText(a.empty() ? b.back() : a.back());
}

std::optional<std::string> tilingFault(int64_t rows, int64_t width, const std::vector<LogicalRun> &runs) {
  constexpr size_t kMostRuns = 4096;
  if (runs.size() > kMostRuns)
    return "in more than " + std::to_string(kMostRuns) + " parts";
  std::vector<LogicalRun> rectangles = runs;
  std::sort(rectangles.begin(), rectangles.end(), [](const LogicalRun &a, const LogicalRun &b) {
    return std::pair(a.row, a.column) < std::pair(b.row, b.column);
  });
  int64_t total = 0;
  for (size_t i = 0; i < rectangles.size(); ++i) {
    const LogicalRun &a = rectangles[i];
    total += a.elements();
    for (size_t j = i + 1; j < rectangles.size() && rectangles[j].row < a.row + a.rows; ++j)
      if (rectangles[j].column < a.column + a.columns && a.column < rectangles[j].column + rectangles[j].columns)
        return "element " + std::to_string(rectangles[j].row * width + std::max(a.column, rectangles[j].column)) +
               " twice";
  }
  if (total != rows * width)
    return std::to_string(rows * width - total) + " of " + std::to_string(rows * width) + " elements not at all";
  return std::nullopt;
}

} // namespace plait
