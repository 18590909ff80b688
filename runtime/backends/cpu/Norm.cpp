#include "runtime/backends/cpu/CpuKernels.h"
#include "runtime/backends/cpu/Rows.h"
#include "runtime/backends/cpu/VectorMath.h"
#include <algorithm>

namespace plait::cpu {
namespace {

PLAIT_CLONES float sumRow(const float *x, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < n; ++j)
    sum += x[j];
  return sum;
}

/// Sum of (x - center)^2.
PLAIT_CLONES float squaresRow(const float *x, float center, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < n; ++j)
    sum += (x[j] - center) * (x[j] - center);
  return sum;
}

PLAIT_CLONES void rmsRow(const float *x, const float *w, float rstd, float *y, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j)
    y[j] = x[j] * rstd * w[j];
}

PLAIT_CLONES void layerRow(const float *x, const float *w, const float *b, float mean, float rstd, float *y,
                           int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j)
    y[j] = (x[j] - mean) * rstd * w[j] + b[j];
}

/// Gradient of one run. With g = dy * w and normal = (x - mean) * rstd: dx = rstd (g - [centered] mean(g) - normal
/// mean(g normal)). An RMS norm has mean 0 and is not centered.
PLAIT_CLONES void gradRow(const float *dy, const float *x, const float *w, float mean, float rstd, bool centered,
                          float *dx, int64_t n) {
  float sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
  for (int64_t j = 0; j < n; ++j) {
    float g = dy[j] * w[j];
    sum += g;
    dot += g * (x[j] - mean) * rstd;
  }
  float meanGrad = centered ? sum / n : 0, meanDot = dot / n;
#pragma omp simd
  for (int64_t j = 0; j < n; ++j)
    dx[j] = rstd * (dy[j] * w[j] - meanGrad - (x[j] - mean) * rstd * meanDot);
}

PLAIT_CLONES void gradWeightRow(const float *dy, const float *x, float mean, float rstd, double *dw, double *db,
                                int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) {
    dw[j] += dy[j] * ((x[j] - mean) * rstd);
    db[j] += dy[j];
  }
}

void addSums(const std::vector<double> &sums, void *target) {
  auto *out = static_cast<float *>(target);
  for (size_t j = 0; j < sums.size(); ++j)
    out[j] += static_cast<float>(sums[j]);
}

/// Runs of `width` elements in rows of `cols`; run r of row i has statistic number i * perRow + r.
struct Runs {
  Runs(const TensorDesc &x, int64_t width) : rows(matrixOf(x).rows), width(width), perRow(matrixOf(x).cols / width) {}
  int64_t rows, width, perRow;
};

int64_t widthOf(const TensorDesc &vector) { return matrixOf(vector).elements(); }

} // namespace

LaunchPtr makeRmsNorm(const LaunchDesc &desc) {
  Runs runs(desc.refs[0], widthOf(desc.refs[1]));
  RowReader x(desc.refs[0]), w(denseTensor({runs.width}, desc.refs[1].dtype));
  RowWriter y(desc.refs[2]);
  return makeLaunch([runs, x, w, y, eps = static_cast<float>(desc.doubles[0])](void *const *data) mutable {
    const float *weight = w.row(data[1], 0);
    auto *rstd = static_cast<float *>(data[3]);
    for (int64_t i = 0; i < runs.rows; ++i) {
      const float *in = x.row(data[0], i);
      float *out = y.row(data[2], i);
      for (int64_t r = 0; r < runs.perRow; ++r, in += runs.width, out += runs.width) {
        float inverse = 1 / std::sqrt(squaresRow(in, 0, runs.width) / runs.width + eps);
        rmsRow(in, weight, inverse, out, runs.width);
        *rstd++ = inverse;
      }
      y.store(data[2], i);
    }
  });
}

LaunchPtr makeRmsNormGrad(const LaunchDesc &desc) {
  Runs runs(desc.refs[1], widthOf(desc.refs[2]));
  RowReader dy(desc.refs[0]), x(desc.refs[1]), w(denseTensor({runs.width}, desc.refs[2].dtype));
  RowWriter dx(desc.refs[4]);
  return makeLaunch([runs, dy, x, w, dx](void *const *data) mutable {
    const float *weight = w.row(data[2], 0);
    auto *rstd = static_cast<const float *>(data[3]);
    for (int64_t i = 0; i < runs.rows; ++i) {
      const float *grad = dy.row(data[0], i), *in = x.row(data[1], i);
      float *out = dx.row(data[4], i);
      for (int64_t at = 0; at < runs.perRow * runs.width; at += runs.width)
        gradRow(grad + at, in + at, weight, 0, *rstd++, false, out + at, runs.width);
      dx.store(data[4], i);
    }
  });
}

LaunchPtr makeRmsNormGradWeight(const LaunchDesc &desc) {
  Runs runs(desc.refs[1], widthOf(desc.refs[3]));
  RowReader dy(desc.refs[0]), x(desc.refs[1]);
  return makeLaunch([runs, dy, x, dw = std::vector<double>(runs.width),
                     unused = std::vector<double>(runs.width)](void *const *data) mutable {
    std::fill(dw.begin(), dw.end(), 0);
    auto *rstd = static_cast<const float *>(data[2]);
    for (int64_t i = 0; i < runs.rows; ++i) {
      const float *grad = dy.row(data[0], i), *in = x.row(data[1], i);
      for (int64_t at = 0; at < runs.perRow * runs.width; at += runs.width)
        gradWeightRow(grad + at, in + at, 0, *rstd++, dw.data(), unused.data(), runs.width);
    }
    addSums(dw, data[3]);
  });
}

LaunchPtr makeLayerNorm(const LaunchDesc &desc) {
  RowReader x(desc.refs[0]), w(denseTensor({x.cols()}, desc.refs[1].dtype)),
      b(denseTensor({x.cols()}, desc.refs[2].dtype));
  RowWriter y(desc.refs[3]);
  return makeLaunch([x, w, b, y, eps = static_cast<float>(desc.doubles[0])](void *const *data) mutable {
    const float *weight = w.row(data[1], 0), *bias = b.row(data[2], 0);
    auto *mean = static_cast<float *>(data[4]), *rstd = static_cast<float *>(data[5]);
    int64_t n = x.cols();
    for (int64_t i = 0; i < x.rows(); ++i) {
      const float *in = x.row(data[0], i);
      mean[i] = sumRow(in, n) / n;
      rstd[i] = 1 / std::sqrt(squaresRow(in, mean[i], n) / n + eps);
      layerRow(in, weight, bias, mean[i], rstd[i], y.row(data[3], i), n);
      y.store(data[3], i);
    }
  });
}

LaunchPtr makeLayerNormGrad(const LaunchDesc &desc) {
  RowReader dy(desc.refs[0]), x(desc.refs[1]), w(denseTensor({x.cols()}, desc.refs[2].dtype));
  RowWriter dx(desc.refs[5]);
  return makeLaunch([dy, x, w, dx](void *const *data) mutable {
    const float *weight = w.row(data[2], 0);
    auto *mean = static_cast<const float *>(data[3]), *rstd = static_cast<const float *>(data[4]);
    for (int64_t i = 0; i < x.rows(); ++i) {
      gradRow(dy.row(data[0], i), x.row(data[1], i), weight, mean[i], rstd[i], true, dx.row(data[5], i), x.cols());
      dx.store(data[5], i);
    }
  });
}

LaunchPtr makeLayerNormGradWeight(const LaunchDesc &desc) {
  RowReader dy(desc.refs[0]), x(desc.refs[1]);
  return makeLaunch(
      [dy, x, dw = std::vector<double>(x.cols()), db = std::vector<double>(x.cols())](void *const *data) mutable {
        std::fill(dw.begin(), dw.end(), 0);
        std::fill(db.begin(), db.end(), 0);
        auto *mean = static_cast<const float *>(data[2]), *rstd = static_cast<const float *>(data[3]);
        for (int64_t i = 0; i < x.rows(); ++i)
          gradWeightRow(dy.row(data[0], i), x.row(data[1], i), mean[i], rstd[i], dw.data(), db.data(), x.cols());
        addSums(dw, data[4]);
        addSums(db, data[5]);
      });
}

} // namespace plait::cpu
