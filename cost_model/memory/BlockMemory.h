// Bytes of one block on one device, from its projection, by the rules that lowering follows: every tensor starts on a
// cache line; a saved block input is kept by reference; scratch is first fit by lifetime and shared by all calls.
#ifndef PLAIT_COST_MODEL_MEMORY_BLOCKMEMORY_H
#define PLAIT_COST_MODEL_MEMORY_BLOCKMEMORY_H

#include "cost_model/workload/Projection.h"

namespace plait {

struct BlockMemory {
  uint64_t x = 0, y = 0;           ///< block input and output
  uint64_t tokens = 0, labels = 0; ///< 0: the block reads none
  uint64_t saved = 0, carried = 0; ///< kept from forward to backward; from input gradient to weight gradient
  uint64_t scratch = 0;            ///< temporaries of the phase that needs most
  bool operator==(const BlockMemory &) const = default;
};

/// Bytes rounded up to a cache line.
inline uint64_t lineBytes(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

BlockMemory memoryOf(const BlockProjection &projection);

/// One micro-batch in flight on a stage whose blocks are these.
uint64_t frameBytes(const std::vector<const BlockMemory *> &blocks);
/// Boundary activations and gradients of such a stage.
uint64_t boundaryBytes(const std::vector<const BlockMemory *> &blocks);

} // namespace plait

#endif
