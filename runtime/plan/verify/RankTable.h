// Ranks of a plan, folded: ranks of one role with equal coordinates along its axes are one kind, and are alike in all but
// their peers.
#ifndef PLAIT_RUNTIME_PLAN_VERIFY_RANKTABLE_H
#define PLAIT_RUNTIME_PLAN_VERIFY_RANKTABLE_H

#include "runtime/plan/RankSets.h"
#include "runtime/plan/verify/Faults.h"

namespace plait {

/// Largest world that is verified.
constexpr uint32_t kMaxRanks = 1 << 20;

struct RankTable {
  std::vector<uint32_t> role;  ///< by rank
  std::vector<uint32_t> kind;  ///< by rank
  std::vector<RankPlace> kinds; ///< one rank of each kind, the lowest
};

/// Faults: a rank that no range or two ranges cover, ranges outside the world, unknown roles, a rank outside a family
/// that its role names as an axis. The table is usable only without faults.
RankTable makeRankTable(const pb::Plan &plan, Faults &faults);

} // namespace plait

#endif
