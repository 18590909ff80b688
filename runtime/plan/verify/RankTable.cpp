#include "runtime/plan/verify/RankTable.h"
#include <map>

namespace plait {
namespace {

constexpr uint32_t kNobody = ~0u;

/// Fills table.role from the ranges.
void assignRoles(const pb::Plan &plan, RankTable &table, Faults &faults) {
  table.role.assign(plan.world_size(), kNobody);
  for (int i = 0; i < plan.ranks_size(); ++i) {
    const pb::RankRange &range = plan.ranks(i);
    std::string place = placeOf("rank range", i, "");
    if (Status status = checkRankSet(range.ranks(), plan.world_size()); !status) {
      faults.add(place, status.error().message);
      continue;
    }
    if (!faults.checkIndex(place, "role", range.role(), plan.roles_size()))
      continue;
    for (uint64_t k = 0, size = sizeOf(range.ranks()); k < size; ++k) {
      uint32_t rank = *rankAt(range.ranks(), k);
      if (table.role[rank] != kNobody)
        faults.add(place, "rank " + std::to_string(rank) + " is covered twice");
      table.role[rank] = range.role();
    }
  }
  for (uint32_t rank = 0; rank < plan.world_size() && faults.empty(); ++rank)
    if (table.role[rank] == kNobody)
      faults.add("rank ranges", "rank " + std::to_string(rank) + " of " + std::to_string(plan.world_size()) +
                                    " has no role");
}

} // namespace

RankTable makeRankTable(const pb::Plan &plan, Faults &faults) {
  RankTable table;
  if (plan.world_size() == 0 || plan.world_size() > kMaxRanks) {
    faults.add("plan", "world size " + std::to_string(plan.world_size()) + " is not between 1 and " +
                           std::to_string(kMaxRanks));
    return table;
  }
  assignRoles(plan, table, faults);
  for (int i = 0; i < plan.roles_size(); ++i)
    for (uint32_t family : plan.roles(i).axis_families())
      faults.checkIndex(placeOf("role", i, plan.roles(i).name()), "axis family", family, plan.families_size());
  if (!faults.empty())
    return table;

  std::map<std::vector<uint32_t>, uint32_t> known; // role and coordinates -> kind
  for (uint32_t rank = 0; rank < plan.world_size(); ++rank) {
    const pb::Role &role = plan.roles(static_cast<int>(table.role[rank]));
    std::vector<uint32_t> key{table.role[rank]};
    for (uint32_t family : role.axis_families()) {
      std::optional<GroupPlace> place = placeIn(plan.families(static_cast<int>(family)), rank);
      if (!place)
        faults.add(placeOf("role", table.role[rank], role.name()),
                   "rank " + std::to_string(rank) + " is not in its axis family '" +
                       plan.families(static_cast<int>(family)).name() + "'");
      key.push_back(place ? place->index : 0);
    }
    if (!faults.empty())
      return table;
    auto [it, isNew] = known.try_emplace(key, static_cast<uint32_t>(known.size()));
    table.kind.push_back(it->second);
    if (isNew)
      table.kinds.push_back(*RankPlace::find(plan, rank));
  }
  return table;
}

} // namespace plait
