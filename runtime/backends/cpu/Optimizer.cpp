#include "runtime/backends/BFloat16.h"
#include "runtime/backends/cpu/CpuKernels.h"
#include "runtime/backends/cpu/Rows.h"
#include "runtime/backends/cpu/VectorMath.h"
#include <algorithm>

namespace plait::cpu {
namespace {

/// w = keep * w - rate * gradScale * grad, with keep = 1 - rate * decay.
PLAIT_CLONES void sgd(float keep, float scaledRate, const float *grad, float *w, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    w[i] = keep * w[i] - scaledRate * grad[i];
}

struct AdamFactors {
  float beta1, beta2, gradScale, keep, rate, inverseRoot2, epsilon;
};

PLAIT_CLONES void adamW(AdamFactors f, const float *grad, float *w, float *moment1, float *moment2, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    float g = grad[i] * f.gradScale;
    float m = f.beta1 * moment1[i] + (1 - f.beta1) * g;
    float v = f.beta2 * moment2[i] + (1 - f.beta2) * g * g;
    moment1[i] = m;
    moment2[i] = v;
    w[i] = f.keep * w[i] - f.rate * m / (std::sqrt(v) * f.inverseRoot2 + f.epsilon);
  }
}

/// Eight sums side by side: the order does not depend on the vector width, and a squared f32 is exact in f64.
PLAIT_CLONES void addSquares(const float *x, uint64_t groups, double *sums) {
  double lanes[8] = {};
  for (uint64_t group = 0; group < groups; ++group) {
#pragma omp simd
    for (int lane = 0; lane < 8; ++lane) {
      double value = x[group * 8 + lane];
      lanes[lane] += value * value;
    }
  }
  std::copy_n(lanes, 8, sums);
}

} // namespace

double sumOfSquares(const float *data, uint64_t elements) {
  double lanes[8], sum = 0;
  addSquares(data, elements / 8, lanes);
  for (double lane : lanes)
    sum += lane;
  for (uint64_t i = elements / 8 * 8; i < elements; ++i)
    sum += static_cast<double>(data[i]) * data[i];
  return sum;
}

void optimizerUpdate(const OptimizerStep &step, bool decay, uint64_t elements, const float *grad, float *master,
                     float *moment1, float *moment2, void *param, DType paramType) {
  float *weights = master ? master : static_cast<float *>(param);
  float keep = static_cast<float>(1 - step.learningRate * (decay ? step.weightDecay : 0));
  if (step.kind == OptimizerStep::Sgd) {
    sgd(keep, static_cast<float>(step.learningRate * step.gradScale), grad, weights, elements);
  } else {
    double correction1 = 1 - std::pow(step.beta1, static_cast<double>(step.step));
    double correction2 = 1 - std::pow(step.beta2, static_cast<double>(step.step));
    AdamFactors factors{static_cast<float>(step.beta1),
                        static_cast<float>(step.beta2),
                        static_cast<float>(step.gradScale),
                        keep,
                        static_cast<float>(step.learningRate / correction1),
                        static_cast<float>(1 / std::sqrt(correction2)),
                        static_cast<float>(step.epsilon)};
    adamW(factors, grad, weights, moment1, moment2, elements);
  }
  if (paramType == DType::BF16)
    narrowRow(weights, static_cast<Bf16 *>(param), elements);
}

} // namespace plait::cpu
