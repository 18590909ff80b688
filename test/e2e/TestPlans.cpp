#include "TestPlans.h"
#include "compiler/driver/LoadModel.h"
#include "cost_model/workload/Projection.h"
#include "passes/lower/BuildPlan.h"
#include <catch2/catch.hpp>
#include <map>

namespace plait::test {

static std::shared_ptr<const Model> modelNamed(const std::string &name) {
  static std::map<std::string, std::shared_ptr<const Model>> cache;
  std::shared_ptr<const Model> &model = cache[name];
  if (!model) {
    static std::unique_ptr<mlir::MLIRContext> context = makeContext();
    Result<LoadedModel> loaded = loadModel(*context, std::string(PLAIT_TEST_DATA) + "/models/" + name);
    if (!loaded)
      FAIL(loaded.error().message);
    model = loaded->model;
  }
  return model;
}

Problem problemFor(const std::string &name, uint32_t devices, int64_t globalBatch) {
  Problem problem;
  problem.model = modelNamed(name);
  problem.cluster.name = "test";
  problem.cluster.classes = {{"cpu", "cpu", uint64_t(8) << 30, 0}};
  problem.cluster.domains = {{kNone, "root", kNone, 0, "shm", false}, {0, "node", 0, devices, "shm", true}};
  problem.job.globalBatch = globalBatch;
  problem.job.seqLen = 24;
  return problem;
}

Stage stage(uint32_t device, uint32_t tp, Id first, Id end, bool sequenceParallel) {
  Stage stage;
  stage.devices = {device, tp, 1};
  stage.firstUse = first;
  stage.endUse = end;
  stage.maps = megatronMaps(tp, sequenceParallel);
  return stage;
}

Replica pipeline(uint32_t device, uint32_t tp, const std::vector<Id> &ends, uint32_t microbatches, bool sequenceParallel) {
  Replica replica;
  replica.microbatches = microbatches;
  Id first = 0;
  for (Id end : ends) {
    replica.stages.push_back(stage(device, tp, first, end, sequenceParallel));
    first = end;
    device += tp;
  }
  return replica;
}

pb::Plan planFor(const Problem &problem, const Solution &solution) {
  for (const Reason &reason : check(problem))
    FAIL(reason.text());
  for (const Reason &reason : verify(problem, solution))
    FAIL(reason.text());
  Result<pb::Plan> plan = buildPlan(problem, solution);
  if (!plan)
    FAIL(plan.error().message);
  return std::move(*plan);
}

} // namespace plait::test
