#include "runtime/backends/cpu/CpuKernels.h"
#include "runtime/backends/cpu/Rows.h"
#include "runtime/backends/cpu/VectorMath.h"
#include <algorithm>

namespace plait::cpu {
namespace {

/// Element j of a head pairs with element j + half. Reads a pair before it writes it: y may be x.
PLAIT_CLONES void rotateHalves(const float *x, const float *c, const float *s, float *y, int64_t half) {
#pragma omp simd
  for (int64_t j = 0; j < half; ++j) {
    float a = x[j], b = x[j + half];
    y[j] = a * c[j] - b * s[j];
    y[j + half] = b * c[j] + a * s[j];
  }
}

/// Element 2j pairs with element 2j + 1.
PLAIT_CLONES void rotatePairs(const float *x, const float *c, const float *s, float *y, int64_t half) {
#pragma omp simd
  for (int64_t j = 0; j < half; ++j) {
    float a = x[2 * j], b = x[2 * j + 1];
    y[2 * j] = a * c[j] - b * s[j];
    y[2 * j + 1] = b * c[j] + a * s[j];
  }
}

} // namespace

LaunchPtr makeRope(const LaunchDesc &desc) {
  int64_t headDim = desc.ints[0], rotary = desc.ints[1], half = rotary / 2;
  int64_t positions = desc.refs[0].shape[0], batch = desc.refs[0].shape[1];
  double factor = desc.doubles.back(), sign = desc.ints[3] ? -1 : 1;
  std::vector<float> cosines(positions * half), sines(positions * half);
  for (int64_t s = 0; s < positions; ++s)
    for (int64_t j = 0; j < half; ++j) {
      double angle = static_cast<double>(desc.offsets[0] + s) * desc.doubles[j];
      cosines[s * half + j] = static_cast<float>(std::cos(angle) * factor);
      sines[s * half + j] = static_cast<float>(std::sin(angle) * factor * sign);
    }
  RowReader x(desc.refs[0]);
  RowWriter y(desc.refs[1]);
  auto *rotate = desc.ints[2] ? rotatePairs : rotateHalves;
  return makeLaunch([x, y, cosines = std::move(cosines), sines = std::move(sines), rotate, headDim, rotary, half,
                     batch](void *const *data) mutable {
    for (int64_t t = 0; t < x.rows(); ++t) {
      const float *in = x.row(data[0], t), *c = cosines.data() + t / batch * half, *s = sines.data() + t / batch * half;
      float *out = y.row(data[1], t);
      for (int64_t head = 0; head < x.cols(); head += headDim) {
        rotate(in + head, c, s, out + head, half);
        if (in != out)
          std::copy_n(in + head + rotary, headDim - rotary, out + head + rotary);
      }
      y.store(data[1], t);
    }
  });
}

} // namespace plait::cpu
