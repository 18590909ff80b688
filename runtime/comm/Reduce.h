// Elementwise reduction of several members' vectors, in member order.
#ifndef PLAIT_RUNTIME_COMM_REDUCE_H
#define PLAIT_RUNTIME_COMM_REDUCE_H

#include "runtime/plan/DType.h"
#include "runtime/plan/plan.pb.h"
#include <cstdint>
#include <span>

namespace plait {

/// out[e] = in[0][e] (+ or max) in[1][e] ... for e < elements. Sums of f32 run in f32, of bf16 in f32 rounded once to
/// nearest even, of f64 in f64, of i32 modulo 2^32; a NaN operand makes a NaN maximum. `out` may be one of the inputs
/// and must not overlap them otherwise. dtype is F32, BF16, F64 or I32.
void reduceInOrder(std::span<const void *const> in, void *out, uint64_t elements, DType dtype, pb::ReduceKind reduce);

} // namespace plait

#endif
