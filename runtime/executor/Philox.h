// Philox 4x32-10, the counter-based generator of Salmon et al. (SC 2011): a value depends on (key, counter) only, so
// any rank can draw the numbers of any logical element.
#ifndef PLAIT_RUNTIME_EXECUTOR_PHILOX_H
#define PLAIT_RUNTIME_EXECUTOR_PHILOX_H

#include <array>
#include <cstdint>

namespace plait {

/// Four 32-bit numbers for one 128-bit counter under a 64-bit key.
inline std::array<uint32_t, 4> philox(uint64_t key, std::array<uint32_t, 4> counter) {
  uint32_t key0 = uint32_t(key), key1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t(0xD2511F53u) * counter[0];
    const uint64_t product1 = uint64_t(0xCD9E8D57u) * counter[2];
    counter = {uint32_t(product1 >> 32) ^ counter[1] ^ key0, uint32_t(product1),
               uint32_t(product0 >> 32) ^ counter[3] ^ key1, uint32_t(product0)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

} // namespace plait

#endif
