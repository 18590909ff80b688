// What every communicator does with a call before it moves data: check that it is well formed, cut it into the members'
// parts, name it in messages, and count its bytes.
#ifndef PLAIT_RUNTIME_COMM_CALLS_H
#define PLAIT_RUNTIME_COMM_CALLS_H

#include "runtime/comm/Communicator.h"
#include <optional>
#include <string_view>

namespace plait {

/// "all_reduce", "all_gather", "reduce_scatter", "broadcast"; "none" otherwise.
std::string_view nameOf(pb::CollectiveKind kind);

/// True for the kinds that combine elements.
bool reduces(pb::CollectiveKind kind);

/// What the members of a group must agree on, without pointers; compared field by field.
struct CallTerms {
  pb::CollectiveKind kind = pb::COLLECTIVE_NONE;
  DType dtype = DType::None;
  pb::ReduceKind reduce = pb::REDUCE_NONE;
  uint32_t root = 0;
  uint32_t sequence = 0;   ///< of the group's calls, from 1
  uint64_t elements = 0;
  uint64_t cutsHash = 0;   ///< of the members' parts
  uint64_t ranksHash = 0;  ///< of the group's rank list
  bool operator==(const CallTerms &) const = default;
};

uint64_t hashOfRanks(const CommGroup &group);
CallTerms termsOf(const CollectiveCall &call, const std::vector<uint64_t> &cuts, uint32_t sequence);

/// "all_reduce(sum) of 12 f32 as call 3, from mlp.down"; the last part only if `origin` is not empty.
std::string describe(const CallTerms &terms, std::string_view origin);

/// Both sides of a disagreement, the lower rank first.
std::string describeMismatch(std::string_view groupName, uint32_t rankA, const std::string &callA, uint32_t rankB,
                             const std::string &callB);

/// "rank 3" or "ranks 1, 3"; the list must be ascending.
std::string nameRanks(const std::vector<uint32_t> &ranks);

/// Why the call cannot be made by `rank`, or nothing.
std::optional<std::string> malformed(const CollectiveCall &call, uint32_t rank, uint32_t worldSize);
std::optional<std::string> malformed(const P2pCall &call, uint32_t worldSize);

/// Boundaries of the members' parts, members + 1 values from 0 to `elements`. Kinds without parts (all-reduce,
/// broadcast) are cut evenly, the first members taking the rest. The call must be well formed.
void cutParts(const CollectiveCall &call, std::vector<uint64_t> &cuts);

/// Bytes that this member would send if the call ran as a ring (broadcast: as a chain from the root).
uint64_t ringBytesSent(const CollectiveCall &call, const std::vector<uint64_t> &cuts);

} // namespace plait

#endif
