// Plans of the tiny model against its training in double precision: gradients of every logical tensor, clip norm, loss
// and parameters must not depend on the plan.
#include "ThreadCluster.h"
#include "runtime/plan/verify/Verify.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace plait;
using namespace plait::test;

namespace {

constexpr TinyShape kShape;

RunOptions optionsFor(const TinyLayout &layout) {
  RunOptions options;
  options.seed = 42;
  options.optimizer.kind = layout.optimizer == "sgd" ? OptimizerStep::Sgd : OptimizerStep::AdamW;
  options.optimizer.weightDecay = 0.1;
  options.learningRate.peak = layout.optimizer == "sgd" ? 0.5 : 0.02;
  options.learningRate.warmupSteps = 2;
  options.clipNorm = 0.2; // below the first steps' norms, so that a wrong norm shows
  options.deadlineSeconds = 20;
  return options;
}

std::vector<TinyLayout> layouts() {
  std::vector<TinyLayout> all = {
      {"one rank", 1, 1, {4}},
      {"one rank, sharded", 1, 1, {4}, true},
      {"tp2", 2, 1, {4}},
      {"tp2, sharded", 2, 1, {4}, true},
      {"tp4, column pieces", 4, 1, {4}, true, true},
      {"pp2", 1, 2, {4}},
      {"dp2", 1, 1, {2, 2}},
      {"dp2, sharded, unlike shares", 1, 1, {3, 1}, true},
      {"dp3, sharded, column pieces", 1, 1, {2, 1, 1}, true, true},
      {"tp2 pp2 dp2", 2, 2, {1, 3}},
      {"tp2 pp2 dp2, sharded", 2, 2, {3, 1}, true, true},
      {.name = "tp2 pp2, two copies of one role", .tp = 2, .pp = 2, .microbatches = {2, 2}, .sharded = true,
       .mergedCopies = true},
  };
  const size_t count = all.size();
  for (size_t i = 0; i < count; ++i) {
    TinyLayout sgd = all[i];
    sgd.name += ", sgd";
    sgd.optimizer = "sgd";
    all.push_back(sgd);
  }
  return all;
}

} // namespace

TEST_CASE("training does not depend on the plan") {
  for (const TinyLayout &layout : layouts()) {
    INFO(layout.name);
    const RunOptions options = optionsFor(layout);
    TinyTraining oracle;
    oracle.parameters = initialTensors(kShape, options.seed);
    ThreadCluster cluster(kShape, tinyPlan(kShape, layout), options);
    cluster.start();
    for (int64_t step = 1; step <= 3; ++step) {
      const StepReport report = cluster.step(step);
      const TinyStep expected = oracle.step(kShape, step, options, kTinyDecays);
      REQUIRE(report.vote.passed);
      CHECK(expected.gradNorm > options.clipNorm);
      CHECK(report.vote.loss == Approx(expected.loss).epsilon(2e-6));
      CHECK(report.vote.gradNorm == Approx(expected.gradNorm).epsilon(5e-6));
      const Tensors gradients = cluster.gradients(), parameters = cluster.parameters();
      for (int t = 0; t < TinyTensors; ++t) {
        INFO("step " << step << ", tensor " << t);
        CHECK(relativeDifference(gradients[t], expected.gradients[t]) < 1e-5);
        CHECK(relativeDifference(parameters[t], oracle.parameters[t]) < 1e-5);
      }
    }
  }
}

TEST_CASE("the plans of these tests are what the verifier accepts") {
  for (const TinyLayout &layout : layouts()) {
    INFO(layout.name);
    const Status verified = verify(tinyPlan(kShape, layout));
    CHECK((verified ? std::string() : verified.error().message) == "");
  }
}

TEST_CASE("every holder of a parameter stores equal bits after a step") {
  for (bool sharded : {false, true})
    for (DType type : {DType::F32, DType::BF16}) {
      const TinyLayout layout{"", 2, 1, {1, 3}, sharded, sharded, type};
      ThreadCluster cluster(kShape, tinyPlan(kShape, layout), optionsFor(layout));
      cluster.start();
      cluster.step(1);
      for (uint32_t coordinate = 0; coordinate < layout.tp; ++coordinate) {
        const auto first = cluster.stored(coordinate), second = cluster.stored(coordinate + layout.tp);
        REQUIRE(first.size() == second.size());
        for (size_t i = 0; i < first.size(); ++i) {
          CHECK(first[i].first == second[i].first);
          CHECK(first[i].second == second[i].second);
        }
      }
    }
}

TEST_CASE("bf16 parameters follow an f32 master copy") {
  for (bool sharded : {false, true}) {
    const TinyLayout layout{"", 1, 1, {3, 1}, sharded, false, DType::BF16};
    RunOptions options = optionsFor(layout);
    options.learningRate = {.peak = 1e-4}; // many updates are below half a bf16 step: without a master they are lost
    ThreadCluster cluster(kShape, tinyPlan(kShape, layout), options);
    cluster.start();
    const Tensors start = initialTensors(kShape, options.seed);
    CHECK(cluster.parameters() == start); // the master holds the unrounded initial values
    for (int64_t step = 1; step <= 10; ++step)
      cluster.step(step);
    const Tensors masters = cluster.parameters();
    for (int t = 0; t < TinyTensors; ++t) {
      int moved = 0;
      for (size_t i = 0; i < masters[t].size(); ++i)
        moved += std::abs(masters[t][i] - start[t][i]) > 1e-4;
      CHECK(moved > int(masters[t].size() / 2));
    }
    for (uint32_t rank = 0; rank < cluster.worldSize(); ++rank)
      for (const auto &[span, values] : cluster.stored(rank))
        for (uint64_t i = 0; i < span.count; ++i)
          CHECK(std::abs(values[i] - masters[span.tensor][span.logical + i]) <=
                std::abs(masters[span.tensor][span.logical + i]) / 256); // half a unit of 8 significant bits
  }
}

TEST_CASE("a step with a value that is not finite changes nothing and the next one goes on") {
  const TinyLayout layout{"", 1, 1, {2, 2}, true};
  bool poison = false;
  auto hook = [&](ThreadCluster &cluster, uint32_t rank, const pb::Task &task, size_t) {
    if (poison && rank == 1 && task.kind() == pb::TASK_GRAD_SYNC && task.sync() == 0)
      const_cast<float *>(cluster.executor(rank).gradients())[0] = INFINITY;
    return success();
  };
  ThreadCluster cluster(kShape, tinyPlan(kShape, layout), optionsFor(layout), hook);
  cluster.start();
  cluster.step(1);
  const std::vector<float> before = cluster.memory(0);
  // Not a parameter of the poisoned sync is owned by every rank; all must skip.
  poison = true;
  const StepReport skipped = cluster.step(2);
  poison = false;
  CHECK_FALSE(skipped.vote.passed);
  CHECK(cluster.memory(0) == before);
  CHECK(cluster.executor(0).state().committedStep == 2);
  CHECK(cluster.executor(0).state().updates == 1);
  CHECK(cluster.step(3).vote.passed);
  CHECK(cluster.executor(0).state().updates == 2);
}

TEST_CASE("plans that an executor cannot run are refused by name") {
  const TinyLayout layout{"", 2, 1, {4}};
  auto messageOf = [&](const std::function<void(pb::Plan &)> &change, RunOptions options) -> std::string {
    pb::Plan plan = tinyPlan(kShape, layout);
    change(plan);
    ThreadCluster cluster(kShape, plan, options);
    try {
      cluster.start();
    } catch (const std::runtime_error &error) {
      return error.what();
    }
    return "";
  };
  const RunOptions options = optionsFor(layout);
  CHECK(messageOf([](pb::Plan &) {}, options) == "");
  CHECK(messageOf([](pb::Plan &plan) { plan.mutable_syncs(0)->set_elements(1); }, options) ==
        "sync 'embedding' of role 'stage 0 of replica 0': its pieces have 42 elements, the sync has 1");
  CHECK(messageOf([](pb::Plan &plan) { plan.mutable_syncs(0)->set_sharded(true); }, options) ==
        "sync 'embedding' of role 'stage 0 of replica 0': 0 cuts for 2 members, expected 3");
  CHECK(messageOf([](pb::Plan &plan) { plan.mutable_roles(0)->set_space_bytes(pb::SPACE_OPTIMIZER, 8); }, options) ==
        "sync 'embedding': its optimizer state of 336 bytes at 0 does not fit the OPTIMIZER space of 8");
  CHECK(messageOf([](pb::Plan &plan) { plan.mutable_roles(0)->set_space_bytes(pb::SPACE_FRAME, 8); }, options) ==
        "role 'stage 0 of replica 0': its frames need 6144 bytes, its FRAME space has 8");
  CHECK(messageOf([](pb::Plan &plan) { plan.mutable_job()->mutable_precision()->set_param(pb::DTYPE_F16); }, options) ==
        "parameters are f16, the executor knows f32 and bf16");
  CHECK(messageOf([](pb::Plan &plan) { plan.mutable_job()->mutable_precision()->set_reduce(pb::DTYPE_BF16); }, options) ==
        "the plan wants reduced gradients in bf16, the executor keeps them in f32");
  CHECK(messageOf([](pb::Plan &plan) { plan.mutable_job()->set_optimizer("sgd"); }, options) ==
        "the run asks for adamw, but the plan was made for sgd and has no room for moments; run with sgd or compile the "
        "plan for adamw");
  CHECK(messageOf([](pb::Plan &plan) {
          plan.mutable_roles(0)->set_microbatches_per_copy(1);
          plan.mutable_roles(0)->set_copy_family(3);
          plan.add_families()->mutable_members()->add_listed(1);
        }, options) == "role 'stage 0 of replica 0': rank 0 is in no group of its copies' family ''");
  const std::string kernel = messageOf(
      [](pb::Plan &plan) { plan.mutable_routines(0)->mutable_instrs(1)->mutable_launch()->clear_ints(); }, options);
  CHECK(kernel.find("routine 'front.forward', instruction 1 (up): gemm: ") == 0);
}
