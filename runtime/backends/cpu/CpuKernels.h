// Kernels of the cpu backend. Each function compiles a checked launch: shapes, tables and buffers are settled here, and
// run() only computes. One thread; a compiled launch belongs to the thread that runs it.
#ifndef PLAIT_RUNTIME_BACKENDS_CPU_CPUKERNELS_H
#define PLAIT_RUNTIME_BACKENDS_CPU_CPUKERNELS_H

#include "runtime/backends/LaunchCheck.h"

namespace plait::cpu {

using LaunchPtr = std::unique_ptr<CompiledLaunch>;

/// oneDNN runs on OpenMP, which would start a thread for each core; the setting belongs to the calling thread.
void useOneThread();

/// A compiled launch that calls `function(data)`.
template <typename Function> LaunchPtr makeLaunch(Function function) {
  struct FunctionLaunch : CompiledLaunch {
    explicit FunctionLaunch(Function function) : function(std::move(function)) {}
    void run(void *const *data) override {
      useOneThread();
      function(data);
    }
    Function function;
  };
  return std::make_unique<FunctionLaunch>(std::move(function));
}

LaunchPtr makeGemm(const LaunchDesc &desc);
LaunchPtr makeBiasGrad(const LaunchDesc &desc);
LaunchPtr makeRmsNorm(const LaunchDesc &desc);
LaunchPtr makeRmsNormGrad(const LaunchDesc &desc);
LaunchPtr makeRmsNormGradWeight(const LaunchDesc &desc);
LaunchPtr makeLayerNorm(const LaunchDesc &desc);
LaunchPtr makeLayerNormGrad(const LaunchDesc &desc);
LaunchPtr makeLayerNormGradWeight(const LaunchDesc &desc);
LaunchPtr makeRope(const LaunchDesc &desc);
LaunchPtr makeAttention(const LaunchDesc &desc);
LaunchPtr makeAttentionGrad(const LaunchDesc &desc);
LaunchPtr makeEmbedding(const LaunchDesc &desc);
LaunchPtr makeEmbeddingGrad(const LaunchDesc &desc);
LaunchPtr makePositionEmbedding(const LaunchDesc &desc);
LaunchPtr makePositionEmbeddingGrad(const LaunchDesc &desc);
LaunchPtr makePointwise(const LaunchDesc &desc);
LaunchPtr makeRowMax(const LaunchDesc &desc);
LaunchPtr makeRowSumExp(const LaunchDesc &desc);
LaunchPtr makeRowPick(const LaunchDesc &desc);
LaunchPtr makeCrossEntropy(const LaunchDesc &desc);
LaunchPtr makeCrossEntropyGrad(const LaunchDesc &desc);

/// Backend::sumOfSquares and Backend::optimizerUpdate.
double sumOfSquares(const float *data, uint64_t elements);
void optimizerUpdate(const OptimizerStep &step, bool decay, uint64_t elements, const float *grad, float *master,
                     float *moment1, float *moment2, void *param, DType paramType);

} // namespace plait::cpu

#endif
