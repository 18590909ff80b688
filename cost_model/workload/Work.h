// Work: what a launch does, never how long it takes. Interned in the plan; the cost model prices nothing else.
#ifndef PLAIT_COST_MODEL_WORKLOAD_WORK_H
#define PLAIT_COST_MODEL_WORKLOAD_WORK_H

#include "cost_model/problem/Problem.h"
#include "runtime/plan/Kernels.h"
#include <cstdint>
#include <span>
#include <vector>

namespace plait {

struct Work {
  Kernel kernel = Kernel::None;
  std::vector<int64_t> dims;  ///< Gemm {m, n, k}; Attention and its gradient {s, t, b, heads, kv heads, head_dim, causal, window};
                              ///< all others {rows, width}
  DType dtype = DType::F32;   ///< of the main operand
  double flops = 0;           ///< multiply and add count as two; causal attention counts what is not masked
  double bytesRead = 0, bytesWritten = 0;
  bool operator==(const Work &) const = default;
};

/// One operand or result as the launch sees it.
struct WorkRef {
  std::span<const int64_t> shape;
  DType dtype;
};

/// Work of a launch from its refs (operands, then results) and integers, as the kernel catalogue orders them.
/// `pointwiseOps`: instructions of the pointwise program, for its flops.
Work workOf(Kernel kernel, std::span<const WorkRef> refs, std::span<const int64_t> ints, int64_t pointwiseOps = 0);

} // namespace plait

#endif
