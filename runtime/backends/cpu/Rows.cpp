#include "runtime/backends/cpu/Rows.h"
#include "runtime/backends/cpu/VectorMath.h"

namespace plait::cpu {

PLAIT_CLONES void widenRow(const Bf16 *from, float *to, int64_t elements) {
#pragma omp simd
  for (int64_t i = 0; i < elements; ++i)
    to[i] = widen(from[i]);
}

PLAIT_CLONES void narrowRow(const float *from, Bf16 *to, int64_t elements) {
#pragma omp simd
  for (int64_t i = 0; i < elements; ++i)
    to[i] = narrow(from[i]);
}

} // namespace plait::cpu
