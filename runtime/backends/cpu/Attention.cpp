// Attention head by head in tiles of 64 query rows: the scores of one tile stay in the cache and no [s, t] tensor
// exists. The backward recomputes the tile from the saved log-sum-exp.
#include "runtime/backends/cpu/CpuKernels.h"
#include "runtime/backends/cpu/Gemm.h"
#include "runtime/backends/cpu/Rows.h"
#include "runtime/backends/cpu/VectorMath.h"
#include <algorithm>
#include <limits>

namespace plait::cpu {
namespace {

constexpr int64_t tileRows = 64;

/// Maximum of x * scale.
PLAIT_CLONES float maxRow(const float *x, float scale, int64_t n) {
  float top = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : top)
  for (int64_t j = 0; j < n; ++j)
    top = x[j] * scale > top ? x[j] * scale : top;
  return top;
}

/// x = exp(x * scale - shift); returns the sum.
PLAIT_CLONES float expRow(float *x, float scale, float shift, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < n; ++j) {
    float p = vexp(x[j] * scale - shift);
    x[j] = p;
    sum += p;
  }
  return sum;
}

PLAIT_CLONES void scaleRow(float *x, float factor, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j)
    x[j] *= factor;
}

PLAIT_CLONES float dotRow(const float *a, const float *b, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < n; ++j)
    sum += a[j] * b[j];
  return sum;
}

/// dp = p (dp - delta) scale: gradient of the scores.
PLAIT_CLONES void scoreGradRow(const float *p, float delta, float scale, float *dp, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j)
    dp[j] = p[j] * (dp[j] - delta) * scale;
}

/// Heads of a [length, batch, heads * head_dim] tensor, copied to and from dense f32 panels of [rows, head_dim]. Rows
/// of one sample lie batch * width elements apart, a distance that often maps them all to the same few cache sets: a
/// copy that every tile and query head then uses is cheaper than f32 in place.
class HeadTensor {
public:
  HeadTensor(const TensorDesc &desc, int64_t headDim, int64_t rowsAtOnce)
      : batch(desc.shape[1]), headDim(headDim), stride(matrixOf(desc).stride), isBf16(desc.dtype == DType::BF16),
        buffer(std::min(rowsAtOnce, desc.shape[0]) * headDim) {}

  /// Rows [first, first + count) of the head; valid until the next call.
  const float *load(const void *data, int64_t sample, int64_t head, int64_t first, int64_t count) {
    int64_t at = (first * batch + sample) * stride + head * headDim;
    for (int64_t i = 0; i < count; ++i, at += batch * stride)
      if (isBf16)
        widenRow(static_cast<const Bf16 *>(data) + at, buffer.data() + i * headDim, headDim);
      else
        std::copy_n(static_cast<const float *>(data) + at, headDim, buffer.data() + i * headDim);
    return buffer.data();
  }

  void store(void *data, int64_t sample, int64_t head, int64_t first, int64_t count, const float *values) const {
    int64_t at = (first * batch + sample) * stride + head * headDim;
    for (int64_t i = 0; i < count; ++i, at += batch * stride, values += headDim)
      if (isBf16)
        narrowRow(values, static_cast<Bf16 *>(data) + at, headDim);
      else
        std::copy_n(values, headDim, static_cast<float *>(data) + at);
  }

private:
  int64_t batch, headDim, stride;
  bool isBf16;
  std::vector<float> buffer;
};

/// One tile: query rows [row, row + rows) against keys [key, key + keys); may be empty of keys.
struct Tile {
  int64_t row, rows, key, keys;
};

struct Geometry {
  Geometry(const LaunchDesc &desc, unsigned q)
      : queries(desc.refs[q].shape[0]), keys(desc.refs[q + 1].shape[0]), batch(desc.refs[q].shape[1]),
        headDim(desc.ints[0]), heads(desc.refs[q].shape[2] / headDim), kvHeads(desc.refs[q + 1].shape[2] / headDim),
        ratio(desc.ints[1]), shift(desc.offsets[0]), window(desc.ints[3]), causal(desc.ints[2]),
        scale(static_cast<float>(desc.doubles[0])) {}

  /// Keys [first, end) that a query row sees.
  int64_t firstKey(int64_t row) const { return window ? std::clamp<int64_t>(row - window + 1, 0, keys) : 0; }
  int64_t endKey(int64_t row) const { return causal ? std::min(row + 1, keys) : keys; }

  Tile tile(int64_t row) const {
    int64_t rows = std::min(tileRows, queries - row), first = firstKey(row);
    return {row, rows, first, std::max<int64_t>(endKey(row + rows - 1) - first, 0)};
  }
  int64_t firstHead(int64_t kvHead) const { return std::clamp<int64_t>(kvHead * ratio - shift, 0, heads); }
  int64_t lsePosition(int64_t row, int64_t sample, int64_t head) const { return (row * batch + sample) * heads + head; }

  int64_t queries, keys, batch, headDim, heads, kvHeads, ratio, shift, window;
  bool causal;
  float scale;
};

/// scores[rows, keys] = q k^T.
void computeScores(const Geometry &g, const Tile &tile, const float *q, const float *k, float *scores) {
  gemm({false, true, false, tile.rows, tile.keys, g.headDim, g.headDim, g.headDim, tile.keys}, q,
       k + tile.key * g.headDim, scores);
}

class Forward {
public:
  explicit Forward(const LaunchDesc &desc)
      : g(desc, 0), q(desc.refs[0], g.headDim, tileRows), k(desc.refs[1], g.headDim, g.keys),
        v(desc.refs[2], g.headDim, g.keys), o(desc.refs[3], g.headDim, 0), scores(tileRows * g.keys),
        out(tileRows * g.headDim), inverses(tileRows) {}

  void operator()(void *const *data) {
    for (int64_t sample = 0; sample < g.batch; ++sample)
      for (int64_t kv = 0; kv < g.kvHeads; ++kv) {
        int64_t end = g.firstHead(kv + 1);
        if (g.firstHead(kv) == end)
          continue;
        const float *keys = k.load(data[1], sample, kv, 0, g.keys), *values = v.load(data[2], sample, kv, 0, g.keys);
        for (int64_t head = g.firstHead(kv); head < end; ++head)
          for (int64_t row = 0; row < g.queries; row += tileRows)
            runTile(g.tile(row), sample, head, keys, values, data);
      }
  }

private:
  void runTile(const Tile &tile, int64_t sample, int64_t head, const float *keys, const float *values,
               void *const *data) {
    computeScores(g, tile, q.load(data[0], sample, head, tile.row, tile.rows), keys, scores.data());
    for (int64_t i = 0; i < tile.rows; ++i)
      softmaxRow(tile, i, static_cast<float *>(data[4])[g.lsePosition(tile.row + i, sample, head)]);
    gemm({false, false, false, tile.rows, g.headDim, tile.keys, tile.keys, g.headDim, g.headDim}, scores.data(),
         values + tile.key * g.headDim, out.data());
    for (int64_t i = 0; i < tile.rows; ++i)
      scaleRow(out.data() + i * g.headDim, inverses[i], g.headDim);
    o.store(data[3], sample, head, tile.row, tile.rows, out.data());
  }

  /// Leaves exp(score - maximum) in row i of the tile, zero where a key is not seen; the division waits for the output.
  void softmaxRow(const Tile &tile, int64_t i, float &lse) {
    float *row = scores.data() + i * tile.keys;
    int64_t first = std::min(g.firstKey(tile.row + i) - tile.key, tile.keys);
    int64_t end = std::max(g.endKey(tile.row + i) - tile.key, first);
    std::fill(row, row + first, 0.f);
    std::fill(row + end, row + tile.keys, 0.f);
    if (first == end) {
      lse = -std::numeric_limits<float>::infinity();
      inverses[i] = 0;
      return;
    }
    float top = maxRow(row + first, g.scale, end - first);
    float sum = expRow(row + first, g.scale, top, end - first);
    lse = top + std::log(sum);
    inverses[i] = 1 / sum;
  }

  Geometry g;
  HeadTensor q, k, v, o;
  std::vector<float> scores, out, inverses;
};

class Backward {
public:
  explicit Backward(const LaunchDesc &desc)
      : g(desc, 1), dO(desc.refs[0], g.headDim, tileRows), q(desc.refs[1], g.headDim, tileRows),
        k(desc.refs[2], g.headDim, g.keys), v(desc.refs[3], g.headDim, g.keys), o(desc.refs[4], g.headDim, tileRows),
        dq(desc.refs[6], g.headDim, 0), dk(desc.refs[7], g.headDim, 0), dv(desc.refs[8], g.headDim, 0),
        scores(tileRows * g.keys), scoreGrads(tileRows * g.keys), dqTile(tileRows * g.headDim),
        dkSum(g.keys * g.headDim), dvSum(g.keys * g.headDim) {}

  void operator()(void *const *data) {
    for (int64_t sample = 0; sample < g.batch; ++sample)
      for (int64_t kv = 0; kv < g.kvHeads; ++kv) {
        std::fill(dkSum.begin(), dkSum.end(), 0.f);
        std::fill(dvSum.begin(), dvSum.end(), 0.f);
        const float *keys = k.load(data[2], sample, kv, 0, g.keys), *values = v.load(data[3], sample, kv, 0, g.keys);
        for (int64_t head = g.firstHead(kv); head < g.firstHead(kv + 1); ++head)
          for (int64_t row = 0; row < g.queries; row += tileRows)
            runTile(g.tile(row), sample, head, keys, values, data);
        dk.store(data[7], sample, kv, 0, g.keys, dkSum.data());
        dv.store(data[8], sample, kv, 0, g.keys, dvSum.data());
      }
  }

private:
  void runTile(const Tile &tile, int64_t sample, int64_t head, const float *keys, const float *values,
               void *const *data) {
    const float *query = q.load(data[1], sample, head, tile.row, tile.rows);
    const float *grad = dO.load(data[0], sample, head, tile.row, tile.rows);
    const float *output = o.load(data[4], sample, head, tile.row, tile.rows);
    float *p = scores.data(), *dp = scoreGrads.data();
    int64_t offset = tile.key * g.headDim, width = tile.keys;

    computeScores(g, tile, query, keys, p);
    for (int64_t i = 0; i < tile.rows; ++i)
      probabilityRow(tile, i, static_cast<const float *>(data[5])[g.lsePosition(tile.row + i, sample, head)]);
    gemm({true, false, true, width, g.headDim, tile.rows, width, g.headDim, g.headDim}, p, grad, dvSum.data() + offset);
    gemm({false, true, false, tile.rows, width, g.headDim, g.headDim, g.headDim, width}, grad, values + offset, dp);
    for (int64_t i = 0; i < tile.rows; ++i) {
      float delta = dotRow(grad + i * g.headDim, output + i * g.headDim, g.headDim);
      scoreGradRow(p + i * width, delta, g.scale, dp + i * width, width);
    }
    gemm({false, false, false, tile.rows, g.headDim, width, width, g.headDim, g.headDim}, dp, keys + offset,
         dqTile.data());
    dq.store(data[6], sample, head, tile.row, tile.rows, dqTile.data());
    gemm({true, false, true, width, g.headDim, tile.rows, width, g.headDim, g.headDim}, dp, query,
         dkSum.data() + offset);
  }

  void probabilityRow(const Tile &tile, int64_t i, float lse) {
    float *row = scores.data() + i * tile.keys;
    int64_t first = std::min(g.firstKey(tile.row + i) - tile.key, tile.keys);
    int64_t end = std::max(g.endKey(tile.row + i) - tile.key, first);
    std::fill(row, row + first, 0.f);
    std::fill(row + end, row + tile.keys, 0.f);
    expRow(row + first, g.scale, lse, end - first);
  }

  Geometry g;
  HeadTensor dO, q, k, v, o, dq, dk, dv;
  std::vector<float> scores, scoreGrads, dqTile, dkSum, dvSum;
};

} // namespace

LaunchPtr makeAttention(const LaunchDesc &desc) { return makeLaunch(Forward(desc)); }
LaunchPtr makeAttentionGrad(const LaunchDesc &desc) { return makeLaunch(Backward(desc)); }

} // namespace plait::cpu
