// Layouts: the discrete choices of a plan whose replicas are alike, without the cuts of the chain into stages.
#ifndef PLAIT_COMPILER_SEARCH_LAYOUTS_H
#define PLAIT_COMPILER_SEARCH_LAYOUTS_H

#include "cost_model/problem/Problem.h"
#include <map>

namespace plait {

struct Layout {
  uint32_t tp = 1, pp = 1, dp = 1;
  int64_t microBatch = 1;
  bool sequenceParallel = false, splitWeightGrad = false;
  std::string recompute = "none", sharding = "none", schedule = "1f1b";
  int64_t microbatches = 1; ///< per replica
  bool operator==(const Layout &) const = default;
};

/// All layouts of the problem's space in a fixed order. Layouts that a rule forbids whatever the cuts are left out and
/// counted in `pruned` under the rule's number.
std::vector<Layout> layoutsOf(const Problem &problem, std::map<std::string, uint64_t> &pruned);

/// The plan of a layout: `cuts` are the pp - 1 first uses of stages 1, 2, ... Tensor groups are neighbouring devices,
/// then replicas, then stages (tp fastest, pp slowest).
Solution solutionOf(const Problem &problem, const Layout &layout, const std::vector<Id> &cuts);

/// pp - 1 cuts that divide the layers as evenly as possible.
std::vector<Id> evenCuts(const Problem &problem, const Layout &layout);

} // namespace plait

#endif
