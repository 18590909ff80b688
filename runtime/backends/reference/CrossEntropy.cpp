#include "runtime/backends/reference/ReferenceKernels.h"
#include <cmath>
#include <limits>

namespace plait::reference {

void rowMax(const Launch &launch) {
  Matrix logits = launch[0], m = launch[1];
  for (int64_t t = 0; t < logits.rows(); ++t) {
    double top = -std::numeric_limits<double>::infinity();
    for (int64_t j = 0; j < logits.cols(); ++j)
      top = std::fmax(top, logits.get(t, j));
    m.set(t, top);
  }
}

void rowSumExp(const Launch &launch) {
  Matrix logits = launch[0], m = launch[1], z = launch[2];
  for (int64_t t = 0; t < logits.rows(); ++t) {
    double sum = 0;
    for (int64_t j = 0; j < logits.cols(); ++j)
      sum += std::exp(logits.get(t, j) - m.get(t));
    z.set(t, sum);
  }
}

void rowPick(const Launch &launch) {
  Matrix logits = launch[0], labels = launch[1], picked = launch[2];
  for (int64_t t = 0; t < logits.rows(); ++t) {
    int64_t label = labels.id(t), col = label - launch.desc.offsets[0];
    picked.set(t, label >= 0 && col >= 0 && col < logits.cols() ? logits.get(t, col) : 0);
  }
}

void crossEntropy(const Launch &launch) {
  Matrix m = launch[0], z = launch[1], picked = launch[2], labels = launch[3], lse = launch[4], loss = launch[5];
  double sum = 0;
  for (int64_t t = 0; t < m.rows() * m.cols(); ++t) {
    double value = m.get(t) + std::log(z.get(t));
    lse.set(t, value);
    if (labels.id(t) >= 0)
      sum += value - picked.get(t);
  }
  loss.add(0, sum);
}

void crossEntropyGrad(const Launch &launch) {
  Matrix logits = launch[0], lse = launch[1], labels = launch[2], scale = launch[3], dlogits = launch[4];
  for (int64_t t = 0; t < logits.rows(); ++t) {
    int64_t label = labels.id(t), hit = label - launch.desc.offsets[0];
    for (int64_t j = 0; j < logits.cols(); ++j) {
      double p = std::exp(logits.get(t, j) - lse.get(t));
      dlogits.set(t, j, label < 0 ? 0 : (p - (j == hit)) * scale.get(0));
    }
  }
}

} // namespace plait::reference
