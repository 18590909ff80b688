#include "runtime/plan/DType.h"
#include "runtime/plan/verify/LogicalRuns.h"
#include "runtime/plan/verify/Phases.h"
#include <algorithm>
#include <map>
#include <set>

namespace plait {
namespace {

/// State of one kind of rank: its arena, and what each Sync part of its role means in logical tensors.
struct KindState {
  ArenaMap arena;
  std::map<uint32_t, std::vector<LogicalRun>> runs; ///< by sync
  std::vector<std::vector<LogicalRun>> updated;     ///< by interval of the arena, relative to it: what syncs hold
};

class StateVerifier {
public:
  StateVerifier(const pb::Plan &plan, const RankTable &table, Faults &faults)
      : plan(plan), table(table), faults(faults),
        paramBytes(static_cast<uint64_t>(bytesOf(static_cast<DType>(plan.job().precision().param())))) {}

  void verify() {
    for (int i = 0; i < plan.syncs_size() && faults.empty(); ++i)
      verifySync(placeOf("sync", i, plan.syncs(i).name()), plan.syncs(i));
    for (size_t kind = 0; kind < table.kinds.size() && faults.empty(); ++kind)
      verifyKind(table.kinds[kind]);
    owned.resize(plan.tensors_size());
    for (int i = 0; i < plan.syncs_size() && faults.empty(); ++i)
      verifyMembers(uint32_t(i), placeOf("sync", i, plan.syncs(i).name()), plan.syncs(i));
    if (!faults.empty())
      return;
    for (int i = 0; i < plan.tensors_size(); ++i)
      verifyOwners(i, plan.tensors(i));
  }

private:
  uint64_t membersOf(const pb::Sync &sync) const {
    return sizeOf(plan.families(static_cast<int>(sync.family())).members());
  }

  void verifySync(const std::string &place, const pb::Sync &sync) {
    if (!faults.checkIndex(place, "family", sync.family(), plan.families_size()))
      return;
    uint64_t members = membersOf(sync);
    if (sync.sharded()) {
      bool isAscending = std::is_sorted(sync.cuts().begin(), sync.cuts().end());
      if (uint64_t(sync.cuts_size()) != members + 1 || !isAscending || sync.cuts(0) != 0 ||
          *sync.cuts().rbegin() != sync.elements())
        faults.add(place, "its cuts do not divide " + std::to_string(sync.elements()) + " elements among " +
                              std::to_string(members) + " members");
    }
    std::vector<uint32_t> silent(sync.silent().begin(), sync.silent().end());
    std::sort(silent.begin(), silent.end());
    bool isSound = std::adjacent_find(silent.begin(), silent.end()) == silent.end() && silent.size() < members;
    if (!isSound || (!silent.empty() && silent.back() >= members))
      faults.add(place, "its silent members must be some of its " + std::to_string(members) + ", not all");
  }

  void verifyKind(const RankPlace &place) {
    std::string at = "role '" + place.role().name() + "'";
    Result<ArenaMap> arena = ArenaMap::of(plan, place);
    if (!arena)
      return faults.add(Status(arena.error()));
    for (auto [space, width] : {std::pair(pb::SPACE_PARAM, paramBytes), std::pair(pb::SPACE_GRAD, uint64_t(4))})
      if (uint64_t(arena->end()) > spaceBytes(place.role(), space) / width)
        faults.add(at, std::to_string(arena->end()) + " elements do not fit " + pb::Space_Name(space) + " of " +
                           std::to_string(spaceBytes(place.role(), space)) + " bytes");
    KindState state{std::move(*arena), {}, {}};
    state.updated.resize(state.arena.intervals().size());
    std::vector<std::pair<uint64_t, uint64_t>> optimizer; // [begin, end) of each part's state
    for (const pb::SyncPart &part : place.role().sync_parts())
      if (!verifyPart(at, place, part, state, optimizer))
        return;
    std::sort(optimizer.begin(), optimizer.end());
    for (size_t i = 1; i < optimizer.size(); ++i)
      if (optimizer[i].first < optimizer[i - 1].second)
        faults.add(at, "the optimizer states of two sync parts overlap");
    verifyArenaCovered(at, state);
    states.push_back(std::move(state));
  }

  /// Translates the part and checks the room for its state and for packing. False if the role cannot be checked further.
  bool verifyPart(const std::string &at, const RankPlace &place, const pb::SyncPart &part, KindState &state,
                  std::vector<std::pair<uint64_t, uint64_t>> &optimizer) {
    if (!faults.checkIndex(at, "sync", part.sync(), plan.syncs_size()))
      return false;
    const pb::Sync &sync = plan.syncs(static_cast<int>(part.sync()));
    std::string where = at + ", " + placeOf("sync", part.sync(), sync.name());
    auto [runs, isNew] = state.runs.try_emplace(part.sync());
    if (!isNew)
      return faults.add(where, "the role has two parts of it"), false;
    uint64_t elements = 0;
    for (const pb::Piece &piece : part.pieces()) {
      Result<std::vector<ArenaMap::Part>> parts = state.arena.partsOf(piece);
      if (!parts)
        return faults.add(where, parts.error().message), false;
      for (const ArenaMap::Part &rectangle : *parts) {
        elements += static_cast<uint64_t>(rectangle.elements());
        runs->second.push_back(state.arena.runOf(rectangle));
        state.updated[rectangle.interval].push_back(
            {0, rectangle.row, rectangle.rows, rectangle.column, rectangle.columns, 0});
      }
    }
    if (elements != sync.elements())
      return faults.add(where, "its pieces have " + std::to_string(elements) + " elements, the sync has " +
                                   std::to_string(sync.elements())),
             false;
    std::optional<GroupPlace> member = placeIn(plan.families(static_cast<int>(sync.family())), place.rank());
    if (!member)
      return faults.add(where, "rank " + std::to_string(place.rank()) + " is not in its family"), false;
    verifyRoom(where, place.role(), part, sync, member->index, optimizer);
    return true;
  }

  void verifyRoom(const std::string &where, const pb::Role &role, const pb::SyncPart &part, const pb::Sync &sync,
                  uint32_t member, std::vector<std::pair<uint64_t, uint64_t>> &optimizer) {
    uint64_t owned = sync.sharded() ? sync.cuts(int(member) + 1) - sync.cuts(int(member)) : sync.elements();
    uint64_t perElement = (plan.job().precision().param() != pb::DTYPE_F32 ? 4 : 0) +
                          (plan.job().optimizer() != "sgd" ? 8 : 0);
    uint64_t room = spaceBytes(role, pb::SPACE_OPTIMIZER), offset = part.optimizer_offset();
    if (perElement && owned) {
      if (offset > room || owned > (room - offset) / perElement || offset % 4)
        faults.add(where, "optimizer state of " + std::to_string(owned) + " elements at " + std::to_string(offset) +
                              " does not fit " + std::to_string(room) + " bytes");
      else
        optimizer.push_back({offset, offset + owned * perElement});
    }
    uint64_t comm = spaceBytes(role, pb::SPACE_COMM);
    bool isPacked = part.pieces_size() > 1 || (part.pieces_size() == 1 && part.pieces(0).rows() > 1);
    if (isPacked && membersOf(sync) > 1 && !isContiguous(part) &&
        (part.comm_offset() > comm || sync.elements() > (comm - part.comm_offset()) / 4))
      faults.add(where, "packing " + std::to_string(sync.elements()) + " elements at " +
                            std::to_string(part.comm_offset()) + " does not fit " + std::to_string(comm) +
                            " bytes of communication memory");
  }

  /// True if the pieces are one run of the arena, which is then communicated in place.
  static bool isContiguous(const pb::SyncPart &part) {
    uint64_t next = part.pieces(0).offset();
    for (const pb::Piece &piece : part.pieces()) {
      if (piece.offset() != next || (piece.rows() > 1 && piece.row_stride() != piece.row_elements()))
        return false;
      next += piece.rows() * piece.row_elements();
    }
    return true;
  }

  /// Every stored element belongs to exactly one sync part: else it would never be updated, or twice.
  void verifyArenaCovered(const std::string &at, const KindState &state) {
    for (size_t i = 0; i < state.updated.size(); ++i) {
      const ArenaMap::Interval &interval = state.arena.intervals()[i];
      if (std::optional<std::string> fault = tilingFault(interval.rows, interval.columns, state.updated[i]))
        faults.add(at, "of its part of tensor '" + plan.tensors(int(interval.tensor)).name() + "', the sync parts hold " +
                           *fault);
    }
  }

  /// All members of a group hold parts over the same logical elements; notes what the group updates.
  void verifyMembers(uint32_t index, const std::string &place, const pb::Sync &sync) {
    const pb::GroupFamily &family = plan.families(static_cast<int>(sync.family()));
    for (uint32_t group = 0, groups = uint32_t(sizeOf(family.groups())); group < groups; ++group) {
      std::vector<uint32_t> ranks = groupRanks(family, group);
      const std::vector<LogicalRun> *first = nullptr;
      uint32_t firstRank = 0;
      std::set<uint32_t> seen; // kinds of this group
      size_t holders = 0;
      for (uint32_t rank : ranks) {
        uint32_t kind = table.kind[rank];
        auto runs = states[kind].runs.find(index);
        if (runs == states[kind].runs.end())
          continue;
        ++holders;
        if (!seen.insert(kind).second)
          continue;
        if (!first) {
          first = &runs->second;
          firstRank = rank;
        } else if (std::optional<std::string> what = difference(*first, runs->second)) {
          return faults.add(place, "ranks " + std::to_string(firstRank) + " and " + std::to_string(rank) +
                                       " mean different elements: " + *what);
        }
      }
      if (holders == 0)
        continue; // the family serves another role's sync, too
      if (holders != ranks.size())
        return faults.add(place, "only " + std::to_string(holders) + " of the " + std::to_string(ranks.size()) +
                                     " members of group " + std::to_string(group) + " have a part of it");
      for (const LogicalRun &run : *first)
        owned[run.tensor].push_back(run);
    }
  }

  void verifyOwners(int index, const pb::Tensor &tensor) {
    int64_t width = tensor.shape_size() > 1 ? *tensor.shape().rbegin() : 1, elements = 1;
    for (int64_t extent : tensor.shape())
      elements *= extent;
    if (std::optional<std::string> fault = tilingFault(elements / width, width, owned[index]))
      faults.add(placeOf("tensor", index, tensor.name()), "the syncs of all ranks hold " + *fault);
  }

  const pb::Plan &plan;
  const RankTable &table;
  Faults &faults;
  uint64_t paramBytes;
  std::vector<KindState> states;                 ///< by kind
  std::vector<std::vector<LogicalRun>> owned;    ///< by tensor: a run for each sync group
};

} // namespace

void verifyState(const pb::Plan &plan, const RankTable &table, Faults &faults) {
  StateVerifier(plan, table, faults).verify();
}

} // namespace plait
