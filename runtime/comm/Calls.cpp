#include "runtime/comm/Calls.h"
#include <algorithm>

namespace plait {

std::string_view nameOf(pb::CollectiveKind kind) {
  switch (kind) {
  case pb::COLLECTIVE_ALL_REDUCE: return "all_reduce";
  case pb::COLLECTIVE_ALL_GATHER: return "all_gather";
  case pb::COLLECTIVE_REDUCE_SCATTER: return "reduce_scatter";
  case pb::COLLECTIVE_BROADCAST: return "broadcast";
  default: return "none";
  }
}

bool reduces(pb::CollectiveKind kind) {
  return kind == pb::COLLECTIVE_ALL_REDUCE || kind == pb::COLLECTIVE_REDUCE_SCATTER;
}

static std::string_view nameOf(pb::ReduceKind kind) {
  return kind == pb::REDUCE_SUM ? "sum" : kind == pb::REDUCE_MAX ? "max" : "none";
}

/// FNV-1a over the values.
template <typename Range> static uint64_t hashOf(const Range &values) {
  uint64_t hash = 14695981039346656037ull;
  for (uint64_t value : values)
    for (int byte = 0; byte < 8; ++byte)
      hash = (hash ^ ((value >> (8 * byte)) & 0xff)) * 1099511628211ull;
  return hash;
}

uint64_t hashOfRanks(const CommGroup &group) { return hashOf(group.ranks); }

CallTerms termsOf(const CollectiveCall &call, const std::vector<uint64_t> &cuts, uint32_t sequence) {
  return {call.kind,     call.dtype,    reduces(call.kind) ? call.reduce : pb::REDUCE_NONE,
          call.root,     sequence,      call.elements,
          hashOf(cuts),  hashOfRanks(*call.group)};
}

std::string describe(const CallTerms &terms, std::string_view origin) {
  std::string text(nameOf(terms.kind));
  if (reduces(terms.kind))
    text.append("(").append(nameOf(terms.reduce)).append(")");
  text += " of " + std::to_string(terms.elements) + " " + std::string(nameOf(terms.dtype));
  if (terms.kind == pb::COLLECTIVE_BROADCAST)
    text += " from member " + std::to_string(terms.root);
  text += " as call " + std::to_string(terms.sequence);
  if (!origin.empty())
    text.append(", from ").append(origin);
  return text;
}

std::string describeMismatch(std::string_view groupName, uint32_t rankA, const std::string &callA, uint32_t rankB,
                             const std::string &callB) {
  if (rankB < rankA)
    return describeMismatch(groupName, rankB, callB, rankA, callA);
  std::string text = "members of group \"" + std::string(groupName) + "\" disagree: rank " + std::to_string(rankA) +
                     " calls " + callA + "; rank " + std::to_string(rankB) + " calls " + callB;
  return callA == callB ? text + "; their part sizes or rank lists differ" : text;
}

std::string nameRanks(const std::vector<uint32_t> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

static std::optional<std::string> malformedGroup(const CommGroup &group, uint32_t rank, uint32_t worldSize) {
  if (group.index >= group.ranks.size() || group.ranks[group.index] != rank)
    return "rank " + std::to_string(rank) + " is not member " + std::to_string(group.index);
  std::vector<uint32_t> sorted = group.ranks;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.back() >= worldSize)
    return "rank " + std::to_string(sorted.back()) + " is outside the world of " + std::to_string(worldSize);
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    return "rank " + std::to_string(*twice) + " is a member twice";
  return std::nullopt;
}

static std::optional<std::string> malformedParts(const CollectiveCall &call) {
  size_t members = call.group->ranks.size();
  bool hasParts = call.kind == pb::COLLECTIVE_ALL_GATHER || call.kind == pb::COLLECTIVE_REDUCE_SCATTER;
  if (call.counts.empty()) {
    if (hasParts && call.elements % members)
      return std::to_string(call.elements) + " elements do not divide by " + std::to_string(members) +
             " members; pass counts";
    return std::nullopt;
  }
  if (!hasParts)
    return std::string("counts are for all_gather and reduce_scatter only");
  if (call.counts.size() != members)
    return std::to_string(call.counts.size()) + " counts for " + std::to_string(members) + " members";
  uint64_t left = call.elements;
  for (int64_t count : call.counts) {
    if (count < 0 || static_cast<uint64_t>(count) > left)
      return "counts are negative or exceed " + std::to_string(call.elements) + " elements";
    left -= static_cast<uint64_t>(count);
  }
  if (left)
    return "counts sum to " + std::to_string(call.elements - left) + ", not " + std::to_string(call.elements) +
           " elements";
  return std::nullopt;
}

static std::optional<std::string> malformedTypes(const CollectiveCall &call) {
  if (nameOf(call.kind) == "none")
    return std::string("unknown collective kind ") + std::to_string(call.kind);
  if (bytesOf(call.dtype) == 0)
    return std::string("no element type");
  if (call.elements > UINT64_MAX / 16)
    return std::to_string(call.elements) + " elements are too many";
  if (reduces(call.kind)) {
    if (call.dtype == DType::F16)
      return std::string("f16 cannot be reduced; use f32, bf16, f64 or i32");
    if (call.reduce != pb::REDUCE_SUM && call.reduce != pb::REDUCE_MAX)
      return std::string("no reduction given; use sum or max");
  }
  if (call.root >= call.group->ranks.size())
    return "root " + std::to_string(call.root) + " is not a member";
  return std::nullopt;
}

std::optional<std::string> malformed(const CollectiveCall &call, uint32_t rank, uint32_t worldSize) {
  if (!call.group)
    return std::string(nameOf(call.kind)) + ": no group given";
  std::optional<std::string> why = malformedGroup(*call.group, rank, worldSize);
  if (!why)
    why = malformedTypes(call);
  if (!why)
    why = malformedParts(call);
  if (!why) {
    std::vector<uint64_t> cuts;
    cutParts(call, cuts);
    uint32_t me = call.group->index;
    uint64_t part = cuts[me + 1] - cuts[me];
    bool partIn = call.kind == pb::COLLECTIVE_ALL_GATHER, partOut = call.kind == pb::COLLECTIVE_REDUCE_SCATTER;
    bool needsIn = call.kind != pb::COLLECTIVE_BROADCAST || call.root == me;
    if ((needsIn && !call.in && (partIn ? part : call.elements)) || (!call.out && (partOut ? part : call.elements)))
      why = "a buffer is null";
  }
  if (!why)
    return std::nullopt;
  return std::string(nameOf(call.kind)) + " of group \"" + call.group->name + "\"" +
         (*call.origin ? std::string(" from ") + call.origin : std::string()) + ": " + *why;
}

std::optional<std::string> malformed(const P2pCall &call, uint32_t worldSize) {
  std::string what = call.send ? "send to rank " : "receive from rank ";
  what += std::to_string(call.peer);
  if (call.peer >= worldSize)
    return what + ": the world has " + std::to_string(worldSize) + " ranks";
  if (call.bytes && !call.data)
    return what + ": the buffer is null";
  return std::nullopt;
}

void cutParts(const CollectiveCall &call, std::vector<uint64_t> &cuts) {
  size_t members = call.group->ranks.size();
  cuts.assign(members + 1, 0);
  for (size_t i = 0; i < members; ++i) {
    uint64_t part = call.elements / members + (i < call.elements % members ? 1 : 0);
    cuts[i + 1] = cuts[i] + (call.counts.empty() ? part : static_cast<uint64_t>(call.counts[i]));
  }
}

uint64_t ringBytesSent(const CollectiveCall &call, const std::vector<uint64_t> &cuts) {
  size_t members = call.group->ranks.size(), me = call.group->index, next = (me + 1) % members;
  if (members == 1)
    return 0;
  // A ring sends every part but the one that ends at the sender (scatter) or begins at its successor (gather).
  uint64_t scatter = call.elements - (cuts[me + 1] - cuts[me]);
  uint64_t gather = call.elements - (cuts[next + 1] - cuts[next]);
  uint64_t sent = 0;
  switch (call.kind) {
  case pb::COLLECTIVE_ALL_REDUCE: sent = scatter + gather; break;
  case pb::COLLECTIVE_ALL_GATHER: sent = gather; break;
  case pb::COLLECTIVE_REDUCE_SCATTER: sent = scatter; break;
  case pb::COLLECTIVE_BROADCAST: sent = next == call.root ? 0 : call.elements; break;
  default: break;
  }
  return sent * static_cast<uint64_t>(bytesOf(call.dtype));
}

} // namespace plait
