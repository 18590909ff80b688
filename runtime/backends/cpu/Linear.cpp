#include "runtime/backends/cpu/CpuKernels.h"
#include "runtime/backends/cpu/Rows.h"
#include "runtime/backends/cpu/VectorMath.h"
#include <algorithm>

namespace plait::cpu {
namespace {

PLAIT_CLONES void addToSums(const float *row, double *sums, int64_t elements) {
#pragma omp simd
  for (int64_t j = 0; j < elements; ++j)
    sums[j] += row[j];
}

PLAIT_CLONES void addToRow(const float *row, float *target, int64_t elements) {
#pragma omp simd
  for (int64_t j = 0; j < elements; ++j)
    target[j] += row[j];
}

PLAIT_CLONES void addRows(const float *a, const float *b, float *out, int64_t elements) {
#pragma omp simd
  for (int64_t j = 0; j < elements; ++j)
    out[j] = a[j] + b[j];
}

} // namespace

LaunchPtr makeBiasGrad(const LaunchDesc &desc) {
  RowReader dy(desc.refs[0]);
  return makeLaunch([dy, sums = std::vector<double>(dy.cols())](void *const *data) mutable {
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t i = 0; i < dy.rows(); ++i)
      addToSums(dy.row(data[0], i), sums.data(), dy.cols());
    auto *db = static_cast<float *>(data[1]);
    for (int64_t j = 0; j < dy.cols(); ++j)
      db[j] += static_cast<float>(sums[j]);
  });
}

LaunchPtr makeEmbedding(const LaunchDesc &desc) {
  RowReader w(desc.refs[1]);
  RowWriter y(desc.refs[2]);
  MatrixShape out = matrixOf(desc.refs[2]);
  return makeLaunch([w, y, out, first = desc.offsets[0]](void *const *data) mutable {
    auto *tokens = static_cast<const int32_t *>(data[0]);
    for (int64_t t = 0; t < out.rows; ++t) {
      int64_t row = tokens[t] - first;
      float *target = y.row(data[2], t);
      if (row >= 0 && row < w.rows())
        std::copy_n(w.row(data[1], row), out.cols, target);
      else
        std::fill_n(target, out.cols, 0.f);
      y.store(data[2], t);
    }
  });
}

LaunchPtr makeEmbeddingGrad(const LaunchDesc &desc) {
  RowReader dy(desc.refs[0]);
  MatrixShape table = matrixOf(desc.refs[2]);
  return makeLaunch([dy, table, first = desc.offsets[0]](void *const *data) mutable {
    auto *tokens = static_cast<const int32_t *>(data[1]);
    for (int64_t t = 0; t < dy.rows(); ++t) {
      int64_t row = tokens[t] - first;
      if (row >= 0 && row < table.rows)
        addToRow(dy.row(data[0], t), static_cast<float *>(data[2]) + row * table.stride, table.cols);
    }
  });
}

LaunchPtr makePositionEmbedding(const LaunchDesc &desc) {
  RowReader x(desc.refs[0]), w(desc.refs[1]);
  RowWriter y(desc.refs[2]);
  int64_t batch = desc.refs[0].shape[1];
  return makeLaunch([x, w, y, batch, first = desc.offsets[0]](void *const *data) mutable {
    for (int64_t t = 0; t < x.rows(); ++t) {
      addRows(x.row(data[0], t), w.row(data[1], first + t / batch), y.row(data[2], t), x.cols());
      y.store(data[2], t);
    }
  });
}

LaunchPtr makePositionEmbeddingGrad(const LaunchDesc &desc) {
  RowReader dy(desc.refs[0]);
  MatrixShape table = matrixOf(desc.refs[1]);
  int64_t batch = desc.refs[0].shape[1];
  return makeLaunch([dy, table, batch, first = desc.offsets[0]](void *const *data) mutable {
    for (int64_t t = 0; t < dy.rows(); ++t)
      addToRow(dy.row(data[0], t), static_cast<float *>(data[1]) + (first + t / batch) * table.stride, table.cols);
  });
}

} // namespace plait::cpu
