#include "compiler/import/Rotary.h"
#include <algorithm>
#include <cmath>

namespace plait {

static constexpr double kTwoPi = 6.283185307179586476925286766559;
static constexpr double kMaxFactor = 1e6;

static void scaleLlama3(ConfigReader &scaling, const RotaryDefaults &, Rotary &rotary) {
  double factor = scaling.number("factor", std::nullopt, 1, kMaxFactor);
  double low = scaling.number("low_freq_factor", std::nullopt, 1e-6, kMaxFactor);
  double high = scaling.number("high_freq_factor", std::nullopt, 1e-6, kMaxFactor);
  double original = double(scaling.integer("original_max_position_embeddings", std::nullopt, {1, INT32_MAX}));
  if (high <= low)
    scaling.fail("high_freq_factor", "must be greater than low_freq_factor");
  for (double &frequency : rotary.invFreq) {
    double rotations = original * frequency / kTwoPi; // within the original context
    double keep = std::clamp((rotations - low) / (high - low), 0.0, 1.0);
    frequency *= keep + (1 - keep) / factor;
  }
}

/// Pair index at which the original context holds `rotations` full turns.
static double pairOfRotations(double rotations, const Rotary &rotary, double theta, double original) {
  return double(rotary.dim) * std::log(original / (rotations * kTwoPi)) / (2 * std::log(theta));
}

/// Growth of the attention logits' temperature that YaRN recommends.
static double yarnTemperature(double factor, double weight) {
  return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1;
}

static void scaleYarn(ConfigReader &scaling, const RotaryDefaults &defaults, Rotary &rotary) {
  double original = double(
      scaling.integer("original_max_position_embeddings", defaults.maxPositions, {1, INT32_MAX}));
  double factor = scaling.number("factor", double(defaults.maxPositions) / original, 1, kMaxFactor);
  double fast = scaling.number("beta_fast", 32, 1e-6, kMaxFactor);
  double slow = scaling.number("beta_slow", 1, 1e-6, kMaxFactor);
  std::optional<double> weight = scaling.optionalNumber("mscale", 0, kMaxFactor);
  std::optional<double> weightAll = scaling.optionalNumber("mscale_all_dim", 0, kMaxFactor);
  std::optional<double> attention = scaling.optionalNumber("attention_factor", 1e-6, kMaxFactor);
  bool truncate = scaling.boolean("truncate", true);

  double low = pairOfRotations(fast, rotary, defaults.theta, original);
  double high = pairOfRotations(slow, rotary, defaults.theta, original);
  if (truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, double(rotary.dim - 1));
  if (low == high)
    high += 0.001;
  for (size_t pair = 0; pair < rotary.invFreq.size(); ++pair) {
    double interpolate = std::clamp((double(pair) - low) / (high - low), 0.0, 1.0);
    rotary.invFreq[pair] *= interpolate / factor + (1 - interpolate);
  }
  if (attention)
    rotary.factor = *attention;
  else if (weight.value_or(0) != 0 && weightAll.value_or(0) != 0)
    rotary.factor = yarnTemperature(factor, *weight) / yarnTemperature(factor, *weightAll);
  else
    rotary.factor = yarnTemperature(factor, 1);
}

static void applyScaling(ConfigReader &scaling, const std::string &typeKey, const RotaryDefaults &defaults,
                         Rotary &rotary) {
  std::string type = scaling.string(typeKey, "default");
  if (type == "linear") {
    double factor = scaling.number("factor", std::nullopt, 1, kMaxFactor);
    for (double &frequency : rotary.invFreq)
      frequency /= factor;
  } else if (type == "llama3")
    scaleLlama3(scaling, defaults, rotary);
  else if (type == "yarn")
    scaleYarn(scaling, defaults, rotary);
  else if (type == "dynamic" || type == "longrope" || type == "su")
    scaling.fail(typeKey, "its frequencies depend on the length of each sequence, which a plan cannot hold; what "
                          "works: default, linear, llama3, yarn");
  else if (type != "default")
    scaling.fail(typeKey, "unknown rope type; known: default, linear, llama3, yarn");
}

Rotary readRotary(ConfigReader &reader, RotaryDefaults defaults) {
  Rotary rotary;
  if (reader.has("rope_scaling") && reader.has("rope_parameters"))
    reader.fail("'rope_scaling' and 'rope_parameters' are two names of one setting; keep one");
  std::string key = reader.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  reader.ignore({"rope_scaling", "rope_parameters"});
  ConfigReader scaling = reader.object(key);
  defaults.theta = scaling.number("rope_theta", defaults.theta, 1.0000001, 1e15);
  defaults.partial = scaling.number("partial_rotary_factor", defaults.partial, 0, 1);

  rotary.dim = int64_t(double(defaults.headDim) * defaults.partial);
  if (rotary.dim % 2 != 0 || rotary.dim == 0)
    reader.fail("the rotary embedding covers " + std::to_string(rotary.dim) + " of " +
                std::to_string(defaults.headDim) +
                " elements of a head; what works: a head size and partial factor that give a positive even number");
  for (int64_t pair = 0; pair < rotary.dim / 2; ++pair)
    rotary.invFreq.push_back(std::pow(defaults.theta, -2.0 * double(pair) / double(rotary.dim)));

  // "type" is the older spelling; files often carry both.
  std::string typeKey = scaling.has("rope_type") ? "rope_type" : "type";
  scaling.ignore({"rope_type", "type"});
  applyScaling(scaling, typeKey, defaults, rotary);
  reader.merge(scaling);
  return rotary;
}

} // namespace plait
