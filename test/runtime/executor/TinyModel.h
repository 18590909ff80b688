// A model small enough to differentiate by hand: embedding, linear, tanh, linear, cross entropy; its data; and its
// training in double precision on whole tensors, the oracle of the executor's tests.
#ifndef PLAIT_TEST_RUNTIME_EXECUTOR_TINYMODEL_H
#define PLAIT_TEST_RUNTIME_EXECUTOR_TINYMODEL_H

#include "runtime/executor/BatchSource.h"
#include "runtime/executor/RunOptions.h"
#include <array>
#include <vector>

namespace plait::test {

struct TinyShape {
  int64_t seq = 4, vocab = 7, width = 6, hidden = 8;
  int64_t microBatch = 2, globalBatch = 8; ///< sequences
};

/// Logical tensors: embedding [vocab, width], up [hidden, width], down [vocab, hidden].
enum TinyTensor { Embedding = 0, Up = 1, Down = 2, TinyTensors = 3 };
std::vector<int64_t> shapeOf(const TinyShape &shape, int tensor);
using Tensors = std::array<std::vector<double>, TinyTensors>;

/// Ids and labels from a fixed hash of (step, sample, position); about one label in seven is no target.
class TinyData : public BatchSource {
public:
  explicit TinyData(const TinyShape &shape) : shape(shape) {}
  Status load(int64_t step, int64_t firstSample, int64_t samples, int32_t *tokens, int32_t *labels) override;
  Result<int64_t> countTargets(int64_t step) override;
  int32_t token(int64_t step, int64_t sample, int64_t position) const;
  int32_t label(int64_t step, int64_t sample, int64_t position) const;

private:
  TinyShape shape;
};

struct TinyStep {
  double loss = 0, gradNorm = 0;
  Tensors gradients;
};

/// Loss and gradients of one step at the given parameters.
TinyStep differentiate(const TinyShape &shape, const Tensors &parameters, int64_t step);

/// Parameters with the optimizer's moments.
struct TinyTraining {
  Tensors parameters, moment1, moment2;
  /// One optimizer step; `decays` says which tensors decay.
  TinyStep step(const TinyShape &shape, int64_t step, const RunOptions &options,
                const std::array<bool, TinyTensors> &decays);
};

/// The executor's initial values: normal with deviation 0.5, element by element.
Tensors initialTensors(const TinyShape &shape, uint64_t seed);

} // namespace plait::test

#endif
