#include "passes/plan/Convert.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace plait {

static Stage stageFromOp(plan::StageOp op) {
  Stage stage;
  stage.devices = {op.getFirst(), op.getCount(), op.getStride()};
  stage.firstUse = op.getFirstUse();
  stage.endUse = op.getEndUse();
  stage.recompute = op.getRecompute().str();
  stage.splitWeightGrad = op.getSplitWgrad();
  for (plan::MapOp map : op.getBody().getOps<plan::MapOp>()) {
    SegmentMap &segment = stage.maps.emplace_back();
    segment.segment = map.getSegment().str();
    for (auto use : map.getUses().getAsRange<plan::AxisUseAttr>())
      segment.uses.push_back({use.getFactor().str(), {use.getCuts().begin(), use.getCuts().end()}});
  }
  return stage;
}

Result<Solution> solutionFromOp(plan::SolutionOp op) {
  Solution solution;
  solution.schedule = op.getSchedule().str();
  solution.sharding = op.getSharding().str();
  solution.microBatch = op.getMicroBatch();
  for (plan::ReplicaOp replicaOp : op.getBody().getOps<plan::ReplicaOp>()) {
    Replica &replica = solution.replicas.emplace_back();
    replica.copies = replicaOp.getCopies();
    replica.copyStride = replicaOp.getCopyStride();
    replica.microbatches = replicaOp.getMicrobatches();
    for (plan::StageOp stage : replicaOp.getBody().getOps<plan::StageOp>())
      replica.stages.push_back(stageFromOp(stage));
  }
  for (plan::OverrideOp override : op.getBody().getOps<plan::OverrideOp>())
    solution.overrides.push_back(
        {override.getReplica(), override.getStage(), override.getMicrobatch(), override.getExecutor()});
  return solution;
}

static void buildStage(OpBuilder &builder, Location loc, const Stage &stage) {
  auto op = plan::StageOp::create(builder, loc, stage.devices.first, stage.devices.count, stage.devices.stride,
                                  stage.firstUse, stage.endUse, stage.recompute, stage.splitWeightGrad);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&op.getBody().emplaceBlock());
  for (const SegmentMap &map : stage.maps) {
    SmallVector<Attribute> uses;
    for (const AxisUse &use : map.uses)
      uses.push_back(plan::AxisUseAttr::get(builder.getContext(), use.factor, use.cuts));
    plan::MapOp::create(builder, loc, map.segment, builder.getArrayAttr(uses));
  }
}

plan::SolutionOp buildSolutionOp(OpBuilder &builder, const Solution &solution, StringRef name) {
  Location loc = builder.getUnknownLoc();
  auto op = plan::SolutionOp::create(builder, loc, name, solution.schedule, solution.sharding, solution.microBatch);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&op.getBody().emplaceBlock());
  for (const Replica &replica : solution.replicas) {
    auto replicaOp =
        plan::ReplicaOp::create(builder, loc, replica.copies, replica.copyStride, replica.microbatches);
    OpBuilder::InsertionGuard inner(builder);
    builder.setInsertionPointToStart(&replicaOp.getBody().emplaceBlock());
    for (const Stage &stage : replica.stages)
      buildStage(builder, loc, stage);
  }
  for (const Override &override : solution.overrides)
    plan::OverrideOp::create(builder, loc, override.replica, override.stage, override.microbatch, override.executor);
  return op;
}

} // namespace plait
