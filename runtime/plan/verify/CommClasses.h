// The coarsest classes of ranks that behave alike in all their communication: equal roles and coordinates, and groups and
// peers of equal classes. One rank of each class stands for all of it.
#ifndef PLAIT_RUNTIME_PLAN_VERIFY_COMMCLASSES_H
#define PLAIT_RUNTIME_PLAN_VERIFY_COMMCLASSES_H

#include "runtime/plan/verify/CommOps.h"
#include "runtime/plan/verify/RankTable.h"
#include <set>

namespace plait {

struct CommClasses {
  std::vector<uint32_t> of;      ///< class by rank
  std::vector<uint32_t> example; ///< lowest rank of each class
};

CommClasses commClassesOf(const pb::Plan &plan, const RankTable &table, const CommOps &ops);

/// Ends that a role uses.
std::vector<std::set<CommEnd>> usedEnds(const pb::Plan &plan, const CommOps &ops);
/// Ranks that meet at an end of `rank`: its group, or sender and receiver of its pair.
std::vector<uint32_t> ranksAt(const pb::Plan &plan, const CommEnd &end, uint32_t rank);
/// The channel that stands for all those that join the same two ranks in the same direction: messages between two ranks
/// match by their order, whatever channel they name. The lowest that the rank uses.
CommEnd streamOf(const pb::Plan &plan, const std::set<CommEnd> &used, const CommEnd &end, uint32_t rank);

} // namespace plait

#endif
