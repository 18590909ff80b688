// RankClasses: ranks that behave alike, folded into classes. Two ranks are alike if they have one role and equal
// coordinates, equal devices, groups and messages of equal shape in the cluster, and peers that are alike (the coarsest
// stable refinement). All ranks of a class then do everything at the same times, so one of them stands for all.
#ifndef PLAIT_COST_MODEL_SIMULATE_RANKCLASSES_H
#define PLAIT_COST_MODEL_SIMULATE_RANKCLASSES_H

#include "cost_model/comm/Collectives.h"
#include "runtime/plan/plan.pb.h"
#include <map>

namespace plait {

/// A communicator, as its members' classes.
struct ClassGroup {
  uint32_t family = 0; ///< index into Plan::families; the number of families stands for all ranks
  CommShape shape;
  std::vector<uint32_t> classes; ///< classes of the members, ascending, each once
};
/// The other end of a channel.
struct ClassPeer {
  uint32_t peerClass = 0;
  CommShape shape;
};

struct RankClass {
  uint32_t role = 0, rank = 0; ///< rank: the lowest, which stands for all
  uint64_t ranks = 0;          ///< how many
  const DeviceFacts *device = nullptr;
  std::vector<uint32_t> axisGroups;                     ///< per axis of the role, index into groups
  std::map<uint32_t, uint32_t> syncGroups;              ///< sync -> index into groups
  std::map<std::pair<uint32_t, bool>, ClassPeer> peers; ///< (channel, send) -> peer
};

struct RankClasses {
  std::vector<RankClass> classes; ///< by lowest rank
  std::vector<ClassGroup> groups;
  uint32_t worldGroup = 0;       ///< index into groups
  std::vector<uint32_t> classOf; ///< by rank
};

/// Precondition: verifyPlan() is empty. Without `fold` every rank is a class of its own.
/// Error Usage: fewer devices than ranks, or no facts about a device or a link.
Result<RankClasses> classifyRanks(const pb::Plan &plan, const Cluster &cluster, const Facts &facts, bool fold);

} // namespace plait

#endif
