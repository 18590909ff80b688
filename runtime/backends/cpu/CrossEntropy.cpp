#include "runtime/backends/cpu/CpuKernels.h"
#include "runtime/backends/cpu/Rows.h"
#include "runtime/backends/cpu/VectorMath.h"
#include <algorithm>
#include <limits>

namespace plait::cpu {
namespace {

PLAIT_CLONES float maxRow(const float *x, int64_t n) {
  float top = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : top)
  for (int64_t j = 0; j < n; ++j)
    top = x[j] > top ? x[j] : top;
  return top;
}

/// Sums pieces of a long vocabulary in double, so that the error does not grow with its length.
PLAIT_CLONES double sumExpRow(const float *x, float m, int64_t n) {
  constexpr int64_t piece = 1024;
  double total = 0;
  for (int64_t from = 0; from < n; from += piece) {
    int64_t to = from + piece < n ? from + piece : n;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = from; j < to; ++j)
      sum += vexp(x[j] - m);
    total += sum;
  }
  return total;
}

PLAIT_CLONES void softmaxRow(const float *x, float lse, float scale, float *out, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j)
    out[j] = vexp(x[j] - lse) * scale;
}

} // namespace

LaunchPtr makeRowMax(const LaunchDesc &desc) {
  return makeLaunch([logits = RowReader(desc.refs[0])](void *const *data) mutable {
    for (int64_t t = 0; t < logits.rows(); ++t)
      static_cast<float *>(data[1])[t] = maxRow(logits.row(data[0], t), logits.cols());
  });
}

LaunchPtr makeRowSumExp(const LaunchDesc &desc) {
  return makeLaunch([logits = RowReader(desc.refs[0])](void *const *data) mutable {
    auto *m = static_cast<const float *>(data[1]);
    for (int64_t t = 0; t < logits.rows(); ++t)
      static_cast<float *>(data[2])[t] = static_cast<float>(sumExpRow(logits.row(data[0], t), m[t], logits.cols()));
  });
}

LaunchPtr makeRowPick(const LaunchDesc &desc) {
  MatrixShape shape = matrixOf(desc.refs[0]);
  bool isBf16 = desc.refs[0].dtype == DType::BF16;
  return makeLaunch([shape, isBf16, first = desc.offsets[0]](void *const *data) {
    auto *labels = static_cast<const int32_t *>(data[1]);
    for (int64_t t = 0; t < shape.rows; ++t) {
      int64_t col = labels[t] - first, at = t * shape.stride + col;
      float picked = 0;
      if (labels[t] >= 0 && col >= 0 && col < shape.cols)
        picked = isBf16 ? widen(static_cast<const Bf16 *>(data[0])[at]) : static_cast<const float *>(data[0])[at];
      static_cast<float *>(data[2])[t] = picked;
    }
  });
}

LaunchPtr makeCrossEntropy(const LaunchDesc &desc) {
  return makeLaunch([rows = matrixOf(desc.refs[0]).elements()](void *const *data) {
    auto *m = static_cast<const float *>(data[0]), *z = static_cast<const float *>(data[1]);
    auto *picked = static_cast<const float *>(data[2]);
    auto *labels = static_cast<const int32_t *>(data[3]);
    auto *lse = static_cast<float *>(data[4]);
    double sum = 0;
    for (int64_t t = 0; t < rows; ++t) {
      double value = m[t] + std::log(static_cast<double>(z[t]));
      lse[t] = static_cast<float>(value);
      if (labels[t] >= 0)
        sum += value - picked[t];
    }
    auto *loss = static_cast<float *>(data[5]);
    *loss = static_cast<float>(*loss + sum);
  });
}

LaunchPtr makeCrossEntropyGrad(const LaunchDesc &desc) {
  RowReader logits(desc.refs[0]);
  RowWriter dlogits(desc.refs[4]);
  return makeLaunch([logits, dlogits, first = desc.offsets[0]](void *const *data) mutable {
    auto *lse = static_cast<const float *>(data[1]), *scale = static_cast<const float *>(data[3]);
    auto *labels = static_cast<const int32_t *>(data[2]);
    for (int64_t t = 0; t < logits.rows(); ++t) {
      const float *in = logits.row(data[0], t);
      float *out = dlogits.row(data[4], t);
      int64_t col = labels[t] - first, n = logits.cols();
      bool local = labels[t] >= 0 && col >= 0 && col < n;
      // The label's own gradient is computed apart: p - 1 must be scaled after the subtraction.
      float own = local ? (std::exp(in[col] - lse[t]) - 1) * *scale : 0;
      if (labels[t] < 0)
        std::fill_n(out, n, 0.f);
      else
        softmaxRow(in, lse[t], *scale, out, n);
      if (local)
        out[col] = own;
      dlogits.store(data[4], t);
    }
  });
}

} // namespace plait::cpu
