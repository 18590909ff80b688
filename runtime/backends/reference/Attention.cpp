#include "runtime/backends/reference/ReferenceKernels.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace plait::reference {

void rope(const Launch &launch) {
  Matrix x = launch[0], y = launch[1];
  int64_t headDim = launch.desc.ints[0], rotary = launch.desc.ints[1], half = rotary / 2;
  bool interleaved = launch.desc.ints[2], inverse = launch.desc.ints[3];
  int64_t batch = launch.desc.refs[0].shape[1];
  double factor = launch.desc.doubles.back();
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t head = 0; head < x.cols(); head += headDim) {
      for (int64_t j = 0; j < half; ++j) {
        double angle = static_cast<double>(launch.desc.offsets[0] + t / batch) * launch.desc.doubles[j];
        double c = std::cos(angle) * factor, s = std::sin(angle) * (inverse ? -factor : factor);
        int64_t first = head + (interleaved ? 2 * j : j), second = head + (interleaved ? 2 * j + 1 : j + half);
        double a = x.get(t, first), b = x.get(t, second);
        y.set(t, first, a * c - b * s);
        y.set(t, second, b * c + a * s);
      }
      for (int64_t j = rotary; j < headDim; ++j)
        y.set(t, head + j, x.get(t, head + j));
    }
}

namespace {

/// Geometry of an attention launch whose query is operand q.
struct Geometry {
  Geometry(const LaunchDesc &desc, unsigned q)
      : queries(desc.refs[q].shape[0]), keys(desc.refs[q + 1].shape[0]), batch(desc.refs[q].shape[1]),
        headDim(desc.ints[0]), heads(desc.refs[q].shape[2] / headDim), ratio(desc.ints[1]), shift(desc.offsets[0]),
        window(desc.ints[3]), causal(desc.ints[2]), scale(desc.doubles[0]) {}

  bool sees(int64_t query, int64_t key) const { return (!causal || key <= query) && (!window || query - key < window); }
  int64_t kvColumn(int64_t head) const { return (head + shift) / ratio * headDim; }

  int64_t queries, keys, batch, headDim, heads, ratio, shift, window;
  bool causal;
  double scale;
};

double dot(const Matrix &a, int64_t rowA, int64_t colA, const Matrix &b, int64_t rowB, int64_t colB, int64_t length) {
  double sum = 0;
  for (int64_t d = 0; d < length; ++d)
    sum += a.get(rowA, colA + d) * b.get(rowB, colB + d);
  return sum;
}

} // namespace

void attention(const Launch &launch) {
  Geometry g(launch.desc, 0);
  Matrix q = launch[0], k = launch[1], v = launch[2], o = launch[3], lse = launch[4];
  std::vector<double> scores(g.keys), out(g.headDim);
  for (int64_t sample = 0; sample < g.batch; ++sample)
    for (int64_t head = 0; head < g.heads; ++head)
      for (int64_t s = 0; s < g.queries; ++s) {
        int64_t row = s * g.batch + sample, kv = g.kvColumn(head);
        double top = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int64_t t = 0; t < g.keys; ++t)
          if (g.sees(s, t)) {
            scores[t] = g.scale * dot(q, row, head * g.headDim, k, t * g.batch + sample, kv, g.headDim);
            top = std::fmax(top, scores[t]);
          }
        std::fill(out.begin(), out.end(), 0);
        for (int64_t t = 0; t < g.keys; ++t)
          if (g.sees(s, t)) {
            double p = std::exp(scores[t] - top);
            sum += p;
            for (int64_t d = 0; d < g.headDim; ++d)
              out[d] += p * v.get(t * g.batch + sample, kv + d);
          }
        lse.set(row * g.heads + head, top + std::log(sum));
        for (int64_t d = 0; d < g.headDim; ++d)
          o.set(row, head * g.headDim + d, sum > 0 ? out[d] / sum : 0);
      }
}

void attentionGrad(const Launch &launch) {
  Geometry g(launch.desc, 1);
  Matrix dO = launch[0], q = launch[1], k = launch[2], v = launch[3], o = launch[4], lse = launch[5];
  Matrix dq = launch[6], dk = launch[7], dv = launch[8];
  std::vector<double> dkSum(k.rows() * k.cols(), 0), dvSum(k.rows() * k.cols(), 0), dqRow(g.headDim);
  for (int64_t sample = 0; sample < g.batch; ++sample)
    for (int64_t head = 0; head < g.heads; ++head)
      for (int64_t s = 0; s < g.queries; ++s) {
        int64_t row = s * g.batch + sample, col = head * g.headDim, kv = g.kvColumn(head);
        double delta = dot(dO, row, col, o, row, col, g.headDim);
        std::fill(dqRow.begin(), dqRow.end(), 0);
        for (int64_t t = 0; t < g.keys; ++t) {
          if (!g.sees(s, t))
            continue;
          int64_t keyRow = t * g.batch + sample;
          double p = std::exp(g.scale * dot(q, row, col, k, keyRow, kv, g.headDim) - lse.get(row * g.heads + head));
          double dScore = g.scale * p * (dot(dO, row, col, v, keyRow, kv, g.headDim) - delta);
          for (int64_t d = 0; d < g.headDim; ++d) {
            dqRow[d] += dScore * k.get(keyRow, kv + d);
            dkSum[keyRow * k.cols() + kv + d] += dScore * q.get(row, col + d);
            dvSum[keyRow * k.cols() + kv + d] += p * dO.get(row, col + d);
          }
        }
        for (int64_t d = 0; d < g.headDim; ++d)
          dq.set(row, col + d, dqRow[d]);
      }
  for (int64_t i = 0; i < k.rows(); ++i)
    for (int64_t j = 0; j < k.cols(); ++j) {
      dk.set(i, j, dkSum[i * k.cols() + j]);
      dv.set(i, j, dvSum[i * k.cols() + j]);
    }
}

} // namespace plait::reference
