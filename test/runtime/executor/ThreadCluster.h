// Runs a plan with one thread per rank over shared memory, and puts the ranks' parts together into logical tensors.
#ifndef PLAIT_TEST_RUNTIME_EXECUTOR_THREADCLUSTER_H
#define PLAIT_TEST_RUNTIME_EXECUTOR_THREADCLUSTER_H

#include "TinyPlan.h"
#include "runtime/comm/shm/ShmCommunicator.h"
#include "runtime/executor/Executor.h"
#include <functional>
#include <memory>
#include <vector>

namespace plait::test {

class ThreadCluster {
public:
  /// Called on the rank's thread before each task; see Executor::Options.
  using Hook = std::function<Status(ThreadCluster &, uint32_t rank, const pb::Task &, size_t index)>;

  ThreadCluster(const TinyShape &shape, pb::Plan plan, RunOptions options, Hook hook = {});
  ThreadCluster(const ThreadCluster &) = delete;

  /// Calls `work(rank)` on every rank's thread; a failure of one ends the epoch for all, as a launcher would.
  std::vector<Status> onEveryRank(const std::function<Status(uint32_t)> &work);
  /// Builds and initialises the executors; throws std::runtime_error with the first error.
  void start();
  /// Runs one step on all ranks; throws std::runtime_error with the first error.
  StepReport step(int64_t step);
  /// New communicators for all ranks.
  void newEpoch();

  uint32_t worldSize() const { return plan.world_size(); }
  Executor &executor(uint32_t rank) { return *executors[rank]; }
  Communicator &communicator(uint32_t rank) { return *communicators[rank]; }
  std::vector<ExecutorState> states() const;

  /// Values of the elements that each rank counts; throws unless every logical element is counted exactly once.
  Tensors collect(const std::function<float(const OwnedView &, uint64_t)> &value);
  Tensors gradients();
  Tensors parameters();
  /// Everything that a rank stores: parameters, master copies and moments, for comparisons bit by bit.
  std::vector<float> memory(uint32_t rank);
  /// Parameters as one rank stores them, widened to f32, with their places in logical tensors.
  std::vector<std::pair<Span, std::vector<float>>> stored(uint32_t rank);

private:
  TinyShape shape;
  pb::Plan plan;
  RunOptions options;
  Hook hook;
  TinyData data;
  uint32_t epoch = 0;
  std::vector<std::unique_ptr<Backend>> backends;
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<std::unique_ptr<Executor>> executors;
};

/// Largest difference relative to the largest magnitude of `expected`.
double relativeDifference(const std::vector<double> &actual, const std::vector<double> &expected);

} // namespace plait::test

#endif
