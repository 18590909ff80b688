#include "cost_model/simulate/RankClasses.h"
#include "runtime/plan/RankSets.h"
#include <algorithm>
#include <numeric>
#include <set>

namespace plait {

namespace {

/// Gives equal values equal numbers, in order of first appearance.
template <typename T> class Interner {
public:
  uint32_t operator()(const T &value) { return map.try_emplace(value, uint32_t(map.size())).first->second; }
  size_t size() const { return map.size(); }

private:
  std::map<T, uint32_t> map;
};

using Signature = std::vector<uint32_t>;

struct Group {
  uint32_t family;
  std::vector<uint32_t> ranks;
  uint32_t shape;
};

/// What a rank takes part in.
struct Contexts {
  uint32_t role = 0;
  const DeviceFacts *device = nullptr;
  std::vector<uint32_t> coordinates;
  std::vector<uint32_t> axisGroups;                      // index into groups
  std::vector<std::pair<uint32_t, uint32_t>> syncGroups; // (sync, index into groups)
  struct Peer {
    uint32_t channel;
    bool send;
    uint32_t rank, shape;
  };
  std::vector<Peer> peers;
};

class Classifier {
public:
  Classifier(const pb::Plan &plan, const Cluster &cluster, const Facts &facts)
      : plan(plan), cluster(cluster), facts(facts), topology(cluster, facts), contexts(plan.world_size()) {}

  Result<RankClasses> run(bool fold) {
    if (plan.world_size() > cluster.deviceCount())
      return usageError("the plan has " + std::to_string(plan.world_size()) + " ranks, the cluster '" + cluster.name +
                        "' only " + std::to_string(cluster.deviceCount()) + " devices");
    if (Status s = findDevices(); !s)
      return s.error();
    if (Status s = addWorld(); !s)
      return s.error();
    findChannels();
    for (uint32_t rank = 0; rank < plan.world_size(); ++rank)
      if (Status s = describe(rank); !s)
        return s.error();
    std::vector<uint32_t> colors(plan.world_size());
    std::iota(colors.begin(), colors.end(), 0);
    if (fold)
      refine(colors);
    return collect(colors);
  }

private:
  Status findDevices();
  Status addWorld();
  void findChannels();
  Status describe(uint32_t rank);
  Result<uint32_t> group(uint32_t family, uint32_t rank);
  Result<uint32_t> shapeOf(const std::vector<uint32_t> &ranks);
  void refine(std::vector<uint32_t> &colors) const;
  RankClasses collect(const std::vector<uint32_t> &colors) const;

  const pb::Plan &plan;
  const Cluster &cluster;
  const Facts &facts;
  CommMap topology;
  std::vector<Contexts> contexts; // by rank
  std::vector<Group> groups;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> groupIndex; // (family, group of the family)
  std::vector<CommShape> shapes;                                // distinct ones
  std::vector<const DeviceFacts *> deviceFacts;                 // by device class
  std::vector<std::set<std::pair<uint32_t, bool>>> channelsOf;  // by schedule: (channel, send)
};

Status Classifier::findDevices() {
  for (const DeviceClass &device : cluster.classes) {
    Result<const DeviceFacts *> known = facts.device(device.facts);
    if (!known)
      return known.error();
    deviceFacts.push_back(*known);
  }
  uint32_t rank = 0;
  for (const Domain &domain : cluster.domains)
    for (uint32_t i = 0; i < domain.devices && rank < plan.world_size(); ++i)
      contexts[rank++].device = deviceFacts[domain.deviceClass];
  return success();
}

Status Classifier::addWorld() {
  std::vector<uint32_t> all(plan.world_size());
  std::iota(all.begin(), all.end(), 0);
  Result<uint32_t> shape = shapeOf(all);
  if (!shape)
    return shape.error();
  groups.push_back({uint32_t(plan.families_size()), std::move(all), *shape});
  return success();
}

void Classifier::findChannels() {
  for (const pb::Schedule &schedule : plan.schedules()) {
    std::set<std::pair<uint32_t, bool>> used;
    for (const pb::Task &task : schedule.tasks())
      for (const pb::P2p &p2p : task.p2ps())
        used.insert({p2p.channel(), p2p.send()});
    channelsOf.push_back(std::move(used));
  }
}

Result<uint32_t> Classifier::shapeOf(const std::vector<uint32_t> &ranks) {
  Result<CommShape> shape = topology.shape(ranks);
  if (!shape)
    return shape.error();
  auto at = std::find(shapes.begin(), shapes.end(), *shape);
  if (at == shapes.end())
    at = shapes.insert(at, *shape);
  return uint32_t(at - shapes.begin());
}

Result<uint32_t> Classifier::group(uint32_t family, uint32_t rank) {
  std::optional<GroupPlace> place = placeIn(plan.families(int(family)), rank);
  if (!place)
    return usageError("rank " + std::to_string(rank) + " is in no group of family '" + plan.families(int(family)).name() +
                      "'");
  auto [at, fresh] = groupIndex.try_emplace({family, place->group}, uint32_t(groups.size()));
  if (fresh) {
    std::vector<uint32_t> ranks = groupRanks(plan.families(int(family)), place->group);
    Result<uint32_t> shape = shapeOf(ranks);
    if (!shape)
      return shape.error();
    groups.push_back({family, std::move(ranks), *shape});
  }
  return at->second;
}

Status Classifier::describe(uint32_t rank) {
  Result<RankPlace> place = RankPlace::find(plan, rank);
  if (!place)
    return place.error();
  Contexts &own = contexts[rank];
  own.role = place->roleIndex();
  own.coordinates = place->coordinates();
  const pb::Role &role = place->role();
  for (uint32_t family : role.axis_families()) {
    Result<uint32_t> at = group(family, rank);
    if (!at)
      return at.error();
    own.axisGroups.push_back(*at);
  }
  for (const pb::SyncPart &part : role.sync_parts()) {
    Result<uint32_t> at = group(plan.syncs(int(part.sync())).family(), rank);
    if (!at)
      return at.error();
    own.syncGroups.push_back({part.sync(), *at});
  }
  for (auto [channel, send] : channelsOf[role.schedule()]) {
    std::optional<uint32_t> peer = peerOf(plan.channels(int(channel)), rank, send);
    if (!peer)
      return usageError("rank " + std::to_string(rank) + " is not on channel '" + plan.channels(int(channel)).name() + "'");
    Result<uint32_t> shape = shapeOf({rank, *peer});
    if (!shape)
      return shape.error();
    own.peers.push_back({channel, send, *peer, *shape});
  }
  return success();
}

/// Colours ranks until ranks of one colour have peers of one colour each.
void Classifier::refine(std::vector<uint32_t> &colors) const {
  Interner<Signature> first;
  for (uint32_t rank = 0; rank < colors.size(); ++rank) {
    const Contexts &own = contexts[rank];
    auto device = std::find(deviceFacts.begin(), deviceFacts.end(), own.device) - deviceFacts.begin();
    Signature signature{own.role, uint32_t(device)};
    signature.insert(signature.end(), own.coordinates.begin(), own.coordinates.end());
    for (uint32_t at : own.axisGroups)
      signature.push_back(groups[at].shape);
    for (auto [sync, at] : own.syncGroups)
      signature.push_back(groups[at].shape);
    for (const Contexts::Peer &peer : own.peers)
      signature.push_back(peer.shape);
    colors[rank] = first(signature);
  }
  for (size_t count = first.size(), before = 0; count != before;) {
    before = count;
    Interner<Signature> sets, next;
    std::vector<uint32_t> groupSet;
    for (const Group &group : groups) {
      std::set<uint32_t> members;
      for (uint32_t rank : group.ranks)
        members.insert(colors[rank]);
      groupSet.push_back(sets(Signature(members.begin(), members.end())));
    }
    std::vector<uint32_t> refined(colors.size());
    for (uint32_t rank = 0; rank < colors.size(); ++rank) {
      Signature signature{colors[rank]};
      for (uint32_t at : contexts[rank].axisGroups)
        signature.push_back(groupSet[at]);
      for (auto [sync, at] : contexts[rank].syncGroups)
        signature.push_back(groupSet[at]);
      for (const Contexts::Peer &peer : contexts[rank].peers)
        signature.push_back(colors[peer.rank]);
      refined[rank] = next(signature);
    }
    colors = std::move(refined);
    count = next.size();
  }
}

RankClasses Classifier::collect(const std::vector<uint32_t> &colors) const {
  RankClasses result;
  result.classOf = colors; // numbered in order of first appearance
  for (uint32_t rank = 0; rank < colors.size(); ++rank) {
    if (colors[rank] < result.classes.size()) {
      ++result.classes[colors[rank]].ranks;
      continue;
    }
    const Contexts &own = contexts[rank];
    RankClass added;
    added.role = own.role;
    added.rank = rank;
    added.ranks = 1;
    added.device = own.device;
    added.axisGroups = own.axisGroups;
    added.syncGroups.insert(own.syncGroups.begin(), own.syncGroups.end());
    for (const Contexts::Peer &peer : own.peers)
      added.peers[{peer.channel, peer.send}] = {colors[peer.rank], shapes[peer.shape]};
    result.classes.push_back(std::move(added));
  }
  // Only groups of representatives are asked for; groups that look alike become one.
  std::vector<uint32_t> renamed(groups.size(), kNone);
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, uint32_t> known;
  auto rename = [&](uint32_t old) {
    if (renamed[old] != kNone)
      return renamed[old];
    std::set<uint32_t> members;
    for (uint32_t rank : groups[old].ranks)
      members.insert(colors[rank]);
    ClassGroup group{groups[old].family, shapes[groups[old].shape], {members.begin(), members.end()}};
    auto [at, fresh] = known.try_emplace({group.family, group.classes}, uint32_t(result.groups.size()));
    if (fresh)
      result.groups.push_back(std::move(group));
    return renamed[old] = at->second;
  };
  result.worldGroup = rename(0);
  for (RankClass &one : result.classes) {
    for (uint32_t &at : one.axisGroups)
      at = rename(at);
    for (auto &[sync, at] : one.syncGroups)
      at = rename(at);
  }
  return result;
}

} // namespace

Result<RankClasses> classifyRanks(const pb::Plan &plan, const Cluster &cluster, const Facts &facts, bool fold) {
  return Classifier(plan, cluster, facts).run(fold);
}

} // namespace plait
