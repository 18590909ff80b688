// The master test: any legal plan gives the gradients, the clip norm, the parameters and the losses of one rank.
#include "PlanRun.h"
#include "TestPlans.h"
#include "cost_model/workload/Projection.h"
#include "runtime/plan/verify/Verify.h"
#include <catch2/catch.hpp>
#include <random>

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
  static std::map<std::tuple<std::string, int64_t, int64_t, int, bool>, PlanRun> cache;
  PlanRun &run = cache[{model, globalBatch, settings.steps, settings.optimizer, settings.referenceBackend}];
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

/// What a run differs by from one rank: gradients and parameters by tensor, clip norms and losses by step.
struct Difference {
  Worst gradients, parameters;
  double norms = 0, losses = 0;
  bool within(double tolerance) const {
    return gradients.difference <= tolerance && parameters.difference <= tolerance && norms <= tolerance && losses <= tolerance;
  }
};

int64_t globalBatchOf(const Solution &solution) {
  int64_t microbatches = 0;
  for (const Replica &replica : solution.replicas)
    microbatches += replica.copies * replica.microbatches;
  return microbatches * solution.microBatch;
}

Difference differenceOf(PlanRun run, const PlanRun &one) {
  dropSilentGradients(run);
  Difference difference{worstDifference(run.firstGradients, one.firstGradients), worstDifference(run.parameters, one.parameters), 0, 0};
  REQUIRE(run.losses.size() == one.losses.size());
  auto relative = [](double ours, double theirs) { // never NaN, which no maximum would keep
    double ratio = std::abs(ours / theirs - 1);
    return std::isfinite(ratio) ? ratio : std::numeric_limits<double>::infinity();
  };
  for (size_t i = 0; i < one.losses.size(); ++i) {
    difference.norms = std::max(difference.norms, relative(run.gradNorms[i], one.gradNorms[i]));
    difference.losses = std::max(difference.losses, relative(run.losses[i], one.losses[i]));
  }
  return difference;
}

void compare(const Case &c, const RunSettings &settings, double tolerance = kTolerance) {
  int64_t globalBatch = globalBatchOf(c.solution);
  pb::Plan plan = planFor(problemFor(c.model, c.devices, globalBatch), c.solution);
  INFO(c.name);
  CHECK(verifyPlan(plan).empty());
  CHECK(verifyComm(plan).empty());
  Result<PlanRun> run = runPlan(plan, settings);
  if (!run)
    FAIL(run.error().message);
  RunSettings reference = settings;
  reference.referenceBackend = true;
  Difference difference = differenceOf(std::move(*run), oneRank(c.model, globalBatch, reference));
  INFO("gradients differ most in " << difference.gradients.tensor << ", parameters in " << difference.parameters.tensor);
  CHECK(difference.gradients.difference <= tolerance);
  CHECK(difference.parameters.difference <= tolerance);
  CHECK(difference.norms <= tolerance);
  CHECK(difference.losses <= tolerance);
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
  adam.learningRate = 1e-4;
  adam.referenceBackend = false; // both sides
  for (const Case &c : cases()) {
    INFO(c.name);
    int64_t globalBatch = globalBatchOf(c.solution);
    const PlanRun &one = oneRank(c.model, globalBatch, adam);
    Result<PlanRun> run = runPlan(planFor(problemFor(c.model, c.devices, globalBatch), c.solution), adam);
    if (!run)
      FAIL(run.error().message);
    REQUIRE(run->losses.size() == 20);
    for (size_t i = 0; i < 20; ++i)
      CHECK(run->losses[i] == Approx(one.losses[i]).epsilon(kTolerance));
  }
}

TEST_CASE("the vectorised backend agrees as far as its arithmetic does") {
  RunSettings sgd;
  sgd.optimizer = OptimizerStep::Sgd;
  sgd.referenceBackend = false;
  for (const Case &c : cases())
    if (c.name.starts_with("slice") || c.name.starts_with("gpt2") || c.name.starts_with("qwen3"))
      compare(c, sgd, 1e-4);
}

namespace {

uint32_t pick(std::mt19937 &rng, uint32_t low, uint32_t high) { return low + rng() % (high - low + 1); }

/// Ascending cuts inside (0, units).
std::vector<int64_t> randomCuts(std::mt19937 &rng, int64_t units, uint32_t shards) {
  std::vector<int64_t> places(units - 1);
  for (int64_t i = 0; i < units - 1; ++i)
    places[i] = i + 1;
  std::shuffle(places.begin(), places.end(), rng);
  places.resize(shards - 1);
  std::sort(places.begin(), places.end());
  return places;
}

/// A pipeline on at most `devices` devices from `device` on; uneven in every way that the rules allow.
Replica randomReplica(std::mt19937 &rng, const Problem &problem, uint32_t device, uint32_t devices) {
  Id uses = problem.model->chain.size();
  uint32_t stages = pick(rng, 1, std::min(devices, 3u)), tp = pick(rng, 1, std::min(devices / stages, 4u));
  std::vector<Id> ends;
  for (int64_t cut : randomCuts(rng, uses, stages))
    ends.push_back(cut);
  ends.push_back(uses);
  Replica replica = pipeline(device, tp, ends, pick(rng, 1, 3), tp > 1 && rng() % 2);
  const char *variants[] = {"none", "selective", "full"};
  const BlockSummary &decoder = problem.model->kinds[1];
  for (Stage &s : replica.stages) {
    s.recompute = variants[rng() % 3];
    s.splitWeightGrad = rng() % 3 == 0;
    for (SegmentMap &map : s.maps)
      for (AxisUse &use : map.uses)
        if ((use.factor == "h" || use.factor == "i") && rng() % 2)
          use.cuts = randomCuts(rng, decoder.factors[indexOfName(decoder.factors, use.factor)].size, tp);
  }
  return replica;
}

Case randomCase(std::mt19937 &rng, unsigned number) {
  const char *models[] = {"tiny-llama.json", "tiny-qwen3.json", "tiny-gpt2.json", "tiny-llama-untied.json"};
  Case c;
  c.model = models[rng() % 4];
  c.name = "random plan " + std::to_string(number) + " of " + c.model;
  Problem problem = problemFor(c.model, 8, 1);
  c.solution.schedule = rng() % 4 ? "1f1b" : "gpipe";
  c.solution.sharding = rng() % 2 ? "optimizer" : "none";
  c.solution.microBatch = pick(rng, 1, 2);
  uint32_t used = 0;
  for (uint32_t wanted = pick(rng, 1, 3); wanted > 0 && used < 8; --wanted) {
    Replica replica = randomReplica(rng, problem, used, 8 - used);
    uint32_t size = replica.stages.size() * replica.stages[0].devices.count;
    if (used == 0 && size <= 4 && rng() % 3 == 0)
      replica = copies(replica, 2, size);
    used += size * replica.copies;
    c.solution.replicas.push_back(std::move(replica));
  }
  c.devices = used;
  return c;
}

} // namespace

TEST_CASE("random legal plans have the gradients and the SGD step of one rank") {
  RunSettings sgd;
  sgd.optimizer = OptimizerStep::Sgd;
  std::mt19937 rng(5);
  for (unsigned number = 0; number < 30; ++number)
    compare(randomCase(rng, number), sgd);
}

// A comparison that cannot fail proves nothing: known mistakes, each planted alone.
namespace {

constexpr double kVisible = 10 * kTolerance;

Difference faulty(const Solution &solution, const std::function<void(pb::Plan &, RunSettings &)> &plant) {
  RunSettings sgd;
  sgd.optimizer = OptimizerStep::Sgd;
  uint32_t devices = 0;
  for (const Replica &replica : solution.replicas)
    for (const Stage &s : replica.stages)
      devices += s.devices.count * replica.copies;
  pb::Plan plan = planFor(problemFor(llama, devices, globalBatchOf(solution)), solution);
  const PlanRun &one = oneRank(llama, globalBatchOf(solution), sgd);
  plant(plan, sgd);
  Result<PlanRun> run = runPlan(plan, sgd);
  if (!run)
    FAIL(run.error().message);
  return differenceOf(std::move(*run), one);
}

} // namespace

TEST_CASE("planted fault: all gradients four times too large") {
  Difference difference = faulty(plan({pipeline(0, 1, {4, 8}, 8)}), [](pb::Plan &, RunSettings &settings) {
    settings.believedTargets = [](uint32_t, int64_t targets) { return targets / 4; };
  });
  CHECK(difference.gradients.difference > kVisible);
  CHECK(difference.norms > kVisible);
}

TEST_CASE("planted fault: the mean of the replicas' means") {
  SyntheticBatches data(24, 8, 509);
  int64_t counts[2] = {0, 0};
  for (int64_t sample = 0; sample < 8; ++sample)
    for (int64_t position = 0; position < 24; ++position)
      counts[sample / 4] += data.label(1, sample, position) >= 0;
  REQUIRE(counts[0] != counts[1]);
  Difference difference = faulty(plan({copies(pipeline(0, 1, {8}, 4), 2, 1)}), [&](pb::Plan &, RunSettings &settings) {
    settings.believedTargets = [&](uint32_t rank, int64_t) { return 2 * counts[rank]; };
  });
  CHECK(difference.gradients.difference > kVisible);
}

TEST_CASE("planted fault: replicated tensors counted twice in the norm") {
  Difference difference = faulty(plan({pipeline(0, 2, {8}, 8)}), [](pb::Plan &plan, RunSettings &) {
    unsigned planted = 0;
    for (pb::Sync &sync : *plan.mutable_syncs())
      if (sync.silent_size() > 0) { // equal copies on both ranks: let each be a group of its own
        pb::GroupFamily &family = *plan.mutable_families(sync.family());
        *family.mutable_groups() = family.members();
        family.clear_members();
        sync.clear_silent();
        ++planted;
      }
    REQUIRE(planted > 0);
  });
  CHECK(difference.gradients.difference <= kTolerance); // only the norm is wrong
  CHECK(difference.norms > kVisible);
}

TEST_CASE("planted fault: one addend of a shared KV gradient dropped") {
  Difference difference = faulty(plan({pipeline(0, 4, {8}, 4)}), [](pb::Plan &plan, RunSettings &) {
    unsigned planted = 0;
    for (pb::Sync &sync : *plan.mutable_syncs())
      if (sync.silent_size() == 0 && groupRanks(plan.families(sync.family()), 0).size() > 1) {
        sync.add_silent(1);
        ++planted;
      }
    REQUIRE(planted > 0);
  });
  CHECK(difference.gradients.difference > kVisible);
}
