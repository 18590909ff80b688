// Seconds of collectives and messages by the alpha-beta law, on the levels of the domain tree that a group spans.
//
// A group that spans several domains forms one ring: inside a node over the node's link, between nodes over the link
// above. A link's rate is that of one device, so a level where every child holds g members carries g times that rate
// (each member has its own path). The slowest level sets the rate, every step adds its level's hop. Each link has
// several protocols (small and large messages); the fastest one counts. An all-reduce or broadcast may also go by tree
// between domains, as a chain inside them.
#ifndef PLAIT_COST_MODEL_COMM_COLLECTIVES_H
#define PLAIT_COST_MODEL_COMM_COLLECTIVES_H

#include "cost_model/facts/Facts.h"
#include "cost_model/problem/Problem.h"
#include <span>
#include <vector>

namespace plait {

enum class CommKind { AllReduce, AllGather, ReduceScatter, Broadcast };

/// Part of a group's ring inside one kind of domain.
struct CommLevel {
  const LinkFacts *link = nullptr;
  uint32_t hops = 0;     ///< ring steps that cross this level
  uint32_t branches = 0; ///< most children that one domain of this level connects
  uint32_t paths = 1;    ///< members per child: parallel paths through the level
  bool inside = true;    ///< between devices of one leaf; else between domains
  bool operator==(const CommLevel &) const = default;
};

/// Where a group's members are, as far as time is concerned.
struct CommShape {
  uint32_t members = 1;
  std::vector<CommLevel> levels; ///< from the leaves up; only levels that the group crosses
  bool operator==(const CommShape &) const = default;
};

/// A cluster prepared for questions about groups. The cluster and the facts must outlive it.
class CommMap {
public:
  CommMap(const Cluster &cluster, const Facts &facts);
  /// Error Usage: a device that the cluster lacks, or a domain on the way without a known link.
  Result<CommShape> shape(std::span<const uint32_t> devices) const;

private:
  const Cluster &cluster;
  const Facts &facts;
  uint32_t total = 0;
  std::vector<std::pair<uint32_t, Id>> leaves; ///< first device of every leaf and its domain, ascending
};
/// For a single question.
Result<CommShape> commShape(const Cluster &cluster, std::span<const uint32_t> devices, const Facts &facts);
std::vector<uint32_t> devicesOf(const DeviceRange &range);

/// `bytes` of the whole tensor (all-gather: the result; reduce-scatter: the input). 0 for a group of one.
double collectiveSeconds(CommKind kind, double bytes, const CommShape &shape);
/// One message of `bytes` between two devices; `shape` is that of the pair.
double messageSeconds(double bytes, const CommShape &shape);
/// Bytes that one member sends in a ring.
double ringBytes(CommKind kind, double bytes, uint32_t members);
/// Weakest label of the links that a group uses; Measured for a group of one.
Label labelOf(const CommShape &shape);

} // namespace plait

#endif
