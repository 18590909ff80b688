#include "runtime/executor/InitialWeights.h"
#include "runtime/executor/Philox.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace plait {

double portableLog(double x) {
  // x = m * 2^exponent with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m - 1) / (m + 1)).
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  int exponent = int(bits >> 52) - 1023;
  bits = (bits & 0xFFFFFFFFFFFFFull) | (1023ull << 52);
  double m;
  std::memcpy(&m, &bits, sizeof m);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1), z = s * s;
  double series = 0;
  for (int k = 23; k >= 1; k -= 2)
    series = series * z + 1.0 / k;
  return 2 * s * series + exponent * 0.69314718055994530942;
}

CosSin portableCosSin(double turns) {
  const int quarter = int(4 * turns + 0.5);
  const double x = (turns - quarter * 0.25) * 6.28318530717958647693, z = x * x; // |x| <= pi / 4
  double c = 1, s = 1;
  for (int k = 16; k >= 2; k -= 2) {
    c = 1 - c * z / (k * (k - 1));
    s = 1 - s * z / (k * (k + 1));
  }
  s *= x;
  switch (quarter & 3) {
  case 0: return {c, s};
  case 1: return {-s, c};
  case 2: return {-c, -s};
  default: return {s, -c};
  }
}

namespace {

/// The four normal numbers of one Philox block, by Box and Muller's transform.
std::array<double, 4> normals(uint64_t seed, uint32_t tensor, uint64_t block) {
  const std::array<uint32_t, 4> bits = philox(seed, {uint32_t(block), uint32_t(block >> 32), tensor, 0});
  std::array<double, 4> result;
  for (int pair = 0; pair < 2; ++pair) {
    const double uniform = (bits[2 * pair] + 0.5) * 0x1p-32; // never 0 or 1
    const double radius = std::sqrt(-2 * portableLog(uniform));
    const CosSin angle = portableCosSin(bits[2 * pair + 1] * 0x1p-32);
    result[2 * pair] = radius * angle.cos;
    result[2 * pair + 1] = radius * angle.sin;
  }
  return result;
}

} // namespace

void initialElements(const pb::Init &init, uint64_t seed, uint32_t tensor, uint64_t first, std::span<float> out) {
  if (init.kind() != pb::Init::NORMAL) {
    std::fill(out.begin(), out.end(), init.kind() == pb::Init::ONES ? 1.0f : 0.0f);
    return;
  }
  for (size_t i = 0; i < out.size();) {
    const uint64_t element = first + i;
    const std::array<double, 4> block = normals(seed, tensor, element / 4);
    for (uint64_t lane = element % 4; lane < 4 && i < out.size(); ++lane, ++i)
      out[i] = float(init.std() * block[lane]);
  }
}

} // namespace plait
