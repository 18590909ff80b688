// Arithmetic on the rank sets, group families and channels of a plan. A set of 16,384 ranks is a few extents and is
// never expanded: every function costs the number of extents, or of listed ranks.
//
// A set given by extents is well formed if every stride is larger than the span of all smaller ones together, as the
// digits of a number are. checkRankSet() says whether it is; the other functions expect it and give an arbitrary (but
// defined) answer for a set that is not.
#ifndef PLAIT_RUNTIME_PLAN_RANKSETS_H
#define PLAIT_RUNTIME_PLAN_RANKSETS_H

#include "runtime/plan/Result.h"
#include "runtime/plan/plan.pb.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plait {

/// Error if the set is empty, names a rank >= worldSize or names one twice.
Status checkRankSet(const pb::RankSet &set, uint32_t worldSize);
/// As checkRankSet for the ranks of all groups together: a rank is in at most one group.
Status checkFamily(const pb::GroupFamily &family, uint32_t worldSize);

/// Number of ranks; saturates at 2^64 - 1.
uint64_t sizeOf(const pb::RankSet &set);
/// The k-th rank; nothing if k >= sizeOf(set).
std::optional<uint32_t> rankAt(const pb::RankSet &set, uint64_t k);
/// Position k with rankAt(set, k) == rank; nothing if the rank is not in the set.
std::optional<uint64_t> positionOf(const pb::RankSet &set, uint32_t rank);
bool contains(const pb::RankSet &set, uint32_t rank);
/// All ranks in order.
std::vector<uint32_t> ranksOf(const pb::RankSet &set);
/// "0..7" or "0,4,8,.. (16 ranks)": for messages.
std::string toString(const pb::RankSet &set);

/// Place of a rank in a family: which group, and its index there (its coordinate along the family's axis).
struct GroupPlace {
  uint32_t group = 0, index = 0;
  bool operator==(const GroupPlace &) const = default;
};
std::optional<GroupPlace> placeIn(const pb::GroupFamily &family, uint32_t rank);
/// Ordered ranks of group `group`; empty if there is no such group.
std::vector<uint32_t> groupRanks(const pb::GroupFamily &family, uint32_t group);

/// One communicator of a rank. `id` differs between any two groups of a plan and is never 0, which is left to the group
/// of all ranks.
struct RankGroup {
  uint32_t id = 0, index = 0;
  std::string name; ///< "tp of stage 1[3]": the family's name and the number of the group
  std::vector<uint32_t> ranks;
};
/// The group of `family` (index into plan.families) that holds the rank.
std::optional<RankGroup> groupOf(const pb::Plan &plan, uint32_t family, uint32_t rank);

/// Rank at the other end of a channel: the receiver if this rank sends, else the sender.
std::optional<uint32_t> peerOf(const pb::Channel &channel, uint32_t rank, bool send);

/// What the plan says about one rank: its role and its coordinate along each axis of the role.
class RankPlace {
public:
  /// Error if no range or more than one covers the rank, or an axis of its role does not hold it.
  static Result<RankPlace> find(const pb::Plan &plan, uint32_t rank);

  uint32_t rank() const { return theRank; }
  uint32_t roleIndex() const { return theRole; }
  const pb::Role &role() const { return *roleData; }
  const std::vector<uint32_t> &coordinates() const { return coords; }
  /// True if the rank is at coordinate 0 of every axis.
  bool isOrigin() const;
  /// constant + per_coord * coordinate. An axis that the role does not have counts as coordinate 0.
  int64_t evaluate(const pb::Offset &offset) const;

private:
  uint32_t theRank = 0, theRole = 0;
  const pb::Role *roleData = nullptr;
  std::vector<uint32_t> coords;
};

} // namespace plait

#endif
