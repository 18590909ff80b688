// Runs a plan with one thread a rank on the strict reference communicator, and collects what the ranks own as whole
// logical tensors, so that plans can be compared with each other.
#ifndef PLAIT_TEST_E2E_PLANRUN_H
#define PLAIT_TEST_E2E_PLANRUN_H

#include "runtime/executor/Executor.h"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace plait::test {

/// Pseudo-random tokens and next-token labels; about one label in five is no target, so that micro-batches and replicas
/// have unlike numbers of targets.
class SyntheticBatches final : public BatchSource {
public:
  SyntheticBatches(int64_t sequence, int64_t globalBatch, int64_t vocabulary)
      : sequence(sequence), globalBatch(globalBatch), vocabulary(vocabulary) {}
  Status load(int64_t step, int64_t firstSample, int64_t samples, int32_t *tokens, int32_t *labels) override;
  Result<int64_t> countTargets(int64_t step) override;
  int32_t token(int64_t step, int64_t sample, int64_t position) const;
  int32_t label(int64_t step, int64_t sample, int64_t position) const;

private:
  int64_t sequence, globalBatch, vocabulary;
};

using Tensors = std::map<std::string, std::vector<float>>;

struct PlanRun {
  Tensors firstGradients;       ///< of step 1, before clipping
  Tensors parameters;           ///< after the last step
  std::vector<double> losses, gradNorms;
};

struct RunSettings {
  int64_t steps = 1;
  OptimizerStep::Kind optimizer = OptimizerStep::AdamW;
  double learningRate = 1e-2, clipNorm = 1, weightDecay = 0.1;
  bool referenceBackend = true;
  /// Targets that a rank believes in, from the true number; for planted faults.
  std::function<int64_t(uint32_t rank, int64_t targets)> believedTargets;
};

/// Error: that of the first rank that failed.
Result<PlanRun> runPlan(const pb::Plan &plan, const RunSettings &settings);

/// Largest |a - b| over the tensor, divided by the largest |b| (of b's tensor).
double relativeDifference(const std::vector<float> &a, const std::vector<float> &b);
/// The worst tensor of two runs.
struct Worst {
  double difference = 0;
  std::string tensor;
};
Worst worstDifference(const Tensors &a, const Tensors &b);

} // namespace plait::test

#endif
