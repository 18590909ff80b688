#include "runtime/backends/BFloat16.h"
#include "runtime/backends/HostBackend.h"
#include "runtime/backends/reference/ReferenceKernels.h"
#include <array>
#include <cmath>

namespace plait {
namespace reference {

double Matrix::get(int64_t row, int64_t col) const {
  int64_t i = row * shape.stride + col;
  switch (dtype) {
  case DType::F32: return static_cast<const float *>(data)[i];
  case DType::BF16: return widen(static_cast<const Bf16 *>(data)[i]);
  case DType::F64: return static_cast<const double *>(data)[i];
  default: return 0;
  }
}

void Matrix::set(int64_t row, int64_t col, double value) const {
  int64_t i = row * shape.stride + col;
  switch (dtype) {
  case DType::F32: static_cast<float *>(data)[i] = static_cast<float>(value); break;
  case DType::BF16: static_cast<Bf16 *>(data)[i] = narrow(value); break;
  case DType::F64: static_cast<double *>(data)[i] = value; break;
  default: break;
  }
}

std::vector<double> Matrix::values() const {
  std::vector<double> result(rows() * cols());
  for (int64_t i = 0; i < rows(); ++i)
    for (int64_t j = 0; j < cols(); ++j)
      result[i * cols() + j] = get(i, j);
  return result;
}

} // namespace reference

namespace {

using KernelFunction = void (*)(const reference::Launch &);

constexpr std::array<KernelFunction, 22> kernels = {
    nullptr,
    reference::gemm,
    reference::biasGrad,
    reference::rmsNorm,
    reference::rmsNormGrad,
    reference::rmsNormGradWeight,
    reference::layerNorm,
    reference::layerNormGrad,
    reference::layerNormGradWeight,
    reference::rope,
    reference::attention,
    reference::attentionGrad,
    reference::embedding,
    reference::embeddingGrad,
    reference::positionEmbedding,
    reference::positionEmbeddingGrad,
    reference::pointwise,
    reference::rowMax,
    reference::rowSumExp,
    reference::rowPick,
    reference::crossEntropy,
    reference::crossEntropyGrad,
};

class ReferenceLaunch : public CompiledLaunch {
public:
  explicit ReferenceLaunch(const LaunchDesc &desc) : desc(desc) {}
  void run(void *const *data) override { kernels[static_cast<size_t>(desc.kernel)]({desc, data}); }

private:
  LaunchDesc desc;
};

class ReferenceBackend : public HostBackend {
public:
  std::string name() const override { return "reference"; }

  Result<std::unique_ptr<CompiledLaunch>> compile(const LaunchDesc &desc) override {
    if (Status valid = checkLaunch(desc, FloatTypes::WithF64); !valid)
      return valid.error();
    return std::unique_ptr<CompiledLaunch>(std::make_unique<ReferenceLaunch>(desc));
  }

  double sumOfSquares(const float *data, uint64_t elements) override {
    double sum = 0;
    for (uint64_t i = 0; i < elements; ++i)
      sum += static_cast<double>(data[i]) * data[i];
    return sum;
  }

  void optimizerUpdate(const OptimizerStep &step, bool decay, uint64_t elements, const float *grad, float *master,
                       float *moment1, float *moment2, void *param, DType paramType) override {
    float *weights = master ? master : static_cast<float *>(param);
    double weightDecay = decay ? step.weightDecay : 0;
    double correction1 = 1 - std::pow(step.beta1, static_cast<double>(step.step));
    double correction2 = 1 - std::pow(step.beta2, static_cast<double>(step.step));
    for (uint64_t i = 0; i < elements; ++i) {
      double g = grad[i] * step.gradScale, w = weights[i];
      if (step.kind == OptimizerStep::Sgd) {
        w -= step.learningRate * (g + weightDecay * w);
      } else {
        double m = step.beta1 * moment1[i] + (1 - step.beta1) * g;
        double v = step.beta2 * moment2[i] + (1 - step.beta2) * g * g;
        moment1[i] = static_cast<float>(m);
        moment2[i] = static_cast<float>(v);
        w -= step.learningRate * weightDecay * w;
        w -= step.learningRate * (m / correction1) / (std::sqrt(v / correction2) + step.epsilon);
      }
      weights[i] = static_cast<float>(w);
      if (paramType == DType::BF16)
        static_cast<Bf16 *>(param)[i] = narrow(weights[i]);
    }
  }
};

} // namespace

std::unique_ptr<Backend> makeReferenceBackend() { return std::make_unique<ReferenceBackend>(); }

} // namespace plait
