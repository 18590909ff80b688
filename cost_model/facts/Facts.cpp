#include "cost_model/facts/Facts.h"
#include "cost_model/facts/Embedded.h"
#include "cost_model/problem/Names.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace plait {

using Json = nlohmann::json;

std::string_view nameOf(Label label) {
  switch (label) {
  case Label::Measured: return "measured";
  case Label::Calibrated: return "calibrated";
  case Label::Analytic: return "analytic";
  }
  return "analytic";
}

Label weakest(const Figures &figures) {
  Label label = Label::Measured;
  for (const auto &[name, figure] : figures)
    label = std::max(label, figure.label);
  return label;
}

namespace {

/// Where a figure of a device goes.
struct Field {
  const char *name;
  double DeviceFacts::*member;
};
constexpr Field kDeviceFields[] = {
    {"memory", &DeviceFacts::memoryBytes},
    {"reserve", &DeviceFacts::reserveBytes},
    {"peak_f32", &DeviceFacts::peakF32},
    {"peak_bf16", &DeviceFacts::peakBf16},
    {"gemm_efficiency", &DeviceFacts::gemmEfficiency},
    {"gemm_k0", &DeviceFacts::gemmK0},
    {"launch", &DeviceFacts::launchSeconds},
    {"memory_rate", &DeviceFacts::memoryRate},
    {"memory_efficiency", &DeviceFacts::memoryEfficiency},
    {"attention_efficiency", &DeviceFacts::attentionEfficiency},
    {"in_situ", &DeviceFacts::inSitu},
    {"misaligned", &DeviceFacts::misaligned},
    {"error_band", &DeviceFacts::errorBand},
};

/// Figures that may be zero; all others divide or scale.
bool mayBeZero(const std::string &name) {
  constexpr std::string_view names[] = {"reserve", "gemm_k0",    "launch",     "setup",
                                        "hop",     "error_band", "tp_exposed", "sync_exposed"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Result<Figure> readFigure(const Json &json, const std::string &name, const std::string &place) {
  std::string where = place + ", figure '" + name + "'";
  if (!json.is_object() || !json.contains("value") || !json["value"].is_number())
    return usageError(where + ": it is not {\"value\": number, \"unit\", \"source\", \"label\"}");
  Figure figure;
  for (const auto &[key, entry] : json.items()) {
    if (key == "value") {
      figure.value = entry.get<double>();
      continue;
    }
    if (!entry.is_string())
      return usageError(where + ": '" + key + "' is not text");
    std::string text = entry.get<std::string>();
    if (key == "unit")
      figure.unit = text;
    else if (key == "source")
      figure.source = text;
    else if (key == "label" && (text == "measured" || text == "calibrated" || text == "analytic"))
      figure.label = text == "measured" ? Label::Measured : text == "calibrated" ? Label::Calibrated : Label::Analytic;
    else if (key == "label")
      return usageError(where + ": label '" + text + "' is not known; what works: measured, calibrated, analytic");
    else
      return usageError(where + ": key '" + key + "' is not known; what works: value, unit, source, label");
  }
  if (figure.unit.empty() || figure.source.empty())
    return usageError(where + ": it has no unit or no source");
  if (!std::isfinite(figure.value) || figure.value < 0 || (figure.value == 0 && !mayBeZero(name)))
    return usageError(where + ": " + json["value"].dump() + " is out of range; it is positive");
  return figure;
}

/// Reads exactly the figures named `names`.
Result<Figures> readFigures(const Json &json, const std::vector<std::string> &names, const std::string &place) {
  if (!json.is_object())
    return usageError(place + ": figures are not an object");
  Figures figures;
  for (const auto &[name, entry] : json.items()) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      return usageError(place + ": figure '" + name + "' is not known; what works: " + joined(nearestNames(name, names)));
    Result<Figure> figure = readFigure(entry, name, place);
    if (!figure)
      return figure.error();
    figures[name] = *figure;
  }
  for (const std::string &name : names)
    if (!figures.count(name))
      return usageError(place + ": figure '" + name + "' is missing");
  return figures;
}

Result<DeviceFacts> readDevice(const Json &json, const std::string &place) {
  DeviceFacts facts;
  std::vector<std::string> names;
  for (const Field &field : kDeviceFields)
    names.push_back(field.name);
  Result<Figures> figures = readFigures(json.value("figures", Json()), names, place);
  if (!figures)
    return figures.error();
  facts.figures = *figures;
  for (const Field &field : kDeviceFields)
    facts.*field.member = facts.figures[field.name].value;
  return facts;
}

Result<LinkFacts> readLink(const Json &json, const std::string &place) {
  LinkFacts facts;
  Result<Figures> figures = readFigures(json.value("figures", Json()), {"nominal_rate", "error_band"}, place);
  if (!figures)
    return figures.error();
  facts.figures = *figures;
  facts.nominalRate = facts.figures["nominal_rate"].value;
  facts.errorBand = facts.figures["error_band"].value;
  facts.label = Label::Measured;
  Json protocols = json.value("protocols", Json());
  if (!protocols.is_array() || protocols.empty() || protocols.size() > 8)
    return usageError(place + ": a link has 1 to 8 protocols");
  for (const Json &protocol : protocols) {
    Result<Figures> read = readFigures(protocol, {"setup", "hop", "rate"}, place + ", protocol");
    if (!read)
      return read.error();
    facts.protocols.push_back({(*read)["setup"].value, (*read)["hop"].value, (*read)["rate"].value});
    facts.label = std::max(facts.label, weakest(*read));
    for (const auto &[name, figure] : *read)
      facts.figures["protocol " + std::to_string(facts.protocols.size() - 1) + " " + name] = figure;
  }
  return facts;
}

Result<TargetFacts> readTarget(const Json &json, const std::string &place) {
  Result<Figures> figures = readFigures(json.value("figures", Json()), {"tp_exposed", "sync_exposed"}, place);
  if (!figures)
    return figures.error();
  TargetFacts facts;
  facts.figures = *figures;
  facts.tpExposed = facts.figures["tp_exposed"].value;
  facts.syncExposed = facts.figures["sync_exposed"].value;
  return facts;
}

template <typename T>
Result<const T *> lookUp(const std::map<std::string, T> &map, const char *what, const std::string &name,
                         const std::vector<std::string> &known) {
  auto found = map.find(name);
  if (found != map.end())
    return &found->second;
  return usageError(std::string("no facts about ") + what + " '" + name +
                    "'; nearest known: " + joined(nearestNames(name, known)) + "; all known: " + joined(known));
}

template <typename T> std::vector<std::string> namesOf(const std::map<std::string, T> &map) {
  std::vector<std::string> names;
  for (const auto &[name, value] : map)
    names.push_back(name);
  return names;
}

} // namespace

const Facts &Facts::builtin() {
  static const Facts facts = [] {
    Facts all;
    for (const EmbeddedFile &file : embeddedFacts())
      if (Status s = all.add(file.text, file.name); !s)
        std::abort(); // the files are tested; a broken one must not reach a user as a missing name
    return all;
  }();
  return facts;
}

Status Facts::add(const std::string &text, const std::string &origin) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded())
    return usageError(origin + ": it is not JSON");
  if (!json.is_array())
    json = Json::array({json});
  for (const Json &entry : json)
    if (Status s = addEntry(entry, origin); !s)
      return s;
  return success();
}

template <typename T> static Status keep(Result<T> facts, const std::string &name, std::map<std::string, T> &map) {
  if (!facts)
    return facts.error();
  facts->name = name;
  map[name] = std::move(*facts);
  return success();
}

Status Facts::addEntry(const Json &entry, const std::string &origin) {
  std::string kind;
  int kinds = 0;
  for (const char *name : {"device", "link", "target"})
    if (entry.is_object() && entry.contains(name) && entry[name].is_string()) {
      kind = name;
      ++kinds;
    }
  if (kinds != 1)
    return usageError(origin + ": an entry of facts names either a \"device\", a \"link\" or a \"target\"");
  std::string name = entry[kind].get<std::string>(), place = origin + ": " + kind + " '" + name + "'";
  std::vector<std::string> keys{kind, "figures"};
  if (kind == "link")
    keys.push_back("protocols");
  for (const auto &[key, value] : entry.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return usageError(place + ": key '" + key + "' is not known; what works: " + joined(nearestNames(key, keys)));
  if (kind == "device")
    return keep(readDevice(entry, place), name, devices);
  if (kind == "link")
    return keep(readLink(entry, place), name, links);
  return keep(readTarget(entry, place), name, targets);
}

Result<const DeviceFacts *> Facts::device(const std::string &name) const {
  return lookUp(devices, "device", name, deviceNames());
}
Result<const LinkFacts *> Facts::link(const std::string &name) const { return lookUp(links, "link", name, linkNames()); }
Result<const TargetFacts *> Facts::target(const std::string &name) const {
  return lookUp(targets, "target", name.substr(0, name.find('@')), namesOf(targets));
}
std::vector<std::string> Facts::deviceNames() const { return namesOf(devices); }
std::vector<std::string> Facts::linkNames() const { return namesOf(links); }

} // namespace plait
