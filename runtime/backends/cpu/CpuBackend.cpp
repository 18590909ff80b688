#include "runtime/backends/HostBackend.h"
#include "runtime/backends/cpu/CpuKernels.h"
#include <array>
#include <exception>
#include <omp.h>

namespace plait {

void cpu::useOneThread() {
  thread_local const bool done = (omp_set_num_threads(1), true);
  (void)done;
}

namespace {

using KernelMaker = cpu::LaunchPtr (*)(const LaunchDesc &);

/// Indexed by Kernel.
constexpr std::array<KernelMaker, 22> makers = {
    nullptr,
    cpu::makeGemm,
    cpu::makeBiasGrad,
    cpu::makeRmsNorm,
    cpu::makeRmsNormGrad,
    cpu::makeRmsNormGradWeight,
    cpu::makeLayerNorm,
    cpu::makeLayerNormGrad,
    cpu::makeLayerNormGradWeight,
    cpu::makeRope,
    cpu::makeAttention,
    cpu::makeAttentionGrad,
    cpu::makeEmbedding,
    cpu::makeEmbeddingGrad,
    cpu::makePositionEmbedding,
    cpu::makePositionEmbeddingGrad,
    cpu::makePointwise,
    cpu::makeRowMax,
    cpu::makeRowSumExp,
    cpu::makeRowPick,
    cpu::makeCrossEntropy,
    cpu::makeCrossEntropyGrad,
};

class CpuBackend : public HostBackend {
public:
  std::string name() const override { return "cpu"; }

  Result<std::unique_ptr<CompiledLaunch>> compile(const LaunchDesc &desc) override {
    if (Status valid = checkLaunch(desc); !valid)
      return valid.error();
    cpu::useOneThread();
    try {
      return makers[static_cast<size_t>(desc.kernel)](desc);
    } catch (const std::exception &failure) {
      return Error{ExitCode::Runtime,
                   std::string(kernelName(desc.kernel)) + ": cpu backend cannot compile it: " + failure.what()};
    }
  }

  double sumOfSquares(const float *data, uint64_t elements) override { return cpu::sumOfSquares(data, elements); }

  void optimizerUpdate(const OptimizerStep &step, bool decay, uint64_t elements, const float *grad, float *master,
                       float *moment1, float *moment2, void *param, DType paramType) override {
    cpu::optimizerUpdate(step, decay, elements, grad, master, moment1, moment2, param, paramType);
  }
};

} // namespace

std::unique_ptr<Backend> makeCpuBackend() { return std::make_unique<CpuBackend>(); }

} // namespace plait
