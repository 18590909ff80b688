#include "runtime/plan/verify/CommClasses.h"
#include <algorithm>
#include <numeric>

namespace plait {
namespace {

/// Gives equal keys equal numbers, in order of first appearance.
class Interner {
public:
  uint32_t operator()(const std::vector<uint32_t> &key) {
    return numbers.try_emplace(key, static_cast<uint32_t>(numbers.size())).first->second;
  }
  size_t size() const { return numbers.size(); }

private:
  std::map<std::vector<uint32_t>, uint32_t> numbers;
};

uint32_t peerAt(const pb::Plan &plan, const CommEnd &end, uint32_t rank) {
  return *peerOf(plan.channels(static_cast<int>(end.index)), rank, end.kind == CommEnd::Send);
}

class Refiner {
public:
  Refiner(const pb::Plan &plan, const RankTable &table, const CommOps &ops)
      : plan(plan), table(table), used(usedEnds(plan, ops)), classes(table.kind) {
    for (const std::set<CommEnd> &ends : used)
      for (const CommEnd &end : ends)
        if (end.kind == CommEnd::Group && end.index != CommEnd::kWorld && groupsOf.try_emplace(end.index).second)
          findGroups(end.index);
  }

  std::vector<uint32_t> refine() {
    size_t count = 0;
    while (true) {
      Interner next;
      std::map<uint32_t, std::vector<uint32_t>> groupClasses = classesOfGroups();
      std::vector<uint32_t> refined(classes.size());
      for (uint32_t rank = 0; rank < classes.size(); ++rank)
        refined[rank] = next(keyOf(rank, groupClasses));
      classes = std::move(refined);
      if (next.size() == count)
        return std::move(classes);
      count = next.size();
    }
  }

private:
  /// Group number of every rank in a family.
  void findGroups(uint32_t family) {
    const pb::GroupFamily &data = plan.families(static_cast<int>(family));
    std::vector<uint32_t> &groups = groupsOf[family];
    groups.assign(plan.world_size(), 0);
    for (uint32_t group = 0, count = uint32_t(sizeOf(data.groups())); group < count; ++group)
      for (uint32_t rank : groupRanks(data, group))
        groups[rank] = group;
  }

  /// By family: a number for each group, equal where the classes of the members are.
  std::map<uint32_t, std::vector<uint32_t>> classesOfGroups() const {
    std::map<uint32_t, std::vector<uint32_t>> result;
    for (const auto &entry : groupsOf) {
      const pb::GroupFamily &family = plan.families(static_cast<int>(entry.first));
      Interner numbers;
      for (uint32_t group = 0, count = uint32_t(sizeOf(family.groups())); group < count; ++group) {
        std::vector<uint32_t> members;
        for (uint32_t rank : groupRanks(family, group))
          members.push_back(classes[rank]);
        result[entry.first].push_back(numbers(members));
      }
    }
    return result;
  }

  std::vector<uint32_t> keyOf(uint32_t rank, const std::map<uint32_t, std::vector<uint32_t>> &groupClasses) const {
    std::vector<uint32_t> key{classes[rank]};
    const std::set<CommEnd> &ends = used[table.role[rank]];
    for (const CommEnd &end : ends) {
      if (end.kind == CommEnd::Group) {
        if (end.index != CommEnd::kWorld)
          key.push_back(groupClasses.at(end.index)[groupsOf.at(end.index)[rank]]);
        continue;
      }
      key.push_back(classes[peerAt(plan, end, rank)]);
      key.push_back(streamOf(plan, ends, end, rank).index);
    }
    return key;
  }

  const pb::Plan &plan;
  const RankTable &table;
  std::vector<std::set<CommEnd>> used;
  std::vector<uint32_t> classes;
  std::map<uint32_t, std::vector<uint32_t>> groupsOf; ///< by family, by rank
};

} // namespace

std::vector<std::set<CommEnd>> usedEnds(const pb::Plan &plan, const CommOps &ops) {
  std::vector<std::set<CommEnd>> used(plan.roles_size());
  for (size_t role = 0; role < ops.roles.size(); ++role)
    for (const CommOp &op : ops.roles[role])
      for (const CommPart &part : ops.batches[op.batch])
        used[role].insert(part.end);
  return used;
}

std::vector<uint32_t> ranksAt(const pb::Plan &plan, const CommEnd &end, uint32_t rank) {
  if (end.kind == CommEnd::Send)
    return {rank, peerAt(plan, end, rank)};
  if (end.kind == CommEnd::Receive)
    return {peerAt(plan, end, rank), rank};
  if (end.index != CommEnd::kWorld)
    return groupOf(plan, end.index, rank)->ranks;
  std::vector<uint32_t> all(plan.world_size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

CommEnd streamOf(const pb::Plan &plan, const std::set<CommEnd> &used, const CommEnd &end, uint32_t rank) {
  if (end.kind == CommEnd::Group)
    return end;
  uint32_t peer = peerAt(plan, end, rank);
  for (const CommEnd &other : used)
    if (other.kind == end.kind && peerAt(plan, other, rank) == peer)
      return other;
  return end;
}

CommClasses commClassesOf(const pb::Plan &plan, const RankTable &table, const CommOps &ops) {
  CommClasses result{Refiner(plan, table, ops).refine(), {}};
  for (uint32_t rank = 0; rank < result.of.size(); ++rank)
    if (result.of[rank] == result.example.size())
      result.example.push_back(rank);
  return result;
}

} // namespace plait
