#include "runtime/executor/RunOptions.h"
#include "runtime/executor/InitialWeights.h"
#include <algorithm>

namespace plait {

double LearningRate::at(int64_t step) const {
  if (step <= warmupSteps)
    return peak * double(step) / double(warmupSteps);
  if (!cosine)
    return peak;
  const int64_t span = std::max<int64_t>(1, totalSteps - warmupSteps);
  const double progress = std::min(1.0, double(step - warmupSteps) / double(span));
  return floor + (peak - floor) * 0.5 * (1 + portableCosSin(progress / 2).cos);
}

} // namespace plait
