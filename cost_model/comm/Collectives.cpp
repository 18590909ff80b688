#include "cost_model/comm/Collectives.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace plait {

std::vector<uint32_t> devicesOf(const DeviceRange &range) {
  std::vector<uint32_t> devices;
  for (uint32_t i = 0; i < range.count; ++i)
    devices.push_back(range.first + i * range.stride);
  return devices;
}

namespace {

struct DomainUse {
  uint32_t members = 0, children = 0, widest = 0; // widest: members of the fullest child
};

} // namespace

CommMap::CommMap(const Cluster &cluster, const Facts &facts) : cluster(cluster), facts(facts) {
  for (Id d = 0; d < cluster.domains.size(); ++d)
    if (cluster.domains[d].devices) {
      leaves.push_back({total, d});
      total += cluster.domains[d].devices;
    }
}

Result<CommShape> commShape(const Cluster &cluster, std::span<const uint32_t> devices, const Facts &facts) {
  return CommMap(cluster, facts).shape(devices);
}

Result<CommShape> CommMap::shape(std::span<const uint32_t> devices) const {
  CommShape shape;
  shape.members = uint32_t(devices.size());
  std::map<Id, DomainUse, std::greater<>> uses; // children come before parents
  for (uint32_t device : devices) {
    if (device >= total)
      return usageError("device " + std::to_string(device) + ": the cluster has devices 0 to " +
                        std::to_string(int64_t(total) - 1));
    auto at = std::upper_bound(leaves.begin(), leaves.end(), std::pair(device, kNone));
    DomainUse &use = uses[std::prev(at)->second];
    ++use.members, ++use.children, use.widest = 1;
  }
  for (auto &[domain, use] : uses) { // a parent has a smaller id, so that it is inserted behind
    Id parent = cluster.domains[domain].parent;
    if (parent == kNone)
      continue;
    DomainUse &above = uses[parent];
    above.members += use.members;
    ++above.children;
    above.widest = std::max(above.widest, use.members);
  }
  for (const auto &[domain, use] : uses) {
    if (use.children < 2)
      continue;
    Result<const LinkFacts *> link = facts.link(cluster.domains[domain].link);
    if (!link)
      return usageError("domain '" + cluster.domains[domain].name + "': " + link.error().message);
    auto same = std::find_if(shape.levels.begin(), shape.levels.end(), [&](const CommLevel &level) {
      return level.link == *link && level.inside == (cluster.domains[domain].devices > 0);
    });
    if (same == shape.levels.end())
      same = shape.levels.insert(same,
                                 {*link, 0, 0, std::numeric_limits<uint32_t>::max(), cluster.domains[domain].devices > 0});
    same->hops += use.children - 1;
    same->branches = std::max(same->branches, use.children);
    same->paths = std::min(same->paths, use.widest);
  }
  return shape;
}

double ringBytes(CommKind kind, double bytes, uint32_t members) {
  double share = bytes * double(members - 1) / double(std::max(members, 1u));
  return kind == CommKind::AllReduce ? 2 * share : kind == CommKind::Broadcast ? bytes : share;
}

/// Least time over the protocols; protocol p of every level (its last, if it has fewer).
template <typename Time> static double overProtocols(const CommShape &shape, Time time) {
  size_t count = 0;
  for (const CommLevel &level : shape.levels)
    count = std::max(count, level.link->protocols.size());
  double best = count ? std::numeric_limits<double>::infinity() : 0;
  for (size_t p = 0; p < count; ++p)
    best = std::min(best, time([p](const CommLevel &level) -> const LinkProtocol & {
                      return level.link->protocols[std::min(p, level.link->protocols.size() - 1)];
                    }));
  return best;
}

double collectiveSeconds(CommKind kind, double bytes, const CommShape &shape) {
  if (shape.members < 2)
    return 0;
  double sent = ringBytes(kind, bytes, shape.members);
  int passes = kind == CommKind::AllReduce ? 2 : 1;
  return overProtocols(shape, [&](auto protocolOf) {
    double setup = 0, ring = 0, tree = 0, rate = std::numeric_limits<double>::infinity();
    for (const CommLevel &level : shape.levels) {
      const LinkProtocol &protocol = protocolOf(level);
      setup = std::max(setup, protocol.setupSeconds);
      ring += passes * double(level.hops) * protocol.hopSeconds;
      tree +=
          passes * (level.inside ? level.branches - 1 : std::ceil(std::log2(double(level.branches)))) * protocol.hopSeconds;
      rate = std::min(rate, protocol.rate * level.paths);
    }
    bool byTree = kind == CommKind::AllReduce || kind == CommKind::Broadcast;
    double treeRate = rate / 2; // an inner member passes on what it gets to two others
    double ringTime = ring + sent / rate, treeTime = tree + sent / treeRate;
    return setup + (byTree ? std::min(ringTime, treeTime) : ringTime);
  });
}

double messageSeconds(double bytes, const CommShape &shape) {
  return overProtocols(shape, [&](auto protocolOf) {
    double seconds = 0;
    for (const CommLevel &level : shape.levels) {
      const LinkProtocol &protocol = protocolOf(level);
      seconds = std::max(seconds, protocol.setupSeconds + protocol.hopSeconds + bytes / protocol.rate);
    }
    return seconds;
  });
}

Label labelOf(const CommShape &shape) {
  Label label = Label::Measured;
  for (const CommLevel &level : shape.levels)
    label = std::max(label, level.link->label);
  return label;
}

} // namespace plait
