// Elementary functions that the compiler vectorises, and the attribute that compiles a loop for several CPUs.
//
// Accuracy (f32): about 2 units in the last place for exp, sigmoid, tanh and erf. The polynomials are Chebyshev fits
// over the ranges named beside them. NaN goes through; denormal results depend on the flush-to-zero mode.
#ifndef PLAIT_RUNTIME_BACKENDS_CPU_VECTORMATH_H
#define PLAIT_RUNTIME_BACKENDS_CPU_VECTORMATH_H

#include <bit>
#include <cmath>
#include <cstdint>

// One function, compiled for AVX-512, AVX2 and plain x86-64, chosen when the program starts. Sanitizers instrument the
// chooser, which runs before they are ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define PLAIT_CLONES __attribute__((noinline, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PLAIT_CLONES __attribute__((noinline))
#endif
#define PLAIT_INLINE inline __attribute__((always_inline))

namespace plait::cpu {

/// e^x = 2^n e^r with r in [-0.35, 0.35]. The power of two is applied in two steps, so that n = 128 does not overflow
/// before the product does.
PLAIT_INLINE float vexp(float x) {
  x = x < -104.f ? -104.f : x;
  x = x > 89.f ? 89.f : x;
  constexpr float rounding = 12582912.f; // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  float shifted = x * 1.44269504f + rounding;
  float n = shifted - rounding;
  float r = x - n * 0.693359375f - n * -2.12194440e-4f;
  float p = 0.001394214784f;
  p = p * r + 0.008375958627f;
  p = p * r + 0.04166634029f;
  p = p * r + 0.1666640542f;
  p = p * r + 0.500000005f;
  p = p * r + 1.00000004f;
  p = p * r + 1.f;
  int32_t power = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(rounding), half = power >> 1;
  return p * std::bit_cast<float>((half + 127) << 23) * std::bit_cast<float>((power - half + 127) << 23);
}

// The clamp is at 80 because a limit near 88 lets the compiler fold the branch into a denormal constant.
PLAIT_INLINE float vsigmoid(float x) {
  x = x < -80.f ? -80.f : x;
  x = x > 80.f ? 80.f : x;
  return 1.f / (1.f + vexp(-x));
}

/// A polynomial below 0.625, else 1 - 2 / (e^2|x| + 1).
PLAIT_INLINE float vtanh(float x) {
  float magnitude = std::fabs(x), square = x * x;
  float p = -0.005657135184f;
  p = p * square + 0.02058819145f;
  p = p * square - 0.05372010766f;
  p = p * square + 0.1333111406f;
  p = p * square - 0.3333325986f;
  p = p * square + 0.999999996f;
  float large = std::copysign(1.f - 2.f / (vexp(magnitude + magnitude) + 1.f), x);
  return magnitude < 0.625f ? p * x : large;
}

/// A polynomial below 1, else 1 - e^(-x^2) q(1 / (1 + |x| / 2)); 1 beyond 4.
PLAIT_INLINE float verf(float x) {
  float magnitude = std::fabs(x), square = x * x;
  float p = -9.667044571e-6f;
  p = p * square + 0.0001126595903f;
  p = p * square - 0.0008484080406f;
  p = p * square + 0.005221031808f;
  p = p * square - 0.02686543073f;
  p = p * square + 0.112837825f;
  p = p * square - 0.3761263847f;
  p = p * square + 1.128379167f;
  float clamped = magnitude > 4.f ? 4.f : magnitude, t = 1.f / (1.f + 0.5f * clamped);
  float q = -0.05363042808f;
  q = q * t - 0.05706519996f;
  q = q * t + 0.4034950533f;
  q = q * t + 0.1014954124f;
  q = q * t + 0.3307571337f;
  q = q * t + 0.2736343401f;
  q = q * t + 0.000605118391f;
  float large = std::copysign(1.f - vexp(-clamped * clamped) * q, x);
  return magnitude < 1.f ? p * x : large;
}

} // namespace plait::cpu

#endif
