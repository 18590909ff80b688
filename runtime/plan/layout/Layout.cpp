#include "runtime/plan/layout/Layout.h"
#include <algorithm>

namespace plait {
namespace {

/// Calls visit(box) for every cell of the grid in row-major order.
template <typename Visit> void forEachCell(const std::vector<std::vector<int64_t>> &grid, Visit visit) {
  std::vector<size_t> at(grid.size(), 0);
  while (true) {
    Box cell;
    for (size_t k = 0; k < grid.size(); ++k) {
      cell.start.push_back(grid[k][at[k]]);
      cell.size.push_back(grid[k][at[k] + 1] - grid[k][at[k]]);
    }
    visit(cell);
    size_t k = grid.size();
    while (k > 0 && ++at[k - 1] + 1 == grid[k - 1].size())
      at[--k] = 0;
    if (k == 0)
      return;
  }
}

/// True if `next` continues `last` along dimension k and is equal in all others.
bool continues(const Atom &last, const Atom &next, size_t k) {
  if (last.holders != next.holders)
    return false;
  for (size_t d = 0; d < last.box.start.size(); ++d) {
    if (d == k && last.box.start[d] + last.box.size[d] != next.box.start[d])
      return false;
    if (d != k && (last.box.start[d] != next.box.start[d] || last.box.size[d] != next.box.size[d]))
      return false;
  }
  return true;
}

/// Merges runs along dimension k.
std::vector<Atom> mergeAlong(std::vector<Atom> parts, size_t k) {
  // Order in which runs along k are neighbours: the other coordinates first, k last.
  std::sort(parts.begin(), parts.end(), [k](const Atom &a, const Atom &b) {
    for (size_t d = 0; d < a.box.start.size(); ++d)
      if (d != k && a.box.start[d] != b.box.start[d])
        return a.box.start[d] < b.box.start[d];
    return a.box.start[k] < b.box.start[k];
  });
  std::vector<Atom> merged;
  for (Atom &part : parts) {
    if (!merged.empty() && continues(merged.back(), part, k))
      merged.back().box.size[k] += part.box.size[k];
    else
      merged.push_back(std::move(part));
  }
  return merged;
}

} // namespace

Status checkResidences(const std::vector<int64_t> &shape, const std::vector<Residence> &residences) {
  for (int64_t extent : shape)
    if (extent <= 0)
      return Error{ExitCode::Internal, "a tensor of shape " + toString(wholeBox(shape)) + " has no elements"};
  for (const Residence &residence : residences)
    if (!isInside(residence.box, shape))
      return Error{ExitCode::Internal, "rank " + std::to_string(residence.rank) + " holds " + toString(residence.box) +
                                           ", which is not inside " + toString(wholeBox(shape))};
  return success();
}

std::vector<std::vector<int64_t>> boundaries(const std::vector<int64_t> &shape, const std::vector<Box> &boxes) {
  std::vector<std::vector<int64_t>> grid;
  for (size_t k = 0; k < shape.size(); ++k) {
    std::vector<int64_t> cuts{0, shape[k]};
    for (const Box &box : boxes) {
      cuts.push_back(box.start[k]);
      cuts.push_back(box.start[k] + box.size[k]);
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    grid.push_back(std::move(cuts));
  }
  return grid;
}

std::vector<Atom> atoms(const std::vector<int64_t> &shape, const std::vector<Residence> &residences) {
  std::vector<Box> boxes;
  for (const Residence &residence : residences)
    boxes.push_back(residence.box);
  std::vector<Atom> parts;
  forEachCell(boundaries(shape, boxes), [&](const Box &cell) {
    Atom atom{cell, {}};
    for (size_t i = 0; i < residences.size(); ++i)
      if (contains(residences[i].box, cell))
        atom.holders.push_back(static_cast<uint32_t>(i));
    parts.push_back(std::move(atom));
  });
  for (size_t k = shape.size(); k-- > 0;)
    parts = mergeAlong(std::move(parts), k);
  std::sort(parts.begin(), parts.end(), [](const Atom &a, const Atom &b) { return a.box.start < b.box.start; });
  return parts;
}

} // namespace plait
