#include "cost_model/problem/Problem.h"
#include "cost_model/simulate/Engine.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace plait {

namespace {

/// Lanes of replicas that exchange micro-batches, directly or through others.
std::vector<std::vector<Id>> connectedReplicas(const Solution &solution) {
  std::vector<Id> root(solution.replicas.size());
  for (Id r = 0; r < root.size(); ++r)
    root[r] = r;
  auto find = [&](Id r) {
    while (root[r] != r)
      r = root[r];
    return r;
  };
  for (const Override &moved : solution.overrides) {
    Id a = find(moved.replica), b = find(moved.executor);
    root[std::max(a, b)] = std::min(a, b);
  }
  std::map<Id, std::vector<Id>> groups;
  for (Id r = 0; r < root.size(); ++r)
    groups[find(r)].push_back(r);
  std::vector<std::vector<Id>> result;
  for (auto &[first, members] : groups)
    result.push_back(std::move(members));
  return result;
}

using PhaseTable = std::array<double, 5>; // seconds of one micro-batch, by Phase

PhaseTable stageSeconds(const Model &model, const Stage &stage, int64_t microBatch, const CostSource &costs) {
  std::map<Id, int64_t> kinds;
  for (Id use = stage.firstUse; use < stage.endUse; ++use)
    ++kinds[model.chain[use].kind];
  std::vector<Phase> phases{Phase::Forward, Phase::Backward};
  if (stage.splitWeightGrad)
    phases = {Phase::Forward, Phase::BackwardInput, Phase::BackwardWeight};
  PhaseTable table{};
  for (Phase phase : phases)
    for (auto [kind, count] : kinds)
      table[size_t(phase)] += double(count) * costs.phaseSeconds(kind, stage, phase, microBatch);
  return table;
}

/// Uses [first, end) of the chain -> when the last stage with this range has its gradients, and its longest tail.
using RangeEnds = std::map<std::pair<Id, Id>, std::pair<double, double>>;

/// Gradients are exchanged once everybody who holds the same blocks has its own; all stages end the step together.
double stepEnd(const RangeEnds &ends) {
  double last = 0;
  for (const auto &[range, times] : ends) {
    double begin = times.first;
    for (const auto &[other, otherTimes] : ends)
      if (other.first < range.second && range.first < other.second)
        begin = std::max(begin, otherTimes.first);
    last = std::max(last, begin + times.second);
  }
  return last;
}

} // namespace

Cost evaluate(const Problem &problem, const Solution &solution, const CostSource &costs) {
  Pipeline pipeline(solution);
  RangeEnds ends;
  std::vector<std::vector<std::vector<std::pair<std::string, uint64_t>>>> memory(solution.replicas.size());
  double busiest = 0, computed = 0;
  for (const std::vector<Id> &group : connectedReplicas(solution)) {
    std::vector<EngineLane> lanes;
    std::vector<PhaseTable> seconds;
    for (Id r : group)
      for (Id s = 0; s < solution.replicas[r].stages.size(); ++s) {
        lanes.push_back({r, s, pipeline.items(r, s)});
        seconds.push_back(stageSeconds(*problem.model, solution.replicas[r].stages[s], solution.microBatch, costs));
        memory[r].push_back(costs.memory(solution, r, s, framesNeeded(lanes.back().items)));
      }
    auto stageOf = [&](size_t lane) -> const Stage & {
      return solution.replicas[lanes[lane].replica].stages[lanes[lane].stage];
    };
    EngineCosts engineCosts;
    engineCosts.run = [&](size_t lane, const PipeRun &run) { return seconds[lane][size_t(run.phase)]; };
    std::map<std::pair<size_t, size_t>, double> boundaries; // one question per pair of lanes
    engineCosts.message = [&](size_t from, size_t to, const PipeMessage &message) {
      auto [earlier, later] = message.gradient ? std::pair(to, from) : std::pair(from, to);
      auto [at, fresh] = boundaries.try_emplace({earlier, later}, 0);
      if (fresh)
        at->second = costs.boundarySeconds(stageOf(earlier), stageOf(later), solution.microBatch);
      return at->second;
    };
    std::vector<LaneTimes> times = runEngine(lanes, engineCosts);
    if (times.empty()) // the order of Pipeline never blocks
      return Cost{std::numeric_limits<double>::infinity(), {}, {}, 1};
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      auto &[finish, tail] = ends[{stageOf(lane).firstUse, stageOf(lane).endUse}];
      finish = std::max(finish, times[lane].finish);
      tail = std::max(tail, costs.stepTailSeconds(solution, lanes[lane].replica, lanes[lane].stage));
      busiest = std::max(busiest, times[lane].busy);
      computed = std::max(computed, times[lane].finish);
    }
  }
  Cost cost;
  cost.seconds = stepEnd(ends);
  cost.bubble = computed > 0 && std::isfinite(computed) ? 1 - busiest / computed : 0;
  for (auto &replica : memory)
    for (auto &components : replica) {
      uint64_t total = 0;
      for (const auto &[name, bytes] : components)
        total += bytes;
      cost.peakBytes.push_back(total);
      cost.memory.push_back(std::move(components));
    }
  return cost;
}

std::vector<Reason> checkMemory(const Problem &problem, const Solution &solution, const Cost &cost) {
  std::vector<Reason> reasons;
  size_t at = 0;
  for (Id r = 0; r < solution.replicas.size(); ++r)
    for (Id s = 0; s < solution.replicas[r].stages.size() && at < cost.peakBytes.size(); ++s, ++at) {
      const DeviceClass &device =
          problem.cluster.classes[problem.cluster.classOf(solution.replicas[r].stages[s].devices.first)];
      const auto &components = cost.memory[at];
      bool counted = std::any_of(components.begin(), components.end(), [](const auto &c) { return c.first == "reserve"; });
      uint64_t needed = cost.peakBytes[at] + (counted ? 0 : device.reservedBytes);
      if (needed <= device.memoryBytes)
        continue;
      std::string forbids = device.name + " has " + std::to_string(device.memoryBytes) + " bytes, of which " +
                            std::to_string(device.reservedBytes) + " are reserved; needed are";
      const char *separator = " ";
      for (const auto &[name, bytes] : components) {
        forbids += separator + name + " " + std::to_string(bytes);
        separator = ", ";
      }
      reasons.push_back({"F-30",
                         "replica " + std::to_string(r) + ", stage " + std::to_string(s),
                         std::to_string(needed) + " bytes",
                         forbids,
                         {}});
    }
  return reasons;
}

} // namespace plait
