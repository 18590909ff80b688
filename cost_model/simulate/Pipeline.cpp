#include "cost_model/simulate/Pipeline.h"
#include <algorithm>
#include <tuple>

namespace plait {

struct Pipeline::KeyedRun {
  uint64_t key;
  PipeRun run;
};

namespace {

struct Micro {
  Id replica, index;
  uint64_t count; ///< micro-batches of the replica
};

/// Relative progress (index + 1/2) / count, then replica.
bool earlier(const Micro &a, const Micro &b) {
  uint64_t left = (2ull * a.index + 1) * b.count, right = (2ull * b.index + 1) * a.count;
  return left != right ? left < right : std::tie(a.replica, a.index) < std::tie(b.replica, b.index);
}

auto keyOf(const Override &o) { return std::tuple(o.replica, o.stage, o.microbatch); }

/// Gives every run its frame: taken by the forward, freed by the last backward.
void assignFrames(std::vector<PipeRun> &runs, bool split) {
  std::vector<const PipeRun *> holder;
  for (PipeRun &run : runs) {
    auto holds = [&](const PipeRun *h) {
      return run.phase == Phase::Forward ? !h : h && h->replica == run.replica && h->microbatch == run.microbatch;
    };
    auto slot = std::find_if(holder.begin(), holder.end(), holds);
    if (slot == holder.end())
      slot = holder.insert(slot, nullptr);
    run.frame = uint32_t(slot - holder.begin());
    if (run.phase == Phase::Forward)
      *slot = &run;
    else if (run.phase == Phase::BackwardWeight || !split)
      *slot = nullptr;
  }
}

} // namespace

Pipeline::Pipeline(const Solution &solution) : solution(solution), overrides(solution.overrides) {
  for (const Replica &replica : solution.replicas)
    positionEnd = std::max(positionEnd, replica.microbatches);
  if (!overrides.empty())
    placeOverridden();
}

void Pipeline::placeOverridden() {
  std::sort(overrides.begin(), overrides.end(), [](const auto &a, const auto &b) { return keyOf(a) < keyOf(b); });
  std::vector<Micro> order;
  std::vector<std::vector<uint32_t>> next; // per executor: first position that is still free
  for (Id r = 0; r < solution.replicas.size(); ++r) {
    const Replica &replica = solution.replicas[r];
    for (Id m = 0; m < replica.microbatches; ++m)
      order.push_back({r, m, replica.microbatches});
    next.emplace_back(replica.stages.size(), 0);
    positions.emplace_back(replica.microbatches, 0);
  }
  std::sort(order.begin(), order.end(), earlier);
  for (const Micro &micro : order) {
    Id stages = Id(solution.replicas[micro.replica].stages.size());
    uint32_t place = 0;
    for (Id s = 0; s < stages; ++s)
      place = std::max(place, next[executor(micro.replica, s, micro.index)][s]);
    for (Id s = 0; s < stages; ++s)
      next[executor(micro.replica, s, micro.index)][s] = place + 1;
    positions[micro.replica][micro.index] = place;
    positionEnd = std::max(positionEnd, place + 1);
  }
}

Id Pipeline::executor(Id replica, Id stage, Id microbatch) const {
  Override wanted{replica, stage, microbatch, 0};
  auto found = std::lower_bound(overrides.begin(), overrides.end(), wanted,
                                [](const auto &a, const auto &b) { return keyOf(a) < keyOf(b); });
  return found != overrides.end() && keyOf(*found) == keyOf(wanted) ? found->executor : replica;
}

uint32_t Pipeline::position(Id replica, Id microbatch) const {
  return positions.empty() ? microbatch : positions[replica][microbatch];
}

std::vector<Pipeline::KeyedRun> Pipeline::sortedRuns(Id replica, Id stage) const {
  uint64_t stages = solution.replicas[replica].stages.size();
  Phase backward = solution.replicas[replica].stages[stage].splitWeightGrad ? Phase::BackwardInput : Phase::Backward;
  bool gpipe = solution.schedule == "gpipe";
  std::vector<KeyedRun> runs;
  auto add = [&](Id origin, Id microbatch) {
    uint64_t p = position(origin, microbatch);
    uint64_t forward = gpipe ? p + stage : 2 * p + stage;
    uint64_t back = gpipe ? positionEnd + stages + p + stages - 1 - stage : 2 * p + 2 * stages - 1 - stage;
    runs.push_back({forward, {Phase::Forward, origin, microbatch, 0}});
    runs.push_back({back, {backward, origin, microbatch, 0}});
  };
  for (Id m = 0; m < solution.replicas[replica].microbatches; ++m)
    if (executor(replica, stage, m) == replica)
      add(replica, m);
  for (const Override &moved : overrides)
    if (moved.stage == stage && moved.executor == replica && moved.replica != replica)
      add(moved.replica, moved.microbatch);
  std::sort(runs.begin(), runs.end(), [](const KeyedRun &a, const KeyedRun &b) { return a.key < b.key; });
  return runs;
}

std::vector<PipeItem> Pipeline::items(Id replica, Id stage) const {
  const Replica &self = solution.replicas[replica];
  bool split = self.stages[stage].splitWeightGrad;
  std::vector<PipeRun> runs;
  for (const KeyedRun &next : sortedRuns(replica, stage)) {
    bool behindNext = split && !runs.empty() && runs.back().phase == Phase::BackwardInput;
    PipeRun weight = behindNext ? runs.back() : PipeRun{};
    weight.phase = Phase::BackwardWeight;
    if (behindNext && next.run.phase != Phase::Forward)
      runs.push_back(weight);
    runs.push_back(next.run);
    if (behindNext && next.run.phase == Phase::Forward)
      runs.push_back(weight);
  }
  if (split && !runs.empty()) {
    runs.push_back(runs.back());
    runs.back().phase = Phase::BackwardWeight;
  }
  assignFrames(runs, split);

  auto message = [&](const PipeRun &run, bool send) -> std::vector<PipeMessage> {
    bool forward = run.phase == Phase::Forward;
    if (run.phase == Phase::BackwardWeight)
      return {};
    bool down = forward == send; // towards the next stage
    if (down ? stage + 1 == self.stages.size() : stage == 0)
      return {};
    Id peer = down ? stage + 1 : stage - 1;
    return {{send, !forward, run.replica, run.microbatch, executor(run.replica, peer, run.microbatch), peer}};
  };
  std::vector<PipeItem> items;
  std::vector<PipeMessage> pending;
  for (const PipeRun &run : runs) {
    for (const PipeMessage &receive : message(run, false))
      pending.push_back(receive);
    if (!pending.empty())
      items.push_back({PipeItem::Transfer, {}, std::move(pending)});
    items.push_back({PipeItem::Run, run, {}});
    pending = message(run, true);
  }
  if (!pending.empty())
    items.push_back({PipeItem::Transfer, {}, std::move(pending)});
  return items;
}

std::vector<PipeItem> pipelineItems(const Solution &solution, Id replica, Id stage) {
  return Pipeline(solution).items(replica, stage);
}

uint32_t framesNeeded(const std::vector<PipeItem> &items) {
  uint32_t frames = 0;
  for (const PipeItem &item : items)
    if (item.kind == PipeItem::Run)
      frames = std::max(frames, item.run.frame + 1);
  return frames;
}

uint32_t framesNeeded(const Solution &solution, Id replica, Id stage) {
  return framesNeeded(pipelineItems(solution, replica, stage));
}

} // namespace plait
