// What a run may choose without a new plan: steps, optimizer settings, learning-rate schedule, seed, data, checkpoints.
#ifndef PLAIT_RUNTIME_EXECUTOR_RUNOPTIONS_H
#define PLAIT_RUNTIME_EXECUTOR_RUNOPTIONS_H

#include "runtime/backends/Backend.h"
#include <cstdint>
#include <string>

namespace plait {

/// Constant, or linear warm-up to `peak` followed by half a cosine down to `floor` at step `totalSteps`.
struct LearningRate {
  double peak = 1e-3, floor = 0;
  int64_t warmupSteps = 0;
  bool cosine = false;
  int64_t totalSteps = 0;
  /// Rate of a 1-based step. Computed without the platform's math library: equal on every rank.
  double at(int64_t step) const;
};

struct RunOptions {
  int64_t steps = 1;                 ///< number of the last step
  OptimizerStep optimizer;           ///< kind comes from the plan; learningRate, step and gradScale are set for each step
  LearningRate learningRate;
  double clipNorm = 0;               ///< maximum gradient norm; 0: no clipping
  uint64_t seed = 0;                 ///< initial weights
  std::string dataPath;              ///< token file
  int64_t ignoreToken = -1;          ///< token id that is no target; negative: none
  std::string checkpointDirectory;   ///< empty: no checkpoints
  int64_t checkpointEvery = 0;       ///< steps between checkpoints; 0: after the last step only
  std::string resumeFrom;            ///< checkpoint to continue from, or a directory of them
  std::string weightsFrom;           ///< safetensors with initial weights; both empty: drawn from the seed
  bool referenceBackend = false;
  std::string dumpDirectory;         ///< gradients of the first step and final parameters, for tests; empty: none
  std::string tracePath;             ///< traces go to <tracePath>.rank<r>.json; empty: no trace
  double deadlineSeconds = 120;      ///< of every communication
};

} // namespace plait

#endif
