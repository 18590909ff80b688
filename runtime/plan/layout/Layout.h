// Layouts: who holds which boxes of one logical tensor. Boxes may overlap (shared KV heads, replicas), be uneven, and be
// pending: the value held there is one addend of the tensor's value.
#ifndef PLAIT_RUNTIME_PLAN_LAYOUT_LAYOUT_H
#define PLAIT_RUNTIME_PLAN_LAYOUT_LAYOUT_H

#include "runtime/plan/Result.h"
#include "runtime/plan/layout/Box.h"

namespace plait {

/// One box of a tensor on one rank.
struct Residence {
  static constexpr uint32_t kOwnAddend = ~0u;
  uint32_t rank = 0;
  Box box;
  bool pending = false;          ///< the value is an addend
  uint32_t addend = kOwnAddend;  ///< pending residences with equal ids hold copies of one addend
  bool operator==(const Residence &) const = default;
};

/// Error Internal names the first residence whose box does not lie in the shape, or a shape with an extent <= 0.
Status checkResidences(const std::vector<int64_t> &shape, const std::vector<Residence> &residences);

/// A box whose elements all have the same holders.
struct Atom {
  Box box;
  std::vector<uint32_t> holders; ///< indices into the residences, ascending; empty: nobody holds these elements
  bool operator==(const Atom &) const = default;
};

/// Disjoint atoms that cover the tensor, in row-major order of their starts. Neighbours with equal holders are merged,
/// last dimension first, so that residences split in one dimension give the fewest atoms there are.
/// Precondition: checkResidences.
std::vector<Atom> atoms(const std::vector<int64_t> &shape, const std::vector<Residence> &residences);

/// Sorted, distinct boundaries of the boxes in each dimension of the shape, with 0 and the extent.
std::vector<std::vector<int64_t>> boundaries(const std::vector<int64_t> &shape, const std::vector<Box> &boxes);

} // namespace plait

#endif
