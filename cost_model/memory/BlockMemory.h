// Where the values of a projected block stand in a device's memory, and how many bytes that takes. The one copy of these
// rules: the search prices memory with them, lowering places values with them.
//
// Every tensor starts on a cache line; a saved block input is kept by reference; scratch is first fit by lifetime and
// shared by all calls.
#ifndef PLAIT_COST_MODEL_MEMORY_BLOCKMEMORY_H
#define PLAIT_COST_MODEL_MEMORY_BLOCKMEMORY_H

#include "cost_model/workload/Projection.h"

namespace plait {

inline constexpr uint64_t kLineBytes = 64;
/// Bytes rounded up to a cache line.
inline uint64_t lineBytes(uint64_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

/// Where a block keeps what crosses phases, relative to the beginning of the area. An entry that is kept by reference (a
/// block input, which stands elsewhere anyway) has offset kByReference.
inline constexpr uint64_t kByReference = ~uint64_t(0);
struct CrossingArea {
  std::vector<uint64_t> offsets; ///< per entry of PhaseProjection::saved or carried
  uint64_t bytes = 0;
};
struct BlockFrame {
  CrossingArea saved, carried; ///< from forward to backward; from input gradient to weight gradient
};
/// `projection` is any coordinate's (the sizes of merged coordinates are equal).
BlockFrame frameOf(const BlockProjection &projection);

/// A contiguous piece of memory that a phase uses.
struct UsedArea {
  enum Kind { X, Dy, Tokens, Labels, LossScale, Param, ParamGrad, Loss, Saved, Carried, Y, Dx, Scratch } kind = X;
  Id param = kNone; ///< Param, ParamGrad: index into BlockSummary::params
  uint64_t bytes = 0;
};
struct ValuePlace {
  uint32_t area = kNone; ///< index into PhasePlaces::areas
  uint64_t offset = 0;   ///< bytes
};
struct PhasePlaces {
  std::vector<UsedArea> areas;
  std::vector<ValuePlace> values;                 ///< per local value; a view stands inside its root, whose place counts
  std::vector<std::pair<Id, ValuePlace>> copies;  ///< values that must also stand elsewhere when the phase ends
  uint64_t scratchBytes = 0;
};
/// The local value that `local` is a view of, directly or through others; itself if it is none.
Id rootOf(const PhaseProjection &phase, Id local);
PhasePlaces placesOf(const PhaseProjection &phase, const BlockFrame &frame);

/// Bytes of one block on one device.
struct BlockMemory {
  uint64_t x = 0, y = 0;           ///< block input and output
  uint64_t tokens = 0, labels = 0; ///< 0: the block reads none
  uint64_t saved = 0, carried = 0; ///< as in BlockFrame
  uint64_t scratch = 0;            ///< temporaries of the phase that needs most
  bool operator==(const BlockMemory &) const = default;
};
BlockMemory memoryOf(const BlockProjection &projection);

/// Offsets inside the frame of one micro-batch.
struct FrameLayout {
  struct Use {
    uint64_t x = 0, saved = 0, carried = 0;
  };
  uint64_t tokens = 0, labels = 0;
  std::vector<Use> uses; ///< per block of the stage
};
/// Bytes of one micro-batch in flight on a stage whose blocks are these; fills `layout` if it is given.
uint64_t frameBytes(const std::vector<const BlockMemory *> &blocks, FrameLayout *layout = nullptr);

/// Offsets of boundary buffers: the result, its gradient, the second buffer between blocks, and the gradient that leaves.
struct BoundaryLayout {
  uint64_t y = 0, dy = 0, between = 0, dx = 0;
};
/// Bytes of the boundary activations and gradients of such a stage; fills `layout` if it is given.
uint64_t boundaryBytes(const std::vector<const BlockMemory *> &blocks, BoundaryLayout *layout = nullptr);

} // namespace plait

#endif
