#include "passes/lower/Holdings.h"
#include "runtime/plan/layout/Layout.h"
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace plait {

std::vector<RoleIndex> rolesOf(const StageTable &table) {
  std::vector<RoleIndex> roles;
  for (Id i = 0; i < table.stages.size(); ++i) {
    std::vector<uint32_t> all;
    for (uint32_t k = 0; k < table.stages[i].shards(); ++k) {
      all.push_back(k);
      if (!table.merged)
        roles.push_back({i, {k}});
    }
    if (table.merged)
      roles.push_back({i, all});
  }
  return roles;
}

void addExtent(pb::RankSet &set, uint32_t count, uint32_t stride) {
  if (count <= 1)
    return;
  pb::Extent *extent = set.add_extents();
  extent->set_count(count);
  extent->set_stride(stride);
}

namespace {

/// A coordinate of a stage that holds a box of a parameter.
struct Holder {
  Id stageIndex = 0;
  uint32_t coordinate = 0;
  Box box;
  bool addend = false;
};

using Member = std::pair<Id, uint32_t>; // (stage index, coordinate)

/// Ranks that synchronise with each other. shifted: the same holds for every coordinate of the tensor groups.
struct SyncKey {
  std::vector<Member> members;
  std::vector<Member> silent;
  bool shifted = false;
  auto operator<=>(const SyncKey &) const = default;
};

struct SyncAtom {
  Id tensor = 0;
  Box box;
};

class HoldingsBuilder {
public:
  HoldingsBuilder(const StageTable &table, const std::vector<RoleIndex> &roles, pb::Plan &plan)
      : table(table), roles(roles), plan(plan), precision(table.problem->job.precision) {}

  Result<std::vector<RoleHolding>> build();

private:
  Status collectHolders();
  void groupAtoms(Id tensor);
  void addAtom(Id tensor, const Box &box, const std::vector<const Holder *> &holders);
  void join(SyncKey key, const SyncAtom &atom);
  void emitSyncs();
  void emitSync(const SyncKey &key, const std::vector<SyncAtom> &syncAtoms);
  std::vector<uint32_t> memberRanks(const std::vector<Member> &members) const;
  void emitResidences(size_t index, RoleHolding &holding);
  void emitParts(size_t index, RoleHolding &holding);
  std::vector<uint32_t> syncsOf(size_t role) const;
  const Holder &holderOf(Id tensor, size_t role, uint32_t coordinate) const;
  uint64_t optimizerBytes(const pb::Sync &sync) const;

  const StageTable &table;
  const std::vector<RoleIndex> &roles;
  pb::Plan &plan;
  const Precision &precision;
  std::vector<std::vector<Holder>> holders;   // by tensor
  std::vector<std::pair<SyncKey, std::vector<SyncAtom>>> syncs; // in order of first appearance
  std::map<SyncKey, uint32_t> syncIndex;
};

Status HoldingsBuilder::collectHolders() {
  const Model &model = table.model();
  holders.assign(model.params.size(), {});
  for (Id i = 0; i < table.stages.size(); ++i) {
    const StageInstance &instance = table.stages[i];
    for (Id u = instance.decisions->firstUse; u < instance.decisions->endUse; ++u) {
      const BlockUse &use = model.chain[u];
      for (uint32_t k = 0; k < instance.shards(); ++k) {
        const BlockProjection &projection = instance.projections.at(use.kind)[k];
        for (Id p = 0; p < use.params.size(); ++p) {
          const LocalParam &local = projection.params[p];
          Holder holder{i, k, {local.start, local.size}, local.gradPartial};
          std::vector<Holder> &list = holders[use.params[p]];
          auto twin = std::find_if(list.begin(), list.end(), [&](const Holder &h) { return h.stageIndex == i && h.coordinate == k; });
          if (twin == list.end())
            list.push_back(holder);
          else if (!(twin->box == holder.box) || twin->addend != holder.addend)
            return Error{ExitCode::Infeasible, "parameter '" + model.params[use.params[p]].name + "': stage " +
                                                   std::to_string(instance.stage) + " of replica " + std::to_string(instance.replica) +
                                                   " uses it twice in different layouts; give both segments the same map [F-13]"};
        }
      }
    }
  }
  return success();
}

void HoldingsBuilder::groupAtoms(Id tensor) {
  std::vector<Residence> residences;
  for (uint32_t i = 0; i < holders[tensor].size(); ++i)
    residences.push_back({i, holders[tensor][i].box, false, Residence::kOwnAddend});
  for (const Atom &atom : atoms(table.model().params[tensor].shape, residences)) {
    std::vector<const Holder *> of;
    for (uint32_t h : atom.holders)
      of.push_back(&holders[tensor][h]);
    addAtom(tensor, atom.box, of);
  }
}

void HoldingsBuilder::join(SyncKey key, const SyncAtom &atom) {
  if (table.merged) {
    bool oneCoordinate = std::all_of(key.members.begin(), key.members.end(),
                                     [&](const Member &m) { return m.second == key.members.front().second; });
    std::set<Id> stages;
    for (const Member &member : key.members)
      stages.insert(member.first);
    if (oneCoordinate && stages.size() == key.members.size()) {
      if (key.members.front().second != 0)
        return; // coordinate 0 speaks for all
      key.shifted = true;
    }
  }
  auto [at, inserted] = syncIndex.emplace(key, syncs.size());
  if (inserted)
    syncs.push_back({key, {}});
  syncs[at->second].second.push_back(atom);
}

void HoldingsBuilder::addAtom(Id tensor, const Box &box, const std::vector<const Holder *> &of) {
  SyncKey key;
  std::map<Id, bool> spoken; // stages whose first holder of this box was seen
  for (const Holder *holder : of) {
    key.members.push_back({holder->stageIndex, holder->coordinate});
    if (!spoken.emplace(holder->stageIndex, true).second && !holder->addend)
      key.silent.push_back(key.members.back());
  }
  join(key, {tensor, box});
}

std::vector<uint32_t> HoldingsBuilder::memberRanks(const std::vector<Member> &members) const {
  std::vector<uint32_t> ranks;
  for (const Member &member : members)
    for (uint32_t copy = 0; copy < table.stages[member.first].copies; ++copy)
      ranks.push_back(table.stages[member.first].rank(member.second, copy));
  return ranks;
}

void HoldingsBuilder::emitSync(const SyncKey &key, const std::vector<SyncAtom> &syncAtoms) {
  const StageInstance &first = table.stages[key.members.front().first];
  pb::GroupFamily *family = plan.add_families();
  pb::Sync *sync = plan.add_syncs();
  sync->set_name("sync" + std::to_string(plan.syncs_size() - 1));
  family->set_name(sync->name());
  sync->set_family(plan.families_size() - 1);
  if (key.shifted)
    addExtent(*family->mutable_groups(), first.shards(), first.decisions->devices.stride);
  std::vector<uint32_t> ranks = memberRanks(key.members);
  bool oneStage = std::all_of(key.members.begin(), key.members.end(), [&](const Member &m) { return m.first == key.members.front().first; });
  if (oneStage && (key.members.size() == 1 || key.members.size() == first.shards())) {
    family->mutable_members()->set_base(first.rank(key.members.front().second));
    addExtent(*family->mutable_members(), key.members.size(), first.decisions->devices.stride);
    addExtent(*family->mutable_members(), first.copies, first.copyStride);
  } else {
    family->mutable_members()->mutable_listed()->Assign(ranks.begin(), ranks.end());
  }
  uint64_t elements = 0;
  for (const SyncAtom &atom : syncAtoms)
    elements += atom.box.elements();
  sync->set_elements(elements);
  for (uint32_t rank : memberRanks(key.silent))
    sync->add_silent(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  sync->set_sharded(table.solution->sharding == "optimizer" && ranks.size() > 1);
  if (sync->sharded())
    for (size_t i = 0; i <= ranks.size(); ++i)
      sync->add_cuts(i == ranks.size() ? elements : shardRange(elements, {}, ranks.size(), i).begin);
}

void HoldingsBuilder::emitSyncs() {
  for (const auto &[key, syncAtoms] : syncs)
    emitSync(key, syncAtoms);
}

const Holder &HoldingsBuilder::holderOf(Id tensor, size_t role, uint32_t coordinate) const {
  for (const Holder &holder : holders[tensor])
    if (holder.stageIndex == roles[role].stageIndex && holder.coordinate == coordinate)
      return holder;
  return holders[tensor].front();
}

std::vector<uint32_t> HoldingsBuilder::syncsOf(size_t role) const {
  std::vector<uint32_t> list;
  for (uint32_t i = 0; i < syncs.size(); ++i) {
    const SyncKey &key = syncs[i].first;
    bool member = std::any_of(key.members.begin(), key.members.end(), [&](const Member &m) {
      return m.first == roles[role].stageIndex && (table.merged || m.second == roles[role].coordinates.front());
    });
    if (member)
      list.push_back(i);
  }
  return list;
}

/// Parameters lie in the order of their syncs, so that a sync is one run of memory unless a box is cut.
void HoldingsBuilder::emitResidences(size_t index, RoleHolding &holding) {
  const RoleIndex &role = roles[index];
  std::vector<std::pair<uint32_t, Id>> order; // (first sync, tensor)
  std::set<Id> seen;
  for (uint32_t sync : syncsOf(index))
    for (const SyncAtom &atom : syncs[sync].second)
      if (seen.insert(atom.tensor).second)
        order.push_back({sync, atom.tensor});
  uint64_t at = 0;
  constexpr uint64_t step = kLineBytes / 4;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && order[i].first != order[i - 1].first)
      at = (at + step - 1) / step * step;
    const Holder &holder = holderOf(order[i].second, index, role.coordinates.front());
    pb::Residence *residence = plan.mutable_roles(index)->add_residences();
    residence->set_tensor(order[i].second);
    residence->set_offset(at);
    residence->mutable_size()->Assign(holder.box.size.begin(), holder.box.size.end());
    for (size_t d = 0; d < holder.box.start.size(); ++d) {
      pb::Offset *start = residence->add_start();
      start->set_constant(holder.box.start[d]);
      if (role.coordinates.size() > 1)
        start->set_per_coord(holderOf(order[i].second, index, role.coordinates[1]).box.start[d] - holder.box.start[d]);
    }
    holding.offsets[order[i].second] = at;
    at += holder.box.elements();
  }
  holding.paramElements = at;
}

/// Elements that the fullest owner updates times the state it keeps of each.
uint64_t HoldingsBuilder::optimizerBytes(const pb::Sync &sync) const {
  uint64_t owned = sync.elements();
  if (sync.sharded()) {
    owned = 0;
    for (int i = 1; i < sync.cuts_size(); ++i)
      owned = std::max<uint64_t>(owned, sync.cuts(i) - sync.cuts(i - 1));
  }
  bool adam = table.problem->job.optimizer == "adamw";
  uint64_t perElement = (adam ? 2 * bytesOf(precision.moments) : 0) + (precision.param == precision.master ? 0 : bytesOf(precision.master));
  return lineBytes(owned * perElement);
}

static void appendPiece(pb::SyncPart &part, const StridedPiece &strided, uint64_t base, bool decay) {
  uint64_t offset = base + strided.offset;
  if (part.pieces_size() > 0) {
    pb::Piece *last = part.mutable_pieces(part.pieces_size() - 1);
    if (last->rows() == 1 && strided.rows == 1 && last->decay() == decay && last->offset() + last->row_elements() == offset) {
      last->set_row_elements(last->row_elements() + strided.rowElements);
      last->set_row_stride(last->row_elements());
      return;
    }
  }
  pb::Piece *piece = part.add_pieces();
  piece->set_offset(offset);
  piece->set_rows(strided.rows);
  piece->set_row_elements(strided.rowElements);
  piece->set_row_stride(strided.rowStride);
  piece->set_decay(decay);
}

static bool isOneRun(const pb::SyncPart &part) {
  for (int i = 0; i < part.pieces_size(); ++i) {
    const pb::Piece &piece = part.pieces(i);
    if (piece.rows() != 1 || (i > 0 && part.pieces(i - 1).offset() + part.pieces(i - 1).row_elements() != piece.offset()))
      return false;
  }
  return true;
}

void HoldingsBuilder::emitParts(size_t index, RoleHolding &holding) {
  for (uint32_t s : syncsOf(index)) {
    pb::SyncPart *part = plan.mutable_roles(index)->add_sync_parts();
    part->set_sync(s);
    for (const SyncAtom &atom : syncs[s].second) {
      const Box &box = holderOf(atom.tensor, index, roles[index].coordinates.front()).box;
      for (const StridedPiece &strided : stridedPieces(box, atom.box))
        appendPiece(*part, strided, holding.offsets[atom.tensor], table.model().params[atom.tensor].decay);
    }
    part->set_optimizer_offset(holding.optimizerBytes);
    holding.optimizerBytes += optimizerBytes(plan.syncs(s));
    if (!isOneRun(*part))
      holding.packBytes = std::max<uint64_t>(
          holding.packBytes, plan.syncs(s).elements() * std::max(bytesOf(precision.grad), bytesOf(precision.param)));
  }
}

Result<std::vector<RoleHolding>> HoldingsBuilder::build() {
  if (Status s = collectHolders(); !s)
    return s.error();
  for (Id tensor = 0; tensor < holders.size(); ++tensor)
    groupAtoms(tensor);
  emitSyncs();
  std::vector<RoleHolding> holdings(roles.size());
  for (size_t i = 0; i < roles.size(); ++i) {
    emitResidences(i, holdings[i]);
    emitParts(i, holdings[i]);
  }
  return holdings;
}

} // namespace

Result<std::vector<RoleHolding>> buildHoldings(const StageTable &table, const std::vector<RoleIndex> &roles, pb::Plan &plan) {
  return HoldingsBuilder(table, roles, plan).build();
}

} // namespace plait
