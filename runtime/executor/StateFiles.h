// Saving and restoring what executors hold, by all ranks of a plan together: checkpoints, weights, dumps for tests.
// Every rank writes the elements that it owns and reads those that it holds; files are of whole tensors, so that any
// plan of the same model can read them.
#ifndef PLAIT_RUNTIME_EXECUTOR_STATEFILES_H
#define PLAIT_RUNTIME_EXECUTOR_STATEFILES_H

#include "runtime/executor/Executor.h"

namespace plait {

/// Ends when every rank has called it.
Status barrier(Communicator &communicator, Communicator::Clock::time_point deadline);

struct StateFiles {
  const pb::Plan &plan;
  Executor &executor;
  Communicator &communicator;
  double deadlineSeconds = 120;

  /// Collective: `directory`/step-NNNNNNNN holds all of the committed step. Rank 0 publishes it.
  Status saveCheckpoint(const std::string &directory) const;
  /// Parameters, moments and step numbers of a checkpoint folder, or of the newest one in a directory of checkpoints.
  Status restoreCheckpoint(const std::string &path) const;
  /// Parameters alone, from a safetensors file or a folder of them; optimizer state stays as it is.
  Status loadWeights(const std::string &path) const;
  /// Collective: one f32 value per element in `folder`/tensors.safetensors.
  enum class Value { Parameter, Gradient };
  Status dump(const std::string &folder, Value value) const;

private:
  Communicator::Clock::time_point deadline() const;
};

} // namespace plait

#endif
