// Initial weights that do not depend on the plan: element i of tensor t is a function of (seed, t, i), computed without
// the platform's math library, so that every layout on every machine starts from the same bits.
#ifndef PLAIT_RUNTIME_EXECUTOR_INITIALWEIGHTS_H
#define PLAIT_RUNTIME_EXECUTOR_INITIALWEIGHTS_H

#include "runtime/plan/plan.pb.h"
#include <cstdint>
#include <span>

namespace plait {

/// Natural logarithm of x > 0 (normal numbers), within 2 units in the last place.
double portableLog(double x);
/// Cosine and sine of 2 pi t, 0 <= t <= 1.
struct CosSin {
  double cos, sin;
};
CosSin portableCosSin(double turns);

/// Elements [first, first + out.size()) of tensor `tensor` (index into plan.tensors), flat and row-major.
void initialElements(const pb::Init &init, uint64_t seed, uint32_t tensor, uint64_t first, std::span<float> out);

} // namespace plait

#endif
