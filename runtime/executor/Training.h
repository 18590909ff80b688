// A training run of one rank: build the executor, load or draw parameters, run steps, save checkpoints.
#ifndef PLAIT_RUNTIME_EXECUTOR_TRAINING_H
#define PLAIT_RUNTIME_EXECUTOR_TRAINING_H

#include "runtime/executor/Executor.h"

namespace plait {

struct TrainingHooks {
  /// After each committed step, with the wall time that it took.
  std::function<void(const StepReport &, double seconds)> onStep;
  /// Before each task of the 1-based step.
  std::function<void(int64_t step, const pb::Task &)> beforeTask;
};

/// Runs steps up to options.steps. All ranks call it with equal options. On an error the caller ends the epoch
/// (Communicator::abort), since the other ranks may be waiting for this one.
Status train(const pb::Plan &plan, uint32_t rank, Backend &backend, Communicator &communicator, BatchSource &data,
             const RunOptions &options, const TrainingHooks &hooks);

/// "run forward, micro-batch 3": what a task does, for messages.
std::string describe(const pb::Plan &plan, const pb::Role &role, const pb::Task &task);

} // namespace plait

#endif
