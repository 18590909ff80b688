// Typed vectors of small integers, which every element type holds and sums exactly, so that expected results are closed
// forms and do not depend on rounding.
#ifndef PLAIT_RUNTIME_CONFORMANCE_ELEMENTS_H
#define PLAIT_RUNTIME_CONFORMANCE_ELEMENTS_H

#include "runtime/comm/Communicator.h"

namespace plait {

/// In [-6, 6]: what `member` contributes at `element` in a test with this salt.
int64_t sampleValue(uint32_t member, uint64_t element, uint32_t salt);

void setElement(void *data, uint64_t element, DType dtype, int64_t value);
double getElement(const void *data, uint64_t element, DType dtype);

/// Memory of a rank: from the arena if asked for and there is one, else private.
class Buffer {
public:
  Buffer(Communicator &communicator, uint64_t bytes, bool fromArena);
  char *data() { return memory; }

private:
  std::vector<double> own; ///< aligned for every type
  char *memory;
};

} // namespace plait

#endif
