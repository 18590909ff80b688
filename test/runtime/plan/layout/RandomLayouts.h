// Random boxes and layouts for the layout tests.
#ifndef PLAIT_TEST_RUNTIME_PLAN_LAYOUT_RANDOMLAYOUTS_H
#define PLAIT_TEST_RUNTIME_PLAN_LAYOUT_RANDOMLAYOUTS_H

#include "runtime/plan/layout/Layout.h"
#include <random>

namespace plait::test {

inline int64_t pick(std::mt19937 &random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

inline std::vector<int64_t> randomShape(std::mt19937 &random, int maxRank, int64_t maxExtent) {
  std::vector<int64_t> shape(pick(random, 1, maxRank));
  for (int64_t &extent : shape)
    extent = pick(random, 1, maxExtent);
  return shape;
}

inline Box randomBox(std::mt19937 &random, const std::vector<int64_t> &shape) {
  Box box;
  for (int64_t extent : shape) {
    int64_t size = pick(random, 1, extent);
    box.size.push_back(size);
    box.start.push_back(pick(random, 0, extent - size));
  }
  return box;
}

/// Calls visit(index, flat) for every index of the box; flat is the row-major offset inside the box.
template <typename Visit> void forEachIndex(const Box &box, Visit visit) {
  for (int64_t flat = 0, count = box.elements(); flat < count; ++flat) {
    std::vector<int64_t> index(box.size.size());
    int64_t rest = flat;
    for (size_t k = index.size(); k-- > 0; rest /= box.size[k])
      index[k] = box.start[k] + rest % box.size[k];
    visit(index, flat);
  }
}

inline bool holds(const Box &box, const std::vector<int64_t> &index) {
  for (size_t k = 0; k < index.size(); ++k)
    if (index[k] < box.start[k] || index[k] >= box.start[k] + box.size[k])
      return false;
  return true;
}

/// Row-major offset of an index inside a box that holds it.
inline int64_t offsetIn(const Box &box, const std::vector<int64_t> &index) {
  int64_t offset = 0;
  for (size_t k = 0; k < index.size(); ++k)
    offset = offset * box.size[k] + index[k] - box.start[k];
  return offset;
}

} // namespace plait::test

#endif
