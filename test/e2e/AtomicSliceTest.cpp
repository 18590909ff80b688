// The hand-written plans in which nothing is uniform: a rank lost inside the optimizer step, the step finished or redone
// by all, and bits equal to those of an undisturbed run.
#include "PlanRun.h"
#include "TestPlans.h"
#include "compiler/driver/Compile.h"
#include "runtime/reference/ReferenceWorld.h"
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

using namespace plait;
using namespace plait::test;

namespace {

constexpr int64_t kSteps = 3, kFailingStep = 2;

pb::Plan sliceNamed(const std::string &name) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  Result<Solution> solution = readSolution(*context, std::string(PLAIT_TEST_DATA) + "/plans/" + name);
  if (!solution)
    FAIL(solution.error().message);
  return planFor(problemFor("tiny-llama.json", 8, 8), *solution);
}

/// All ranks of a plan, driven step by step; a failure ends the epoch, the survivors go on in the next.
class Ranks {
public:
  Ranks(const pb::Plan &plan, uint32_t failingRank, pb::TaskKind failingTask)
      : plan(plan), data(plan.job().seq_len(), plan.job().global_batch(), plan.job().vocab_size()) {
    newWorld();
    for (uint32_t rank = 0; rank < plan.world_size(); ++rank) {
      backends.push_back(makeCpuBackend());
      Executor::Options options;
      options.data = &data;
      options.run.optimizer.weightDecay = 0.1;
      options.run.learningRate.peak = 1e-2;
      options.run.clipNorm = 1;
      options.run.deadlineSeconds = 60;
      options.beforeTask = [=, this](const pb::Task &task, size_t) -> Status {
        if (rank != failingRank || task.kind() != failingTask || executors[rank]->state().committedStep + 1 != kFailingStep || failed)
          return success();
        failed = true;
        return Error{ExitCode::Runtime, "lost"};
      };
      Result<std::unique_ptr<Executor>> executor = Executor::create(plan, rank, *backends[rank], *communicators[rank], options);
      if (!executor)
        FAIL(executor.error().message);
      executors.push_back(std::move(*executor));
      REQUIRE(executors.back()->initializeParameters());
    }
  }

  /// True if all ranks finished.
  bool all(const std::function<Status(Executor &)> &body) {
    std::atomic<bool> good = true;
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < executors.size(); ++rank)
      threads.emplace_back([&, rank] {
        if (Status s = body(*executors[rank]); !s) {
          good = false;
          communicators[rank]->abort(s.error().message);
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    return good;
  }

  bool step(int64_t number) {
    return all([&](Executor &executor) -> Status {
      Result<StepReport> report = executor.runStep(number);
      return report ? success() : Status(report.error());
    });
  }

  /// Finishes or redoes the first step that is not committed everywhere; true if it was finished.
  bool recover(int64_t number) {
    std::vector<ExecutorState> states;
    for (const auto &executor : executors)
      states.push_back(executor->state());
    std::optional<Vote> vote = recoveryVote(states, number);
    newWorld();
    for (uint32_t rank = 0; rank < executors.size(); ++rank)
      REQUIRE(executors[rank]->adopt(*communicators[rank]));
    CHECK(all([&](Executor &executor) -> Status {
      Result<StepReport> report = vote ? executor.finishStep(number, *vote) : executor.runStep(number);
      return report ? success() : Status(report.error());
    }));
    return vote.has_value();
  }

  Tensors parameters() const {
    Tensors tensors;
    for (uint32_t rank = 0; rank < executors.size(); ++rank)
      executors[rank]->forEachOwned([&](const OwnedView &view) {
        std::vector<float> &own = tensors[std::to_string(rank)];
        own.insert(own.end(), view.parameter, view.parameter + view.span.count);
        own.insert(own.end(), view.moment1, view.moment1 + view.span.count);
        own.insert(own.end(), view.moment2, view.moment2 + view.span.count);
      });
    return tensors;
  }

  bool failed = false;

private:
  void newWorld() {
    communicators.clear();
    world = std::make_unique<ReferenceWorld>(plan.world_size());
    for (uint32_t rank = 0; rank < plan.world_size(); ++rank)
      communicators.push_back(world->communicator(rank));
  }

  const pb::Plan &plan;
  SyntheticBatches data;
  std::unique_ptr<ReferenceWorld> world;
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<std::unique_ptr<Backend>> backends;
  std::vector<std::unique_ptr<Executor>> executors;
};

} // namespace

TEST_CASE("a rank lost inside the optimizer step of a plan in which nothing is uniform") {
  for (const char *name : {"slice-a.mlir", "slice-b.mlir", "slice-c.mlir"}) {
    pb::Plan plan = sliceNamed(name);
    Ranks undisturbed(plan, ~0u, pb::TASK_NONE);
    for (int64_t step = 1; step <= kSteps; ++step)
      REQUIRE(undisturbed.step(step));
    Tensors expected = undisturbed.parameters();
    for (uint32_t rank : {0u, 4u, 6u})
      for (pb::TaskKind task : {pb::TASK_TRANSFER, pb::TASK_GRAD_SYNC, pb::TASK_VOTE, pb::TASK_APPLY, pb::TASK_PARAM_GATHER, pb::TASK_COMMIT}) {
        INFO(name << ", rank " << rank << ", " << pb::TaskKind_Name(task));
        Ranks ranks(plan, rank, task);
        REQUIRE(ranks.step(1));
        bool finished = true;
        if (!ranks.step(kFailingStep))
          finished = ranks.recover(kFailingStep);
        CHECK(ranks.failed);
        CHECK(finished == (task >= pb::TASK_APPLY)); // before the vote the step is redone, behind it carried out
        REQUIRE(ranks.step(kSteps));
        CHECK(ranks.parameters() == expected);
      }
  }
}
