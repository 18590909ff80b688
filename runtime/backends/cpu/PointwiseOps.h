// The instructions of pointwise programs on blocks of f32 elements.
#ifndef PLAIT_RUNTIME_BACKENDS_CPU_POINTWISEOPS_H
#define PLAIT_RUNTIME_BACKENDS_CPU_POINTWISEOPS_H

#include "runtime/plan/Kernels.h"

namespace plait::cpu {

/// out = op(a, b, c) on n elements; operands that the operation lacks are ignored. out may be one of a, b, c.
using PointwiseFunction = void (*)(float *out, const float *a, const float *b, const float *c, float k0, float k1,
                                   int64_t n);
PointwiseFunction pointwiseFunction(PointwiseOp op);
/// out = a.
PointwiseFunction copyFunction();

} // namespace plait::cpu

#endif
