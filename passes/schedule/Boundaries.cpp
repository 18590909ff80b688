#include "passes/schedule/Boundaries.h"
#include "runtime/plan/layout/Transfer.h"

namespace plait {

/// Rows (positions) of the residual stream that each coordinate of a stage holds.
static std::vector<UnitRange> streamRows(const StageTable &table, const StageInstance &instance) {
  int64_t sequence = table.problem->job.seqLen;
  std::vector<UnitRange> rows(instance.shards(), {0, sequence});
  for (const SegmentMap &map : instance.decisions->maps)
    if (map.segment == "stream")
      for (const AxisUse &use : map.uses)
        if (use.factor == "s")
          for (uint32_t k = 0; k < instance.shards(); ++k)
            rows[k] = shardRange(sequence, use.cuts, instance.shards(), k);
  return rows;
}

/// Bytes of one position of the activation that leaves block `use`.
static uint64_t rowBytes(const StageTable &table, const StageInstance &instance, const std::vector<UnitRange> &rows) {
  const Stage &stage = *instance.decisions;
  Id use = instance.lastStage ? stage.firstUse : stage.endUse - 1;
  const PhaseProjection &forward = *instance.projections.at(table.model().chain[use].kind)[0].find(Phase::Forward);
  Id local = instance.lastStage ? forward.x : forward.y;
  return forward.values[local].bytes() / std::max<int64_t>(rows[0].size(), 1);
}

static void setRanks(pb::RankSet &set, const StageInstance &instance, uint32_t coordinate, bool all) {
  set.set_base(instance.rank(coordinate));
  auto extent = [&](uint32_t count, uint32_t stride) {
    if (count <= 1)
      return;
    pb::Extent *added = set.add_extents();
    added->set_count(count);
    added->set_stride(stride);
  };
  extent(instance.copies, instance.copyStride);
  if (all)
    extent(instance.shards(), instance.decisions->devices.stride);
}

uint32_t Boundaries::channel(Id from, Id to, bool gradient, uint32_t fromCoordinate, uint32_t toCoordinate, bool allCoordinates) {
  const StageInstance &a = table.stages[from], &b = table.stages[to];
  pb::Channel *added = plan.add_channels();
  auto name = [](const StageInstance &s) { return "r" + std::to_string(s.replica) + ".s" + std::to_string(s.stage); };
  added->set_name(name(a) + " -> " + name(b) + (gradient ? " gradient" : " activation"));
  setRanks(*added->mutable_from(), a, fromCoordinate, allCoordinates);
  setRanks(*added->mutable_to(), b, toCoordinate, allCoordinates);
  return plan.channels_size() - 1;
}

Status Boundaries::build(Id from, Id to, bool gradient, std::vector<BoundaryMessage> &messages) {
  const StageInstance &a = table.stages[from], &b = table.stages[to];
  std::vector<UnitRange> rowsA = streamRows(table, a), rowsB = streamRows(table, b);
  uint64_t bytes = rowBytes(table, a, rowsA);
  if (rowsA == rowsB && (table.merged || a.shards() == b.shards())) {
    uint32_t shared = channel(from, to, gradient, 0, 0, true);
    for (uint32_t k = 0; k < a.shards(); ++k)
      messages.push_back({k, k, shared, 0, 0, uint64_t(rowsA[k].size()) * bytes});
    return success();
  }
  auto residences = [](const StageInstance &instance, const std::vector<UnitRange> &rows) {
    std::vector<Residence> list;
    for (uint32_t k = 0; k < instance.shards(); ++k)
      list.push_back({instance.rank(k), {{rows[k].begin}, {rows[k].size()}}, false, Residence::kOwnAddend});
    return list;
  };
  const Cluster &cluster = table.problem->cluster;
  Result<std::vector<Message>> compiled =
      compileTransfer({table.problem->job.seqLen}, residences(a, rowsA), residences(b, rowsB), [&](uint32_t rank) {
        return uint32_t(cluster.commonDomain(rank, rank));
      });
  if (!compiled)
    return compiled.error();
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> channels;
  for (const Message &message : *compiled) {
    uint32_t kA = message.fromResidence, kB = message.toResidence;
    auto [at, inserted] = channels.emplace(std::pair{kA, kB}, 0);
    if (inserted)
      at->second = channel(from, to, gradient, kA, kB, false);
    messages.push_back({kA, kB, at->second, uint64_t(message.box.start[0] - rowsA[kA].begin) * bytes,
                        uint64_t(message.box.start[0] - rowsB[kB].begin) * bytes, uint64_t(message.box.size[0]) * bytes});
  }
  return success();
}

Result<const std::vector<BoundaryMessage> *> Boundaries::between(Id from, Id to, bool gradient) {
  auto [at, inserted] = known.try_emplace({from, to, gradient});
  if (inserted)
    if (Status s = build(from, to, gradient, at->second); !s)
      return s.error();
  return &at->second;
}

} // namespace plait
