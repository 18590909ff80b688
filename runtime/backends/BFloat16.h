// Conversions between f32, f64 and bf16 (the upper half of an f32). Rounding is to nearest, ties to even; a NaN stays a
// quiet NaN. Branch free, so that loops over rows vectorise.
#ifndef PLAIT_RUNTIME_BACKENDS_BFLOAT16_H
#define PLAIT_RUNTIME_BACKENDS_BFLOAT16_H

#include <bit>
#include <cmath>
#include <cstdint>

namespace plait {

/// Storage of one bf16 element.
using Bf16 = uint16_t;

inline float widen(Bf16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

inline Bf16 narrow(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<Bf16>((isNan ? bits | 0x400000 : rounded) >> 16);
}

/// Rounds once: going through f32 would turn values just beside the middle of two bf16 into ties.
inline Bf16 narrow(double value) {
  float nearest = static_cast<float>(value);
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if ((bits & 0xffff) == 0x8000 && nearest != value && !std::isnan(value))
    bits += std::fabs(value) > std::fabs(nearest) ? 1u : -1u;
  return narrow(std::bit_cast<float>(bits));
}

} // namespace plait

#endif
