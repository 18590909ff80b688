// What every backend on host memory shares: arenas and strided copies.
#ifndef PLAIT_RUNTIME_BACKENDS_HOSTBACKEND_H
#define PLAIT_RUNTIME_BACKENDS_HOSTBACKEND_H

#include "runtime/backends/Backend.h"

namespace plait {

class HostBackend : public Backend {
public:
  Result<void *> allocate(uint64_t bytes) override;
  void release(void *memory, uint64_t bytes) override;
  void zero(void *memory, uint64_t bytes) override;
  void copy(const TensorDesc &from, const void *source, const TensorDesc &to, void *target) override;
};

} // namespace plait

#endif
