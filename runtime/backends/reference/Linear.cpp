#include "runtime/backends/reference/ReferenceKernels.h"
#include <vector>

namespace plait::reference {

void gemm(const Launch &launch) {
  Matrix a = launch[0], b = launch[1], c = launch[2];
  bool transA = launch.desc.ints[0], transB = launch.desc.ints[1], accumulate = launch.desc.ints[2];
  int64_t inner = transA ? a.rows() : a.cols();
  std::vector<double> left = a.values(), right = b.values();
  for (int64_t i = 0; i < c.rows(); ++i)
    for (int64_t j = 0; j < c.cols(); ++j) {
      double sum = accumulate ? c.get(i, j) : 0;
      for (int64_t p = 0; p < inner; ++p)
        sum += left[transA ? p * a.cols() + i : i * a.cols() + p] * right[transB ? j * b.cols() + p : p * b.cols() + j];
      c.set(i, j, sum);
    }
}

void biasGrad(const Launch &launch) {
  Matrix dy = launch[0], db = launch[1];
  for (int64_t j = 0; j < dy.cols(); ++j) {
    double sum = 0;
    for (int64_t i = 0; i < dy.rows(); ++i)
      sum += dy.get(i, j);
    db.add(j, sum);
  }
}

void embedding(const Launch &launch) {
  Matrix tokens = launch[0], w = launch[1], y = launch[2];
  for (int64_t t = 0; t < y.rows(); ++t) {
    int64_t row = tokens.id(t) - launch.desc.offsets[0];
    bool local = row >= 0 && row < w.rows();
    for (int64_t j = 0; j < y.cols(); ++j)
      y.set(t, j, local ? w.get(row, j) : 0);
  }
}

void embeddingGrad(const Launch &launch) {
  Matrix dy = launch[0], tokens = launch[1], dw = launch[2];
  std::vector<double> sums(dw.rows() * dw.cols(), 0);
  for (int64_t t = 0; t < dy.rows(); ++t) {
    int64_t row = tokens.id(t) - launch.desc.offsets[0];
    if (row >= 0 && row < dw.rows())
      for (int64_t j = 0; j < dy.cols(); ++j)
        sums[row * dw.cols() + j] += dy.get(t, j);
  }
  for (int64_t i = 0; i < dw.rows(); ++i)
    for (int64_t j = 0; j < dw.cols(); ++j)
      dw.add(i, j, sums[i * dw.cols() + j]);
}

void positionEmbedding(const Launch &launch) {
  Matrix x = launch[0], w = launch[1], y = launch[2];
  int64_t batch = launch.desc.refs[0].shape[1];
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t j = 0; j < x.cols(); ++j)
      y.set(t, j, x.get(t, j) + w.get(launch.desc.offsets[0] + t / batch, j));
}

void positionEmbeddingGrad(const Launch &launch) {
  Matrix dy = launch[0], dw = launch[1];
  int64_t positions = launch.desc.refs[0].shape[0], batch = launch.desc.refs[0].shape[1];
  for (int64_t s = 0; s < positions; ++s)
    for (int64_t j = 0; j < dy.cols(); ++j) {
      double sum = 0;
      for (int64_t b = 0; b < batch; ++b)
        sum += dy.get(s * batch + b, j);
      dw.add(launch.desc.offsets[0] + s, j, sum);
    }
}

} // namespace plait::reference
