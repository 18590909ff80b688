// The kernel catalogue: the contract between whoever emits a launch (the model dialect's ops through projection) and
// whoever runs or prices one (backends, reference, cost model). A launch names a kernel, operand refs (inputs, then
// results), integers, doubles and offsets, in the order given here. Shapes come from the refs, never from elsewhere.
//
// Tensors are sequence-major: activations are [s, b, width]; a row index is t = position * batch + sample, so a split
// of the sequence is contiguous. "rows" flattens all leading dimensions. Storage is f32 or bf16 (DType of the ref);
// arithmetic is f32 (f64 in reference mode); statistics, losses and parameter gradients are f32.
// "accumulates" means += into the result.
#ifndef PLAIT_RUNTIME_PLAN_KERNELS_H
#define PLAIT_RUNTIME_PLAN_KERNELS_H

#include <cstdint>
#include <string_view>

namespace plait {

enum class Kernel : uint32_t {
  None = 0,
  /// A, B -> C. ints {transA, transB, accumulate}. Operands are flattened to matrices [rows, last]; C = op(A) op(B).
  Gemm = 1,
  /// dy[rows, n] -> db[n], accumulates: sum over rows.
  BiasGrad = 2,
  /// x[.., n], w[d] -> y, rstd. Normalises each run of d elements (d divides n); rstd has one f32 per run.
  /// doubles {eps}.
  RmsNorm = 3,
  /// dy, x, w[d], rstd -> dx.
  RmsNormGrad = 4,
  /// dy, x, rstd -> dw[d], accumulates.
  RmsNormGradWeight = 5,
  /// x, w[n], b[n] -> y, mean, rstd. doubles {eps}.
  LayerNorm = 6,
  /// dy, x, w, mean, rstd -> dx.
  LayerNormGrad = 7,
  /// dy, x, mean, rstd -> dw[n], db[n], both accumulate.
  LayerNormGradWeight = 8,
  /// x[s, b, heads*head_dim] -> y. ints {head_dim, rotary_dim, interleaved, inverse}; doubles {inv_freq[rotary_dim/2]...,
  /// factor}: cos and sin are multiplied by factor. inverse negates the sine (the backward). offsets {first position}.
  /// interleaved 0 is Hugging Face's half split: element j pairs with j + rotary_dim/2.
  Rope = 9,
  /// q[s, b, h*head_dim], k[t, b, g*head_dim], v[t, b, g*head_dim] -> o like q, lse[s, b, h] f32.
  /// ints {head_dim, ratio, causal, window}; window 0 is none, else key t is seen from s if s - t < window.
  /// doubles {scale}. offsets {head_shift}: local query head j reads local KV head (j + head_shift) / ratio.
  Attention = 10,
  /// do, q, k, v, o, lse -> dq, dk, dv. As Attention. dk and dv are sums over the local query heads only.
  AttentionGrad = 11,
  /// tokens[s, b] i32, w[v, e] -> y[s, b, e]. offsets {first id}: ids outside [first, first + v) give zero rows.
  Embedding = 12,
  /// dy[s, b, e], tokens[s, b] -> dw[v, e], accumulates. offsets {first id}.
  EmbeddingGrad = 13,
  /// x[s, b, e], w[p, e] -> y = x + w[position]. offsets {first position}.
  PositionEmbedding = 14,
  /// dy[s, b, e] -> dw[p, e], accumulates. offsets {first position}.
  PositionEmbeddingGrad = 15,
  /// inputs... -> outputs...: the launch's pointwise program on every element. ROW inputs have the last dimension only.
  Pointwise = 16,
  /// logits[s, b, v] -> m[s, b] f32: maximum of each row.
  RowMax = 17,
  /// logits[s, b, v], m[s, b] -> z[s, b] f32: sum of exp(logit - m).
  RowSumExp = 18,
  /// logits[s, b, v], labels[s, b] i32 -> t[s, b] f32: the label's logit if first <= label < first + v, else 0.
  /// offsets {first id}.
  RowPick = 19,
  /// m, z, t, labels -> lse[s, b] f32 (= m + log z), loss[1] f32, which accumulates sum(lse - t) over labels >= 0.
  CrossEntropy = 20,
  /// logits[s, b, v], lse[s, b], labels[s, b], scale[1] f32 -> dlogits: (exp(logit - lse) - [label]) * scale; zero rows
  /// where label < 0. offsets {first id}.
  CrossEntropyGrad = 21,
};

/// Name as printed in IR, traces and messages ("gemm", "rms_norm", ...); "?" if unknown.
std::string_view kernelName(Kernel kernel);
/// Inverse of kernelName; Kernel::None if there is no such kernel.
Kernel kernelByName(std::string_view name);

/// Instructions of a pointwise program; `k0`, `k1` are immediates.
enum class PointwiseOp : uint32_t {
  None = 0, Add = 1, Sub = 2, Mul = 3, Div = 4, Neg = 5,
  Axpby = 6,     ///< k0*a + k1*b
  ScaleAdd = 7,  ///< k0*a + k1
  Fma = 8,       ///< a*b + c
  Exp = 9, Sigmoid = 10, Tanh = 11, Erf = 12, Sqrt = 13, Rsqrt = 14, Max = 15, Min = 16,
};
std::string_view pointwiseOpName(PointwiseOp op);
PointwiseOp pointwiseOpByName(std::string_view name);
/// Number of stream operands of op (1, 2 or 3).
unsigned pointwiseArity(PointwiseOp op);

} // namespace plait

#endif
