#include "cost_model/problem/Decisions.h"

namespace plait {

static void writeStage(const Stage &stage, pb::Stage &out) {
  out.mutable_devices()->set_first(stage.devices.first);
  out.mutable_devices()->set_count(stage.devices.count);
  out.mutable_devices()->set_stride(stage.devices.stride);
  out.set_first_use(stage.firstUse);
  out.set_end_use(stage.endUse);
  for (const SegmentMap &map : stage.maps) {
    pb::SegmentMap &mapOut = *out.add_maps();
    mapOut.set_segment(map.segment);
    for (const AxisUse &use : map.uses) {
      pb::AxisUse &useOut = *mapOut.add_uses();
      useOut.set_factor(use.factor);
      useOut.mutable_cuts()->Assign(use.cuts.begin(), use.cuts.end());
    }
  }
  out.set_recompute(stage.recompute);
  out.set_split_wgrad(stage.splitWeightGrad);
}

static Stage readStage(const pb::Stage &in) {
  Stage stage;
  stage.devices = {in.devices().first(), in.devices().count(), in.devices().stride()};
  stage.firstUse = in.first_use();
  stage.endUse = in.end_use();
  for (const pb::SegmentMap &map : in.maps()) {
    SegmentMap &segment = stage.maps.emplace_back();
    segment.segment = map.segment();
    for (const pb::AxisUse &use : map.uses())
      segment.uses.push_back({use.factor(), {use.cuts().begin(), use.cuts().end()}});
  }
  stage.recompute = in.recompute();
  stage.splitWeightGrad = in.split_wgrad();
  return stage;
}

pb::Decisions decisionsFromSolution(const Solution &solution) {
  pb::Decisions out;
  for (const Replica &replica : solution.replicas) {
    pb::Replica &replicaOut = *out.add_replicas();
    replicaOut.set_copies(replica.copies);
    replicaOut.set_copy_stride(replica.copyStride);
    for (const Stage &stage : replica.stages)
      writeStage(stage, *replicaOut.add_stages());
    replicaOut.set_microbatches(replica.microbatches);
  }
  for (const Override &override : solution.overrides) {
    pb::Override &overrideOut = *out.add_overrides();
    overrideOut.set_replica(override.replica);
    overrideOut.set_stage(override.stage);
    overrideOut.set_microbatch(override.microbatch);
    overrideOut.set_executor(override.executor);
  }
  out.set_schedule(solution.schedule);
  out.set_sharding(solution.sharding);
  out.set_micro_batch(solution.microBatch);
  return out;
}

Solution solutionFromDecisions(const pb::Decisions &decisions) {
  Solution solution;
  for (const pb::Replica &in : decisions.replicas()) {
    Replica &replica = solution.replicas.emplace_back();
    replica.copies = in.copies();
    replica.copyStride = in.copy_stride();
    for (const pb::Stage &stage : in.stages())
      replica.stages.push_back(readStage(stage));
    replica.microbatches = in.microbatches();
  }
  for (const pb::Override &in : decisions.overrides())
    solution.overrides.push_back({in.replica(), in.stage(), in.microbatch(), in.executor()});
  solution.schedule = decisions.schedule();
  solution.sharding = decisions.sharding();
  solution.microBatch = decisions.micro_batch();
  return solution;
}

} // namespace plait
