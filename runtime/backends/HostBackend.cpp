#include "runtime/backends/HostBackend.h"
#include "runtime/backends/BFloat16.h"
#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace plait {

// Anonymous pages are zero and page aligned; an address range that cannot be had is an error here, not a signal later.
Result<void *> HostBackend::allocate(uint64_t bytes) {
  void *memory =
      ::mmap(nullptr, std::max<uint64_t>(bytes, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Error{ExitCode::Runtime, name() + " backend: out of memory: an arena of " + std::to_string(bytes) +
                                        " bytes cannot be allocated: " + std::strerror(errno)};
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

void HostBackend::release(void *memory, uint64_t bytes) {
  if (memory)
    ::munmap(memory, std::max<uint64_t>(bytes, 1));
}

void HostBackend::zero(void *memory, uint64_t bytes) { std::memset(memory, 0, bytes); }

static void copyRow(DType fromType, const void *source, DType toType, void *target, int64_t elements) {
  if (fromType == toType) {
    std::memcpy(target, source, elements * bytesOf(fromType));
  } else if (fromType == DType::BF16 && toType == DType::F32) {
    auto *in = static_cast<const Bf16 *>(source);
    auto *out = static_cast<float *>(target);
    for (int64_t i = 0; i < elements; ++i)
      out[i] = widen(in[i]);
  } else if (fromType == DType::F32 && toType == DType::BF16) {
    auto *in = static_cast<const float *>(source);
    auto *out = static_cast<Bf16 *>(target);
    for (int64_t i = 0; i < elements; ++i)
      out[i] = narrow(in[i]);
  }
}

void HostBackend::copy(const TensorDesc &from, const void *source, const TensorDesc &to, void *target) {
  // Dimensions that both sides store without a gap travel as one row.
  int leading = static_cast<int>(from.shape.size());
  int64_t elements = 1;
  while (leading > 0 && from.stride[leading - 1] == elements && to.stride[leading - 1] == elements)
    elements *= from.shape[--leading];
  if (std::find(from.shape.begin(), from.shape.end(), 0) != from.shape.end())
    return;

  std::vector<int64_t> index(leading, 0);
  for (;;) {
    int64_t in = 0, out = 0;
    for (int d = 0; d < leading; ++d) {
      in += index[d] * from.stride[d];
      out += index[d] * to.stride[d];
    }
    copyRow(from.dtype, static_cast<const char *>(source) + in * bytesOf(from.dtype), to.dtype,
            static_cast<char *>(target) + out * bytesOf(to.dtype), elements);
    int d = leading - 1;
    while (d >= 0 && ++index[d] == from.shape[d])
      index[d--] = 0;
    if (d < 0)
      return;
  }
}

} // namespace plait
