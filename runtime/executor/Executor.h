// Executor: one rank of a plan. It allocates the arenas of its role, compiles the role's programs once, and then walks
// the task list of each step in list order; after construction a step allocates nothing.
//
// An optimizer step is atomic. The parameters change in APPLY and PARAM_GATHER only, and the reduced gradients stay until
// COMMIT. So after a failure a coordinator asks every survivor for its state(): if recoveryVote() finds that one of them
// saw the vote, every survivor takes part in finishStep() with it, on a new communicator; else all run the step again.
#ifndef PLAIT_RUNTIME_EXECUTOR_EXECUTOR_H
#define PLAIT_RUNTIME_EXECUTOR_EXECUTOR_H

#include "runtime/executor/BatchSource.h"
#include "runtime/executor/GradientSync.h"
#include "runtime/executor/Program.h"
#include "runtime/executor/RunOptions.h"
#include "runtime/plan/TaskNames.h"
#include <functional>
#include <optional>

namespace plait {

/// What all ranks agreed on in VOTE.
struct Vote {
  bool passed = false; ///< loss and gradients are finite; else the step changes no parameter
  double gradNorm = 0; ///< each logical element counted once
  double loss = 0;     ///< mean over the targets of the global batch
};

struct StepReport {
  int64_t step = 0;
  Vote vote;
  double learningRate = 0;
};

/// How far a rank is: 1-based steps, 0 before the first.
struct ExecutorState {
  int64_t votedStep = 0, appliedStep = 0, committedStep = 0;
  int64_t updates = 0; ///< optimizer updates made, steps skipped by the vote excluded
  Vote vote;           ///< of votedStep
};
/// The vote that survivors of a failure in `step` have to carry out; nothing if the step is to be run again.
std::optional<Vote> recoveryVote(std::span<const ExecutorState> survivors, int64_t step);

/// One run of elements that a rank updates, with all that it keeps for them.
struct OwnedView {
  Span span;
  bool counted = true; ///< false where another rank stands for equal copies
  const float *gradient = nullptr;
  const float *parameter = nullptr; ///< full precision
  float *moment1 = nullptr, *moment2 = nullptr; ///< null if the optimizer has none
};

class Executor {
public:
  struct Options {
    RunOptions run;
    BatchSource *data = nullptr;
    Trace *trace = nullptr; ///< null: no trace
    /// Called before every task with its index in the schedule; an error ends the step with it.
    std::function<Status(const pb::Task &, size_t)> beforeTask;
  };
  /// One rank of a plan that passed verifyPlan. plan, backend, communicator and options' pointers outlive the executor.
  static Result<std::unique_ptr<Executor>> create(const pb::Plan &plan, uint32_t rank, Backend &backend,
                                                  Communicator &communicator, Options options);

  /// Full-precision values of a part of a logical tensor.
  using ElementSource = std::function<Status(const Span &, std::span<float>)>;
  /// Sets every parameter (and master copy) of this rank; optimizer state is left alone.
  Status setParameters(const ElementSource &source);
  /// setParameters from the tensors' Init and the seed.
  Status initializeParameters();
  /// Continues after `step`: the next step is step + 1.
  void resumeAfter(int64_t step, int64_t updates);

  /// Runs a step, which must be the one after the last committed.
  Result<StepReport> runStep(int64_t step);
  /// Carries out a step whose vote is known, from the gradients that are kept: APPLY unless done, PARAM_GATHER, COMMIT.
  Result<StepReport> finishStep(int64_t step, const Vote &vote);
  /// Uses another communicator (a new epoch) from now on.
  Status adopt(Communicator &newCommunicator);

  const ExecutorState &state() const { return progress; }
  const RankPlace &place() const { return rankPlace; }
  /// Everything that this rank updates, in arena order.
  void forEachOwned(const std::function<void(const OwnedView &)> &visit) const;
  /// Parameters as stored (PARAM arena) and the reduced gradients (GRAD arena, same element offsets).
  const std::byte *parameters() const { return arenas.base(pb::SPACE_PARAM); }
  const float *gradients() const { return reinterpret_cast<const float *>(arenas.base(pb::SPACE_GRAD)); }

private:
  Executor(const pb::Plan &plan, RankPlace place, Backend &backend, Communicator &communicator, Options options,
           Arenas arenas);
  Status prepare();
  Status placeAmongCopies();
  Status bindTransfers();
  Result<P2pCall> bindTransfer(const pb::Task &task, const pb::P2p &p2p) const;
  Status runTasks(int64_t step, bool afterVoteOnly);
  Status runTask(const pb::Task &task, size_t index, int64_t step);
  Status zero(int64_t step);
  Status load(const pb::Task &task, int64_t step);
  Status vote(int64_t step);
  void apply(int64_t step);
  void writeMaster(uint64_t local, std::span<const float> values);
  StepReport report(int64_t step) const { return {step, progress.vote, options.run.learningRate.at(step)}; }
  Communicator::Clock::time_point deadline() const;

  const pb::Plan &plan;
  RankPlace rankPlace;
  Backend &backend;
  Communicator *communicator;
  Options options;
  Arenas arenas;
  DType paramType;
  const pb::Schedule &schedule;
  std::unique_ptr<ProgramRunner> programs;
  std::optional<GradientSync> sync;
  std::vector<std::vector<P2pCall>> transfers; ///< by task
  CommGroup world;
  uint32_t firstMicrobatch = 0; ///< of the global batch: what a task's micro-batch number is added to
  int64_t targets = 0; ///< of the current step's global batch
  ExecutorState progress;
};

} // namespace plait

#endif
