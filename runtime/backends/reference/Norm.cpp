#include "runtime/backends/reference/ReferenceKernels.h"
#include <cmath>
#include <vector>

namespace plait::reference {

// A row of `cols` elements holds cols / width runs; run r of row i has statistic number i * (cols / width) + r.

void rmsNorm(const Launch &launch) {
  Matrix x = launch[0], w = launch[1], y = launch[2], rstd = launch[3];
  int64_t width = w.rows() * w.cols(), runs = x.cols() / width;
  for (int64_t i = 0; i < x.rows(); ++i)
    for (int64_t r = 0; r < runs; ++r) {
      double squares = 0;
      for (int64_t j = 0; j < width; ++j)
        squares += x.get(i, r * width + j) * x.get(i, r * width + j);
      double inverse = 1 / std::sqrt(squares / width + launch.desc.doubles[0]);
      rstd.set(i * runs + r, inverse);
      for (int64_t j = 0; j < width; ++j)
        y.set(i, r * width + j, x.get(i, r * width + j) * inverse * w.get(j));
    }
}

void rmsNormGrad(const Launch &launch) {
  Matrix dy = launch[0], x = launch[1], w = launch[2], rstd = launch[3], dx = launch[4];
  int64_t width = w.rows() * w.cols(), runs = x.cols() / width;
  for (int64_t i = 0; i < x.rows(); ++i)
    for (int64_t r = 0; r < runs; ++r) {
      double inverse = rstd.get(i * runs + r), dot = 0;
      for (int64_t j = 0, col = r * width; j < width; ++j, ++col)
        dot += dy.get(i, col) * w.get(j) * x.get(i, col) * inverse;
      for (int64_t j = 0, col = r * width; j < width; ++j, ++col)
        dx.set(i, col, inverse * (dy.get(i, col) * w.get(j) - x.get(i, col) * inverse * dot / width));
    }
}

void rmsNormGradWeight(const Launch &launch) {
  Matrix dy = launch[0], x = launch[1], rstd = launch[2], dw = launch[3];
  int64_t width = dw.rows() * dw.cols(), runs = x.cols() / width;
  for (int64_t j = 0; j < width; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < x.rows(); ++i)
      for (int64_t r = 0; r < runs; ++r)
        sum += dy.get(i, r * width + j) * x.get(i, r * width + j) * rstd.get(i * runs + r);
    dw.add(j, sum);
  }
}

void layerNorm(const Launch &launch) {
  Matrix x = launch[0], w = launch[1], b = launch[2], y = launch[3], mean = launch[4], rstd = launch[5];
  int64_t width = x.cols();
  for (int64_t i = 0; i < x.rows(); ++i) {
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < width; ++j)
      sum += x.get(i, j);
    double center = sum / width;
    for (int64_t j = 0; j < width; ++j)
      squares += (x.get(i, j) - center) * (x.get(i, j) - center);
    double inverse = 1 / std::sqrt(squares / width + launch.desc.doubles[0]);
    mean.set(i, center);
    rstd.set(i, inverse);
    for (int64_t j = 0; j < width; ++j)
      y.set(i, j, (x.get(i, j) - center) * inverse * w.get(j) + b.get(j));
  }
}

void layerNormGrad(const Launch &launch) {
  Matrix dy = launch[0], x = launch[1], w = launch[2], mean = launch[3], rstd = launch[4], dx = launch[5];
  int64_t width = x.cols();
  for (int64_t i = 0; i < x.rows(); ++i) {
    double center = mean.get(i), inverse = rstd.get(i), sum = 0, dot = 0;
    for (int64_t j = 0; j < width; ++j) {
      double g = dy.get(i, j) * w.get(j);
      sum += g;
      dot += g * (x.get(i, j) - center) * inverse;
    }
    for (int64_t j = 0; j < width; ++j) {
      double normal = (x.get(i, j) - center) * inverse;
      dx.set(i, j, inverse * (dy.get(i, j) * w.get(j) - sum / width - normal * dot / width));
    }
  }
}

void layerNormGradWeight(const Launch &launch) {
  Matrix dy = launch[0], x = launch[1], mean = launch[2], rstd = launch[3], dw = launch[4], db = launch[5];
  for (int64_t j = 0; j < x.cols(); ++j) {
    double weight = 0, bias = 0;
    for (int64_t i = 0; i < x.rows(); ++i) {
      weight += dy.get(i, j) * (x.get(i, j) - mean.get(i)) * rstd.get(i);
      bias += dy.get(i, j);
    }
    dw.add(j, weight);
    db.add(j, bias);
  }
}

} // namespace plait::reference
