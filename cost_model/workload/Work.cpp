#include "cost_model/workload/Work.h"
#include <algorithm>
#include <numeric>

namespace plait {

static int64_t elementsOf(const WorkRef &ref) {
  return std::accumulate(ref.shape.begin(), ref.shape.end(), int64_t(1), std::multiplies<>());
}
static double bytesOf(const WorkRef &ref) { return double(elementsOf(ref)) * bytesOf(ref.dtype); }

/// (query, key) pairs that are not masked, per sample and head.
static double visiblePairs(int64_t s, int64_t t, bool causal, int64_t window) {
  if (!causal && window == 0)
    return double(s) * t;
  double pairs = 0;
  if (window == 0 && s == t)
    return double(s) * (s + 1) / 2;
  for (int64_t row = 0; row < s; ++row) {
    int64_t last = causal ? std::min(row + (t - s) + 1, t) : t;
    int64_t first = window ? std::max<int64_t>(row + (t - s) - window + 1, 0) : 0;
    pairs += std::max<int64_t>(last - first, 0);
  }
  return pairs;
}

static unsigned operandCount(Kernel kernel, size_t refs) {
  switch (kernel) {
  case Kernel::Gemm: return 2;
  case Kernel::BiasGrad: return 1;
  case Kernel::RmsNorm: return 2;
  case Kernel::RmsNormGrad: return 4;
  case Kernel::RmsNormGradWeight: return 3;
  case Kernel::LayerNorm: return 3;
  case Kernel::LayerNormGrad: return 5;
  case Kernel::LayerNormGradWeight: return 4;
  case Kernel::Rope: return 1;
  case Kernel::Attention: return 3;
  case Kernel::AttentionGrad: return 6;
  case Kernel::Embedding:
  case Kernel::EmbeddingGrad:
  case Kernel::PositionEmbedding: return 2;
  case Kernel::PositionEmbeddingGrad: return 1;
  case Kernel::RowMax: return 1;
  case Kernel::RowSumExp:
  case Kernel::RowPick: return 2;
  case Kernel::CrossEntropy: return 4;
  case Kernel::CrossEntropyGrad: return 4;
  case Kernel::Pointwise:
  case Kernel::None: break;
  }
  return refs ? unsigned(refs - 1) : 0;
}

/// Arithmetic per element of the main operand, multiply and add counted apart; memory-bound kernels are priced by
/// bytes, so these only keep totals honest.
static double flopsPerElement(Kernel kernel) {
  switch (kernel) {
  case Kernel::BiasGrad: return 1;
  case Kernel::RmsNorm: return 4;
  case Kernel::RmsNormGrad: return 8;
  case Kernel::RmsNormGradWeight: return 3;
  case Kernel::LayerNorm: return 7;
  case Kernel::LayerNormGrad: return 11;
  case Kernel::LayerNormGradWeight: return 5;
  case Kernel::Rope: return 3;
  case Kernel::EmbeddingGrad:
  case Kernel::PositionEmbedding:
  case Kernel::PositionEmbeddingGrad:
  case Kernel::RowMax: return 1;
  case Kernel::RowSumExp: return 3;
  case Kernel::CrossEntropy: return 4;
  case Kernel::CrossEntropyGrad: return 4;
  default: return 0;
  }
}

/// Results that are added to are read as well.
static bool accumulates(Kernel kernel, std::span<const int64_t> ints) {
  switch (kernel) {
  case Kernel::Gemm: return ints.size() > 2 && ints[2];
  case Kernel::BiasGrad:
  case Kernel::RmsNormGradWeight:
  case Kernel::LayerNormGradWeight:
  case Kernel::EmbeddingGrad:
  case Kernel::PositionEmbeddingGrad: return true;
  default: return false;
  }
}

/// Gathering and scattering kernels touch the rows that the ids name, not the whole table.
static void tableBytes(Kernel kernel, std::span<const WorkRef> refs, Work &work) {
  if (kernel == Kernel::Embedding) {
    work.bytesRead = bytesOf(refs[0]) + bytesOf(refs[2]);
  } else if (kernel == Kernel::EmbeddingGrad) {
    double rows = double(elementsOf(refs[0])) * bytesOf(refs[2].dtype);
    work.bytesRead = bytesOf(refs[0]) + bytesOf(refs[1]) + rows;
    work.bytesWritten = rows;
  } else if (kernel == Kernel::RowPick) {
    work.bytesRead = 2 * bytesOf(refs[1]);
  }
}

Work workOf(Kernel kernel, std::span<const WorkRef> refs, std::span<const int64_t> ints, int64_t pointwiseOps) {
  Work work;
  work.kernel = kernel;
  if (refs.empty())
    return work;
  work.dtype = refs[0].dtype;
  unsigned operands = operandCount(kernel, refs.size());
  for (size_t i = 0; i < refs.size(); ++i) {
    double bytes = bytesOf(refs[i]);
    if (i < operands || accumulates(kernel, ints))
      work.bytesRead += bytes;
    if (i >= operands)
      work.bytesWritten += bytes;
  }
  if (kernel == Kernel::Gemm) {
    int64_t n = refs[2].shape.back(), m = elementsOf(refs[2]) / std::max<int64_t>(n, 1);
    int64_t last = refs[0].shape.back();
    int64_t k = ints[0] ? elementsOf(refs[0]) / std::max<int64_t>(last, 1) : last;
    work.dims = {m, n, k};
    work.flops = 2.0 * m * n * k;
  } else if (kernel == Kernel::Attention || kernel == Kernel::AttentionGrad) {
    const WorkRef &q = refs[kernel == Kernel::Attention ? 0 : 1], &k = refs[kernel == Kernel::Attention ? 1 : 2];
    int64_t headDim = ints[0], heads = q.shape[2] / headDim;
    work.dims = {q.shape[0], k.shape[0], q.shape[1], heads, k.shape[2] / headDim, headDim, ints[2], ints[3]};
    // Two products forward; five backward (the scores again, dv, dp, dq, dk).
    double products = kernel == Kernel::Attention ? 2 : 5;
    work.flops = products * 2 * q.shape[1] * heads * headDim * visiblePairs(q.shape[0], k.shape[0], ints[2], ints[3]);
    work.dtype = q.dtype;
  } else {
    const WorkRef &main = kernel == Kernel::Embedding ? refs[2] : refs[0];
    int64_t width = main.shape.empty() ? 1 : main.shape.back();
    work.dims = {width ? elementsOf(main) / width : 0, width};
    work.dtype = main.dtype;
    work.flops = double(elementsOf(main)) * (kernel == Kernel::Pointwise ? double(pointwiseOps) : flopsPerElement(kernel));
    tableBytes(kernel, refs, work);
  }
  return work;
}

} // namespace plait
