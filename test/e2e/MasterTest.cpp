// The master test: any legal plan gives the gradients, the clip norm, the parameters and the losses of one rank.
#include "PlanRun.h"
#include "TestPlans.h"
#include "cost_model/workload/Projection.h"
#include <catch2/catch.hpp>

using namespace plait;
using namespace plait::test;

namespace {

constexpr double kTolerance = 1e-5;

Id chainOf(const std::string &model) { return problemFor(model, 1, 1).model->chain.size(); }

struct Case {
  std::string name, model;
  uint32_t devices;
  Solution solution;
};

/// Adding a constant to all keys changes no attention weight, so the gradient of a key bias is zero but for rounding,
/// which has no scale to be compared with (and which AdamW blows up to full steps).
void dropSilentGradients(PlanRun &run) {
  for (Tensors *tensors : {&run.firstGradients, &run.parameters})
    std::erase_if(*tensors, [](const auto &entry) { return entry.first.ends_with("c_attn.bias#k") || entry.first.ends_with("query_key_value.bias#k"); });
}

/// Runs of one rank, which every plan of the same model and batch is compared with.
const PlanRun &oneRank(const std::string &model, int64_t globalBatch, const RunSettings &settings) {
  static std::map<std::tuple<std::string, int64_t, int64_t, int>, PlanRun> cache;
  PlanRun &run = cache[{model, globalBatch, settings.steps, settings.optimizer}];
  if (run.losses.empty()) {
    Problem problem = problemFor(model, 1, globalBatch);
    Solution solution;
    solution.replicas = {pipeline(0, 1, {Id(problem.model->chain.size())}, globalBatch)};
    Result<PlanRun> result = runPlan(planFor(problem, solution), settings);
    if (!result)
      FAIL(result.error().message);
    run = std::move(*result);
    dropSilentGradients(run);
  }
  return run;
}

void compare(const Case &c, const RunSettings &settings) {
  int64_t microbatches = 0;
  for (const Replica &replica : c.solution.replicas)
    microbatches += replica.copies * replica.microbatches;
  int64_t globalBatch = microbatches * c.solution.microBatch;
  const PlanRun &one = oneRank(c.model, globalBatch, settings);
  Result<PlanRun> run = runPlan(planFor(problemFor(c.model, c.devices, globalBatch), c.solution), settings);
  if (!run)
    FAIL(run.error().message);
  dropSilentGradients(*run);
  Worst gradients = worstDifference(run->firstGradients, one.firstGradients), parameters = worstDifference(run->parameters, one.parameters);
  INFO(c.name << ": gradients differ most in " << gradients.tensor << ", parameters in " << parameters.tensor);
  CHECK(gradients.difference <= kTolerance);
  CHECK(parameters.difference <= kTolerance);
  REQUIRE(run->losses.size() == one.losses.size());
  for (size_t i = 0; i < one.losses.size(); ++i) {
    CHECK(run->losses[i] == Approx(one.losses[i]).epsilon(kTolerance));
    CHECK(run->gradNorms[i] == Approx(one.gradNorms[i]).epsilon(kTolerance));
  }
}

/// Marks every stage.
template <typename Change> Replica with(Replica replica, Change change) {
  for (Stage &s : replica.stages)
    change(s);
  return replica;
}
void splitWeightGrad(Stage &s) { s.splitWeightGrad = true; }
void full(Stage &s) { s.recompute = "full"; }
void selective(Stage &s) { s.recompute = "selective"; }

Replica copies(Replica replica, uint32_t count, uint32_t stride) {
  replica.copies = count;
  replica.copyStride = stride;
  return replica;
}

Solution plan(std::vector<Replica> replicas, const std::string &sharding = "none", const std::string &schedule = "1f1b", int64_t microBatch = 1) {
  Solution solution;
  solution.replicas = std::move(replicas);
  solution.sharding = sharding;
  solution.schedule = schedule;
  solution.microBatch = microBatch;
  return solution;
}

/// Nothing in these is uniform: TP3 x PP2 beside TP1 x PP2, shares 6 : 2, KV heads across shards, uneven vocabulary.
Solution sliceA() { return plan({with(pipeline(0, 3, {5, 8}, 6), splitWeightGrad), pipeline(6, 1, {4, 8}, 2)}, "optimizer"); }
Solution sliceB() {
  Solution solution = plan({pipeline(0, 3, {5, 8}, 6), pipeline(6, 1, {5, 8}, 2)}, "optimizer");
  solution.overrides = {{0, 1, 5, 1}};
  return solution;
}
Solution sliceC() { return plan({with(pipeline(0, 3, {5, 8}, 6, true), splitWeightGrad), pipeline(6, 1, {4, 8}, 2)}, "optimizer"); }

/// Stages of unlike tensor parallelism; with sequence parallelism rows move between unlike splits.
Solution mixedDegrees(bool sequenceParallel) {
  Replica replica;
  replica.microbatches = 4;
  replica.stages = {stage(0, 2, 0, 3, sequenceParallel), stage(2, 3, 3, 6, sequenceParallel), stage(5, 1, 6, 8)};
  return plan({replica});
}

/// A replica whose head and FFN cuts are given by hand.
Solution givenCuts() {
  Replica replica = pipeline(0, 3, {8}, 4);
  for (SegmentMap &map : replica.stages[0].maps) {
    if (map.segment == "attention")
      map.uses[0].cuts = {1, 3};
    if (map.segment == "mlp")
      map.uses[0].cuts = {10, 200};
  }
  return plan({replica});
}

const char *llama = "tiny-llama.json";

std::vector<Case> cases() {
  return {
      {"slice a", llama, 8, sliceA()},
      {"slice b: override", llama, 8, sliceB()},
      {"slice c: sequence parallel", llama, 8, sliceC()},
      {"tp2", llama, 2, plan({pipeline(0, 2, {8}, 8)})},
      {"tp3", llama, 3, plan({pipeline(0, 3, {8}, 4, true)})},
      {"tp4: KV heads shared, heads 2 2 1 1", llama, 4, plan({pipeline(0, 4, {8}, 4)})},
      {"tp6", llama, 6, plan({pipeline(0, 6, {8}, 4, true)})},
      {"cuts by hand", llama, 3, givenCuts()},
      {"pp2", llama, 2, plan({pipeline(0, 1, {3, 8}, 8)})},
      {"pp3 uneven", llama, 3, plan({pipeline(0, 1, {1, 6, 8}, 8)})},
      {"pp4 gpipe", llama, 4, plan({pipeline(0, 1, {2, 4, 6, 8}, 4)}, "none", "gpipe")},
      {"pp4 split backward", llama, 4, plan({with(pipeline(0, 1, {2, 4, 6, 8}, 8), splitWeightGrad)})},
      {"pp2 full recompute, micro-batch 2", llama, 2, plan({with(pipeline(0, 1, {4, 8}, 4), full)}, "none", "1f1b", 2)},
      {"pp2 selective recompute", llama, 2, plan({with(pipeline(0, 1, {4, 8}, 8), selective)})},
      {"dp2", llama, 2, plan({copies(pipeline(0, 1, {8}, 4), 2, 1)})},
      {"dp2 zero-1", llama, 2, plan({copies(pipeline(0, 1, {8}, 4), 2, 1)}, "optimizer")},
      {"dp3 zero-1, shares 4 3 1", llama, 3, plan({pipeline(0, 1, {8}, 4), pipeline(1, 1, {8}, 3), pipeline(2, 1, {8}, 1)}, "optimizer")},
      {"tp2 dp2 zero-1", llama, 4, plan({copies(pipeline(0, 2, {8}, 4, true), 2, 2)}, "optimizer")},
      {"tp2 pp2 dp2", llama, 8, plan({copies(with(pipeline(0, 2, {4, 8}, 2, true), selective), 2, 4)}, "optimizer")},
      {"mixed degrees", llama, 6, mixedDegrees(false)},
      {"mixed degrees, sequence parallel", llama, 6, mixedDegrees(true)},
      {"untied tp2 pp2", "tiny-llama-untied.json", 4, plan({pipeline(0, 2, {3, 6}, 4)})},
      {"untied dp2 zero-1 full", "tiny-llama-untied.json", 2, plan({copies(with(pipeline(0, 1, {6}, 2), full), 2, 1)}, "optimizer")},
      {"qwen3 tp2 sequence parallel", "tiny-qwen3.json", 2, plan({pipeline(0, 2, {chainOf("tiny-qwen3.json")}, 4, true)})},
      {"qwen3 pp2 split backward", "tiny-qwen3.json", 2, plan({with(pipeline(0, 1, {2, chainOf("tiny-qwen3.json")}, 4), splitWeightGrad)})},
      {"gpt2 tp2 sequence parallel", "tiny-gpt2.json", 2, plan({pipeline(0, 2, {chainOf("tiny-gpt2.json")}, 4, true)})},
      {"gpt2 tp3 pp2 zero-1", "tiny-gpt2.json", 7, plan({pipeline(0, 3, {2, chainOf("tiny-gpt2.json")}, 3), pipeline(6, 1, {chainOf("tiny-gpt2.json")}, 1)}, "optimizer")},
      {"neox tp2 pp2", "tiny-neox.json", 4, plan({pipeline(0, 2, {2, chainOf("tiny-neox.json")}, 4)})},
  };
}

} // namespace

TEST_CASE("every layout has the gradients and SGD steps of one rank") {
  RunSettings sgd;
  sgd.optimizer = OptimizerStep::Sgd;
  sgd.steps = 3;
  for (const Case &c : cases())
    compare(c, sgd);
}

TEST_CASE("every layout has the AdamW steps of one rank") {
  RunSettings adam;
  adam.steps = 3;
  adam.learningRate = 2e-5;
  for (const Case &c : cases())
    compare(c, adam);
}

TEST_CASE("twenty AdamW steps have the losses of one rank") {
  RunSettings adam;
  adam.steps = 20;
  adam.learningRate = 2e-5;
  for (const Case &c : cases())
    if (c.name.starts_with("slice"))
      compare(c, adam);
}
