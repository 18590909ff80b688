// Matrix products on oneDNN.
#ifndef PLAIT_RUNTIME_BACKENDS_CPU_GEMM_H
#define PLAIT_RUNTIME_BACKENDS_CPU_GEMM_H

#include <cstdint>

namespace plait::cpu {

/// C[m, n] = op(A) op(B) (+ C if accumulate), f32, row-major with row strides lda, ldb, ldc.
struct GemmShape {
  bool transA = false, transB = false, accumulate = false;
  int64_t m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0;
};
void gemm(const GemmShape &shape, const float *a, const float *b, float *c);

} // namespace plait::cpu

#endif
