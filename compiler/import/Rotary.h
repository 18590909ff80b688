// Rotary position embedding as explicit numbers: the frequency of every pair of elements and a factor on cosine and
// sine, whatever scaling the configuration names. Everything is computed in double.
//
// Definitions: rotation of position p and pair j by the angle p * theta^(-2j/d) (RoFormer); "linear" divides the
// frequencies (position interpolation); "llama3" divides the slow ones and blends between (Llama 3.1); "yarn" blends by
// the number of rotations and scales cosine and sine by 0.1 ln(factor) + 1 (YaRN, arXiv 2309.00071).
#ifndef PLAIT_COMPILER_IMPORT_ROTARY_H
#define PLAIT_COMPILER_IMPORT_ROTARY_H

#include "compiler/import/ConfigReader.h"
#include <vector>

namespace plait {

struct Rotary {
  int64_t dim = 0;             ///< leading elements of each head that rotate; even; 0: none
  std::vector<double> invFreq; ///< dim / 2 angles per position, in radians
  double factor = 1;           ///< multiplies cosine and sine
  bool operator==(const Rotary &) const = default;
};

/// What the configuration's own keys give before scaling.
struct RotaryDefaults {
  double theta = 10000;
  double partial = 1; ///< share of the head that rotates
  int64_t headDim = 0, maxPositions = 0;
};

/// Reads `rope_scaling` or its later name `rope_parameters` (which may also hold rope_theta and
/// partial_rotary_factor). Problems, such as an unknown rope type or a scaling that depends on the sequence length, are
/// left in `reader`.
Rotary readRotary(ConfigReader &reader, RotaryDefaults defaults);

} // namespace plait

#endif
