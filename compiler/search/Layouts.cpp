#include "compiler/search/Layouts.h"
#include "cost_model/workload/Projection.h"
#include "cost_model/problem/Rules.h"
#include <algorithm>

namespace plait {

template <typename T> static bool allows(const std::vector<T> &list, const T &value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

/// Megatron's maps, of the segments that the model has.
static std::vector<SegmentMap> mapsOf(const Model &model, const Layout &layout) {
  std::vector<SegmentMap> maps = megatronMaps(layout.tp, layout.sequenceParallel);
  std::erase_if(maps, [&](const SegmentMap &map) {
    return std::none_of(model.kinds.begin(), model.kinds.end(), [&](const BlockSummary &kind) {
      return std::find(kind.segments.begin(), kind.segments.end(), map.segment) != kind.segments.end();
    });
  });
  return maps;
}

Solution solutionOf(const Problem &problem, const Layout &layout, const std::vector<Id> &cuts) {
  Solution solution;
  solution.schedule = layout.schedule;
  solution.sharding = layout.sharding;
  solution.microBatch = layout.microBatch;
  Replica replica;
  replica.copies = layout.dp;
  replica.copyStride = layout.dp > 1 ? layout.tp : 0;
  replica.microbatches = layout.microbatches;
  for (uint32_t s = 0; s < layout.pp; ++s) {
    Stage stage;
    stage.devices = {s * layout.dp * layout.tp, layout.tp, 1};
    stage.firstUse = s == 0 ? 0 : cuts[s - 1];
    stage.endUse = s + 1 == layout.pp ? problem.model->chain.size() : cuts[s];
    stage.maps = mapsOf(*problem.model, layout);
    stage.recompute = layout.recompute;
    stage.splitWeightGrad = layout.splitWeightGrad;
    replica.stages.push_back(std::move(stage));
  }
  solution.replicas.push_back(std::move(replica));
  return solution;
}

std::vector<Id> evenCuts(const Problem &problem, const Layout &layout) {
  const std::vector<BlockUse> &chain = problem.model->chain;
  int64_t layers = std::count_if(chain.begin(), chain.end(), [](const BlockUse &use) { return use.layer >= 0; });
  Id first = std::find_if(chain.begin(), chain.end(), [](const BlockUse &use) { return use.layer >= 0; }) - chain.begin();
  std::vector<Id> cuts;
  for (uint32_t s = 1; s < layout.pp; ++s) // more stages than layers: embedding and head get stages of their own
    cuts.push_back(layers >= layout.pp ? first + shardRange(layers, {}, layout.pp, s).begin
                                       : shardRange(chain.size(), {}, layout.pp, s).begin);
  return cuts;
}

/// Degrees 1..limit of which the space allows; all that divide `limit` (or all, if devices may idle).
static std::vector<uint32_t> degrees(const std::vector<uint32_t> &allowed, uint32_t limit, bool dividing) {
  std::vector<uint32_t> list;
  for (uint32_t degree = 1; degree <= limit; ++degree)
    if ((!dividing || limit % degree == 0) && allows(allowed, degree))
      list.push_back(degree);
  return list;
}

namespace {

class LayoutEnumerator {
public:
  LayoutEnumerator(const Problem &problem, std::map<std::string, uint64_t> &pruned)
      : problem(problem), space(problem.space), pruned(pruned), devices(problem.cluster.deviceCount()) {}

  std::vector<Layout> run() {
    bool dividing = !space.idleDevices;
    uint32_t chain = problem.model->chain.size();
    for (uint32_t tp : degrees(space.tp, devices, dividing))
      for (uint32_t pp : degrees(space.pp, std::min(devices / tp, dividing ? devices / tp : chain), dividing))
        if (pp <= chain)
          for (uint32_t dp : degrees(space.dp, devices / (tp * pp), false))
            if (!dividing || dp == devices / (tp * pp))
              addBatches(tp, pp, dp);
    return std::move(layouts);
  }

private:
  void addBatches(uint32_t tp, uint32_t pp, uint32_t dp) {
    if (problem.job.globalBatch % dp) {
      ++pruned["F-18"];
      return;
    }
    int64_t perReplica = problem.job.globalBatch / dp;
    for (int64_t mb = 1; mb <= perReplica; mb = space.microBatch.empty() ? mb * 2 : mb + 1)
      if (allows(space.microBatch, uint32_t(mb))) {
        if (perReplica % mb == 0)
          addVariants(tp, pp, dp, mb, perReplica / mb);
        else
          ++pruned["F-18"];
      }
  }

  void addVariants(uint32_t tp, uint32_t pp, uint32_t dp, int64_t mb, int64_t microbatches) {
    for (bool sp : {false, true}) {
      if ((sp && tp == 1) || !allows(space.sequenceParallel, sp))
        continue;
      for (const std::string &recompute : recomputeNames())
        for (const std::string &sharding : shardingNames())
          for (const std::string &schedule : scheduleNames())
            for (bool split : {false, true}) {
              bool splitAllowed = space.splitWeightGrad.empty() ? !split : allows(space.splitWeightGrad, split);
              // One replica, makes sharding meaningless: keep one choice.
              if (!splitAllowed || !allows(space.recompute, recompute) || !allows(space.sharding, sharding) ||
                  !allows(space.schedules, schedule) || (dp == 1 && sharding != "none" && allows(space.sharding, std::string("none"))))
                continue;
              add({tp, pp, dp, mb, sp, split, recompute, sharding, schedule, microbatches});
            }
    }
  }

  /// What a rule says of a layout depends, its degrees and batches being legal by construction, on how one block is
  /// split and run, and on whether embedding and head share a stage.
  void add(const Layout &layout) {
    auto [at, fresh] = verdicts.try_emplace(
        {layout.tp, layout.microBatch, layout.sequenceParallel, layout.splitWeightGrad, layout.recompute, layout.pp == 1});
    if (fresh)
      if (std::vector<Reason> reasons = verify(problem, solutionOf(problem, layout, evenCuts(problem, layout))); !reasons.empty())
        at->second = reasons.front().rule;
    if (at->second.empty())
      layouts.push_back(layout);
    else
      ++pruned[at->second];
  }

  const Problem &problem;
  const Space &space;
  std::map<std::string, uint64_t> &pruned;
  uint32_t devices;
  std::map<std::tuple<uint32_t, int64_t, bool, bool, std::string, bool>, std::string> verdicts; // rule; empty: legal
  std::vector<Layout> layouts;
};

} // namespace

std::vector<Layout> layoutsOf(const Problem &problem, std::map<std::string, uint64_t> &pruned) {
  return LayoutEnumerator(problem, pruned).run();
}

} // namespace plait
