// A failure at any task of a step, on any rank: after recovery the run is bit-equal to an undisturbed one.
#include "ThreadCluster.h"
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

using namespace plait;
using namespace plait::test;

namespace {

constexpr TinyShape kShape{.globalBatch = 4};
constexpr int64_t kSteps = 4, kFailingStep = 2;

RunOptions runOptions() {
  RunOptions options;
  options.seed = 7;
  options.learningRate.peak = 0.02;
  options.clipNorm = 0.5;
  options.deadlineSeconds = 20;
  return options;
}

struct Failure {
  uint32_t rank = 0;
  size_t task = 0;
};

/// What a coordinator does: asks the survivors how far they are, and finishes or repeats the first step that is not
/// committed everywhere. Returns that step; `redone` says whether it was repeated.
int64_t recover(ThreadCluster &cluster, bool &redone) {
  const std::vector<ExecutorState> states = cluster.states();
  int64_t step = states[0].committedStep;
  for (const ExecutorState &state : states)
    step = std::min(step, state.committedStep);
  ++step;
  const std::optional<Vote> vote = recoveryVote(states, step);
  redone = !vote;
  cluster.newEpoch();
  for (const Status &status : cluster.onEveryRank([&](uint32_t rank) -> Status {
         Executor &executor = cluster.executor(rank);
         Result<StepReport> report = vote ? executor.finishStep(step, *vote) : executor.runStep(step);
         return report ? success() : Status(report.error());
       }))
    if (!status)
      throw std::runtime_error(status.error().message);
  return step;
}

/// Memory of all ranks after kSteps steps; the failure happens once, in step kFailingStep.
std::vector<std::vector<float>> run(const TinyLayout &layout, const Failure *failure, bool &redone) {
  bool failed = false;
  auto hook = [&](ThreadCluster &cluster, uint32_t rank, const pb::Task &, size_t index) -> Status {
    if (!failure || failed || rank != failure->rank || index != failure->task ||
        cluster.executor(rank).state().committedStep + 1 != kFailingStep)
      return success();
    failed = true;
    return Error{ExitCode::Runtime, "lost"};
  };
  ThreadCluster cluster(kShape, tinyPlan(kShape, layout), runOptions(), hook);
  cluster.start();
  for (int64_t step = 1; step <= kSteps;) {
    bool lost = false;
    try {
      cluster.step(step);
    } catch (const std::runtime_error &) {
      lost = true;
    }
    step = 1 + (lost ? recover(cluster, redone) : step);
  }
  REQUIRE(failed == (failure != nullptr));
  std::vector<std::vector<float>> memory;
  for (uint32_t rank = 0; rank < cluster.worldSize(); ++rank)
    memory.push_back(cluster.memory(rank));
  return memory;
}

} // namespace

TEST_CASE("a rank lost before any task leaves a run that ends with equal bits") {
  for (const TinyLayout &layout : {TinyLayout{"dp2", 1, 1, {1, 1}}, TinyLayout{"dp2, sharded", 1, 1, {1, 1}, true, true},
                                   TinyLayout{"tp2 pp2, sharded, bf16", 2, 2, {2}, true, false, DType::BF16}}) {
    INFO(layout.name);
    bool redone = false;
    const auto undisturbed = run(layout, nullptr, redone);
    const pb::Plan plan = tinyPlan(kShape, layout);
    for (uint32_t rank = 0; rank < layout.worldSize(); ++rank) {
      const RankPlace place = *RankPlace::find(plan, rank);
      const pb::Schedule &schedule = plan.schedules(int(place.role().schedule()));
      for (int task = 0; task < schedule.tasks_size(); ++task) {
        const pb::TaskKind kind = schedule.tasks(task).kind();
        INFO("rank " << rank << ", task " << task << " " << pb::TaskKind_Name(kind));
        const Failure failure{rank, size_t(task)};
        const auto recovered = run(layout, &failure, redone);
        CHECK(recovered == undisturbed);
        // Before the vote the step is repeated; behind it, it is carried out.
        CHECK(redone == (kind < pb::TASK_APPLY));
      }
    }
  }
}

TEST_CASE("a rank that did not see the vote carries it out") {
  const TinyLayout layout{"", 1, 1, {1, 1}, true};
  bool redone = false;
  const auto undisturbed = run(layout, nullptr, redone);
  std::optional<Vote> vote;
  ThreadCluster reference(kShape, tinyPlan(kShape, layout), runOptions());
  reference.start();
  for (int64_t step = 1; step <= kFailingStep; ++step)
    vote = reference.step(step).vote;
  bool armed = false;
  std::atomic<uint32_t> arrived = 0;
  auto hook = [&](ThreadCluster &cluster, uint32_t, const pb::Task &task, size_t) -> Status {
    if (!armed || task.kind() != pb::TASK_VOTE)
      return success();
    // If any rank saw the vote, all had synchronised their gradients.
    ++arrived;
    for (int wait = 0; arrived < cluster.worldSize() && wait < 20000; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Error{ExitCode::Runtime, "lost"};
  };
  ThreadCluster cluster(kShape, tinyPlan(kShape, layout), runOptions(), hook);
  cluster.start();
  cluster.step(1);
  armed = true;
  CHECK_THROWS(cluster.step(kFailingStep));
  armed = false;
  cluster.newEpoch();
  for (const Status &status : cluster.onEveryRank([&](uint32_t rank) -> Status {
         Result<StepReport> report = cluster.executor(rank).finishStep(kFailingStep, *vote);
         return report ? success() : Status(report.error());
       }))
    CHECK(bool(status));
  for (int64_t step = kFailingStep + 1; step <= kSteps; ++step)
    cluster.step(step);
  for (uint32_t rank = 0; rank < 2; ++rank)
    CHECK(cluster.memory(rank) == undisturbed[rank]);
}

TEST_CASE("survivors carry out a step if one of them saw the vote") {
  ExecutorState before, voted;
  before.votedStep = 4;
  before.vote = {true, 9, 9};
  voted.votedStep = 5;
  voted.vote = {true, 1.5, 0.25};
  CHECK_FALSE(recoveryVote(std::vector{before, before}, 5));
  const std::optional<Vote> vote = recoveryVote(std::vector{before, voted}, 5);
  REQUIRE(vote);
  CHECK(vote->passed);
  CHECK(vote->gradNorm == 1.5);
  CHECK(vote->loss == 0.25);
}

TEST_CASE("a step out of order is refused") {
  ThreadCluster cluster(kShape, tinyPlan(kShape, {"", 1, 1, {2}}), runOptions());
  cluster.start();
  cluster.step(1);
  const Result<StepReport> refused = cluster.executor(0).runStep(3);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "step 3 cannot be run after committed step 1 and applied step 1");
  CHECK(cluster.step(2).vote.passed);
}
