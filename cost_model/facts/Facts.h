// Facts: what devices and links can do and how targets use them, as data (facts/data/*.json, part of the library).
// Every figure has a unit, a source and a label. An unknown name is an error that lists the nearest known ones; nothing
// falls back silently.
#ifndef PLAIT_COST_MODEL_FACTS_FACTS_H
#define PLAIT_COST_MODEL_FACTS_FACTS_H

#include "runtime/plan/DType.h"
#include "runtime/plan/Result.h"
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// How far a number can be trusted. A result is labelled as its weakest figure.
enum class Label { Measured, Calibrated, Analytic };
std::string_view nameOf(Label label);

struct Figure {
  double value = 0;
  std::string unit, source;
  Label label = Label::Analytic;
};
using Figures = std::map<std::string, Figure>;

/// A device. The members repeat the figures of the same meaning; `figures` holds units and sources.
struct DeviceFacts {
  std::string name;
  Figures figures;
  double memoryBytes = 0, reserveBytes = 0;
  double peakF32 = 0, peakBf16 = 0;            ///< flop/s, dense
  double gemmEfficiency = 0, gemmK0 = 0;       ///< fraction of peak; elements
  double launchSeconds = 0;                    ///< per kernel
  double memoryRate = 0, memoryEfficiency = 0; ///< bytes/s; fraction
  double attentionEfficiency = 0;              ///< fraction of peak
  double inSitu = 1;                           ///< kernel time inside a step over its isolated time
  double misaligned = 1;                       ///< factor on GEMMs with n or k not a multiple of 64
  double errorBand = 0;                        ///< relative
  double peak(DType type) const { return type == DType::BF16 || type == DType::F16 ? peakBf16 : peakF32; }
};

/// One way to move data: time = setup + steps * hop + bytes / rate.
struct LinkProtocol {
  double setupSeconds = 0, hopSeconds = 0, rate = 0; ///< rate: bytes/s, one direction of one device
};
/// A fabric. For small messages the first protocol is the faster one, for large ones the last.
struct LinkFacts {
  std::string name;
  Figures figures;
  double nominalRate = 0, errorBand = 0;
  std::vector<LinkProtocol> protocols;
  Label label = Label::Analytic; ///< weakest of the protocols' figures
};

/// How a target (problem/Rules.h) overlaps communication with computation.
struct TargetFacts {
  std::string name;
  Figures figures;
  double tpExposed = 1, syncExposed = 1; ///< fractions not hidden: tensor-parallel collectives; gradient sync, gather
};

/// Weakest label among the figures.
Label weakest(const Figures &figures);

class Facts {
public:
  /// The facts that came with the library.
  static const Facts &builtin();

  /// Adds or replaces one device, link or target, or a list of them.
  /// Error Usage: names `origin` and what is wrong with the text.
  Status add(const std::string &json, const std::string &origin);

  /// Error Usage with the nearest known names.
  Result<const DeviceFacts *> device(const std::string &name) const;
  Result<const LinkFacts *> link(const std::string &name) const;
  /// An "@version" is ignored.
  Result<const TargetFacts *> target(const std::string &name) const;
  std::vector<std::string> deviceNames() const;
  std::vector<std::string> linkNames() const;

private:
  Status addEntry(const nlohmann::json &entry, const std::string &origin);

  std::map<std::string, DeviceFacts> devices;
  std::map<std::string, LinkFacts> links;
  std::map<std::string, TargetFacts> targets;
};

} // namespace plait

#endif
