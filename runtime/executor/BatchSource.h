// Where an executor gets its micro-batches: a function of the step and the sample number, never of the plan.
#ifndef PLAIT_RUNTIME_EXECUTOR_BATCHSOURCE_H
#define PLAIT_RUNTIME_EXECUTOR_BATCHSOURCE_H

#include "runtime/plan/Result.h"
#include <cstdint>

namespace plait {

class BatchSource {
public:
  virtual ~BatchSource() = default;
  /// Samples [firstSample, firstSample + samples) of the global batch of a 1-based step. Element (position, sample) goes
  /// to [position * samples + sample]; a label below 0 is no target. Either pointer may be null.
  virtual Status load(int64_t step, int64_t firstSample, int64_t samples, int32_t *tokens, int32_t *labels) = 0;
  /// Targets of the whole global batch of a 1-based step.
  virtual Result<int64_t> countTargets(int64_t step) = 0;
};

} // namespace plait

#endif
