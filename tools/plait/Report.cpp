#include "Report.h"
#include "cost_model/problem/Decisions.h"
#include "cost_model/facts/ClusterFile.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

namespace plait {

using Json = nlohmann::ordered_json;

static std::string scaled(double value, const char *const *units, size_t count, double step) {
  size_t unit = 0;
  while (unit + 1 < count && std::abs(value) >= step) {
    value /= step;
    ++unit;
  }
  char text[48];
  std::snprintf(text, sizeof text, std::abs(value) >= 100 ? "%.0f %s" : std::abs(value) >= 10 ? "%.1f %s" : "%.2f %s", value, units[unit]);
  return text;
}

std::string bytesText(double bytes) {
  static constexpr const char *units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  return scaled(bytes, units, std::size(units), 1000);
}

std::string secondsText(double seconds) {
  static constexpr const char *units[] = {"ns", "us", "ms"};
  return seconds >= 1 ? scaled(seconds, std::array{"s"}.data(), 1, 1000) : scaled(seconds * 1e9, units, 3, 1000);
}

// ---- JSON ----

static Json amounts(const Amounts &list) {
  Json json = Json::object();
  for (const auto &[name, value] : list)
    json[name] = value;
  return json;
}

static bool usesStream(const Stage &stage) {
  return std::any_of(stage.maps.begin(), stage.maps.end(), [](const SegmentMap &map) { return map.segment == "stream" && !map.uses.empty(); });
}

/// Degrees of a plan; where replicas or stages differ, the largest, and "uniform" is false.
static Json layoutJson(const Solution &solution) {
  uint32_t tp = 0, pp = 0, dp = 0;
  bool sequenceParallel = false, uniform = solution.replicas.size() == 1 && solution.overrides.empty();
  for (const Replica &replica : solution.replicas) {
    pp = std::max<uint32_t>(pp, replica.stages.size());
    dp += replica.copies;
    for (const Stage &stage : replica.stages) {
      uniform &= stage.devices.count == replica.stages.front().devices.count;
      tp = std::max(tp, stage.devices.count);
      sequenceParallel |= usesStream(stage);
    }
  }
  const Stage &first = solution.replicas.front().stages.front();
  return {{"tp", tp}, {"pp", pp}, {"dp", dp}, {"cp", 1}, {"ep", 1}, {"micro_batch", solution.microBatch}, {"virtual_stages", 1},
          {"sequence_parallel", sequenceParallel}, {"sharding", solution.sharding}, {"recompute", first.recompute},
          {"schedule", solution.schedule}, {"uniform", uniform}};
}

static Json stagesJson(const Solution &solution, uint64_t uses) {
  Json stages = Json::array();
  for (Id r = 0; r < solution.replicas.size(); ++r) {
    const Replica &replica = solution.replicas[r];
    for (Id s = 0; s < replica.stages.size(); ++s) {
      const Stage &stage = replica.stages[s];
      uint64_t layers = stage.endUse - stage.firstUse - (stage.firstUse == 0) - (stage.endUse == uses);
      stages.push_back({{"replica", r}, {"stage", s}, {"layers", layers}, {"devices", stage.devices.count},
                        {"first_device", stage.devices.first}, {"copies", replica.copies}, {"microbatches", replica.microbatches},
                        {"embedding", stage.firstUse == 0}, {"head", stage.endUse == uses}, {"recompute", stage.recompute}});
    }
  }
  return stages;
}

static Json memoryJson(const pb::Plan &plan, const SimulationResult &simulation, const Cluster &cluster) {
  uint64_t peak = 0, capacity = 0;
  bool fits = true;
  Json fullest, roles = Json::array();
  for (int i = 0; i < plan.roles_size(); ++i) {
    const DeviceClass *device = &cluster.classes.front();
    for (const DeviceClass &candidate : cluster.classes)
      if (candidate.name == plan.roles(i).device_class())
        device = &candidate;
    Json components = Json::object();
    for (const auto &[name, bytes] : simulation.memory[i].components)
      components[name] = bytes;
    components["reserve"] = device->reservedBytes;
    uint64_t bytes = simulation.memory[i].bytes + device->reservedBytes;
    fits &= bytes <= device->memoryBytes;
    if (bytes > peak) {
      peak = bytes;
      capacity = device->memoryBytes;
      fullest = components;
    }
    roles.push_back({{"role", plan.roles(i).name()}, {"bytes", bytes}, {"components", std::move(components)}});
  }
  return {{"peak_bytes", peak}, {"capacity_bytes", capacity}, {"fits", fits}, {"components", fullest}, {"roles", roles}};
}

static Json searchJson(const pb::Plan &plan) {
  const pb::Estimate &estimate = plan.estimate();
  Json pruned = Json::object(), runnersUp = Json::array();
  for (const pb::Pruned &entry : estimate.pruned())
    pruned[entry.rule()] = entry.count();
  for (const pb::RunnerUp &entry : estimate.runners_up()) {
    Json layout = layoutJson(solutionFromDecisions(entry.decisions()));
    runnersUp.push_back({{"layout", layout}, {"step_time_s", entry.simulated_s()}, {"evaluate_s", entry.evaluate_s()},
                         {"peak_bytes", entry.peak_bytes()}, {"loses", entry.loses()}});
  }
  double gap = estimate.bound_s() > 0 && estimate.evaluate_s() > 0 ? 1 - estimate.bound_s() / estimate.evaluate_s() : 0;
  return {{"solver", plan.provenance().solver()}, {"space", plan.provenance().space()}, {"candidates", estimate.candidates()},
          {"pruned", pruned}, {"bound_s", estimate.bound_s()}, {"evaluate_s", estimate.evaluate_s()}, {"gap", gap},
          {"runners_up", runnersUp}};
}

static double peakFlops(const pb::Plan &plan, const Cluster &cluster) {
  double total = 0;
  for (uint32_t rank = 0; rank < plan.world_size(); ++rank) {
    Id deviceClass = cluster.classOf(rank);
    if (Result<const DeviceFacts *> device = Facts::builtin().device(cluster.classes[deviceClass == kNone ? 0 : deviceClass].facts))
      total += (*device)->peak(DType(plan.job().precision().compute()));
  }
  return total;
}

Result<Json> planReport(const pb::Plan &plan, const SimulationResult &simulation) {
  Result<Cluster> cluster = readCluster(plan.cluster_json(), "cluster of the plan", Facts::builtin());
  if (!cluster)
    return cluster.error();
  Solution solution = solutionFromDecisions(plan.decisions());
  uint64_t uses = 0;
  for (const Replica &replica : solution.replicas)
    uses = std::max<uint64_t>(uses, replica.stages.back().endUse);
  double tokens = double(plan.job().global_batch()) * double(plan.job().seq_len());
  double peak = peakFlops(plan, *cluster);
  Json report;
  report["step_time_s"] = simulation.seconds;
  report["tokens_per_s_per_gpu"] = tokens / simulation.seconds / plan.world_size();
  report["mfu"] = peak > 0 ? plan.job().flops_per_token() * tokens / simulation.seconds / peak : 0;
  report["label"] = nameOf(simulation.label);
  report["error_band"] = simulation.errorBand;
  report["model"] = {{"name", plan.job().model_name()}, {"parameters", plan.job().parameters()}, {"flops_per_token", plan.job().flops_per_token()}};
  report["job"] = {{"seq_len", plan.job().seq_len()}, {"global_batch", plan.job().global_batch()}, {"optimizer", plan.job().optimizer()},
                   {"precision", std::string(nameOf(DType(plan.job().precision().compute())))}};
  report["cluster"] = {{"name", cluster->name}, {"devices", cluster->deviceCount()}, {"used", plan.world_size()}};
  report["layout"] = layoutJson(solution);
  report["stages"] = stagesJson(solution, uses);
  report["memory"] = memoryJson(plan, simulation, *cluster);
  report["time"] = {{"bubble", simulation.bubble}, {"components_s", amounts(simulation.components)}};
  report["traffic_bytes"] = amounts(simulation.traffic);
  report["search"] = searchJson(plan);
  return report;
}

// ---- Text ----

static std::string layoutText(const Json &layout) {
  std::ostringstream os;
  os << "tp " << layout["tp"] << ", pp " << layout["pp"] << ", dp " << layout["dp"] << ", micro-batch " << layout["micro_batch"]
     << (layout["sequence_parallel"] ? ", sequence parallel" : "") << ", sharding " << layout["sharding"].get<std::string>()
     << ", recompute " << layout["recompute"].get<std::string>() << ", " << layout["schedule"].get<std::string>();
  return os.str();
}

static std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * share);
  return text;
}

/// What to change first: the largest part of the step that is not compute, or memory if little is left.
static std::string bindingText(const Json &report) {
  double step = report["step_time_s"], worst = 0;
  std::string name = "compute";
  for (const auto &[key, seconds] : report["time"]["components_s"].items())
    if (!key.starts_with("compute") && seconds.get<double>() > worst) {
      worst = seconds;
      name = key;
    }
  double used = report["memory"]["peak_bytes"].get<double>() / std::max(report["memory"]["capacity_bytes"].get<double>(), 1.0);
  std::string text = "after compute, " + name + " takes most: " + percent(worst / step) + " of the step";
  return text + "; memory is " + percent(used) + " full" + (used > 0.85 ? " and binds" : "");
}

std::string reportText(const Json &report) {
  std::ostringstream os;
  const Json &memory = report["memory"], &search = report["search"];
  os << report["model"]["name"].get<std::string>() << " (" << report["model"]["parameters"] << " parameters) on "
     << report["cluster"]["used"] << " of " << report["cluster"]["devices"] << " devices of " << report["cluster"]["name"].get<std::string>()
     << "\n\n  layout      " << layoutText(report["layout"]) << "\n  step        " << secondsText(report["step_time_s"]) << " ("
     << report["label"].get<std::string>() << ", +-" << percent(report["error_band"]) << "), "
     << std::llround(report["tokens_per_s_per_gpu"].get<double>()) << " tokens/s per device, MFU " << percent(report["mfu"])
     << "\n  bubble      " << percent(report["time"]["bubble"]) << "\n  binds       " << bindingText(report) << "\n\nstages\n";
  for (const Json &stage : report["stages"])
    os << "  replica " << stage["replica"] << " stage " << stage["stage"] << ": " << stage["layers"] << " layers"
       << (stage["embedding"] ? " + embedding" : "") << (stage["head"] ? " + head" : "") << ", " << stage["devices"] << " devices from "
       << stage["first_device"] << (stage["copies"] > 1 ? " x " + std::to_string(stage["copies"].get<int>()) + " copies" : "") << ", "
       << stage["microbatches"] << " micro-batches\n";
  os << "\nmemory of the fullest rank: " << bytesText(memory["peak_bytes"]) << " of " << bytesText(memory["capacity_bytes"])
     << (memory["fits"] ? "" : ": DOES NOT FIT") << "\n";
  for (const auto &[name, bytes] : memory["components"].items())
    os << "  " << name << std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') << bytesText(bytes) << "\n";
  os << "\ntime of a step, mean over ranks\n";
  for (const auto &[name, seconds] : report["time"]["components_s"].items())
    os << "  " << name << std::string(name.size() < 26 ? 26 - name.size() : 1, ' ') << secondsText(seconds) << "  "
       << percent(seconds.get<double>() / report["step_time_s"].get<double>()) << "\n";
  if (!report["traffic_bytes"].empty()) {
    os << "\ntraffic of a step, all ranks\n";
    for (const auto &[name, bytes] : report["traffic_bytes"].items())
      os << "  " << name << std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') << bytesText(bytes) << "\n";
  }
  if (search["solver"] == "given")
    return os.str();
  os << "\nsearch (" << search["solver"].get<std::string>() << ") over " << search["space"].get<std::string>() << "\n  "
     << search["candidates"] << " layouts; bound " << secondsText(search["bound_s"]) << ", plan " << secondsText(search["evaluate_s"]) << ", gap "
     << percent(search["gap"]) << "\n";
  for (const auto &[rule, count] : search["pruned"].items())
    os << "  " << count << " ruled out by " << rule << "\n";
  for (const Json &other : search["runners_up"])
    os << "  runner-up: " << layoutText(other["layout"]) << ": " << secondsText(other["step_time_s"]) << ", " << other["loses"].get<std::string>()
       << ", peak " << bytesText(other["peak_bytes"]) << "\n";
  return os.str();
}

} // namespace plait
