#include "compiler/search/Bounds.h"
#include <algorithm>
#include <cmath>

namespace plait {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One stage for each way in which a tensor group lies in its node.
static std::vector<const Stage *> distinctPlacements(const Cluster &cluster, const std::vector<Stage> &stages) {
  std::vector<std::pair<uint32_t, Id>> leaves; // first device, leaf
  uint32_t device = 0;
  for (Id d = 0; d < cluster.domains.size(); ++d)
    if (cluster.domains[d].deviceClass != kNone) {
      leaves.push_back({device, d});
      device += cluster.domains[d].devices;
    }
  std::map<std::tuple<uint32_t, uint32_t, Id>, const Stage *> seen; // offset in the leaf, leaf's size, class
  for (const Stage &stage : stages) {
    auto leaf = std::upper_bound(leaves.begin(), leaves.end(), std::pair{stage.devices.first, kNone}) - 1;
    const Domain &domain = cluster.domains[leaf->second];
    seen.try_emplace({stage.devices.first - leaf->first, domain.devices, domain.deviceClass}, &stage);
  }
  std::vector<const Stage *> list;
  for (const auto &[key, stage] : seen)
    list.push_back(stage);
  return list;
}

LayoutCosts::LayoutCosts(const Problem &problem, const Layout &layout, const CostSource &costs)
    : problem(problem), choices(layout), costs(costs) {
  const Model &model = *problem.model;
  Solution sample = solutionOf(problem, layout, evenCuts(problem, layout));
  const std::vector<Stage> &stages = sample.replicas[0].stages;
  std::vector<const Stage *> placements = distinctPlacements(problem.cluster, stages);
  std::vector<std::pair<double, double>> perKind;
  for (Id kind = 0; kind < model.kinds.size(); ++kind) {
    double f = 0, b = 0;
    for (Phase phase : layout.splitWeightGrad ? std::vector{Phase::Forward, Phase::BackwardInput, Phase::BackwardWeight}
                                              : std::vector{Phase::Forward, Phase::Backward}) {
      double least = kInfinity; // groups of unlike placement differ: the bound takes the fastest
      for (const Stage *stage : placements)
        least = std::min(least, costs.phaseSeconds(kind, *stage, phase, layout.microBatch));
      (phase == Phase::Forward ? f : b) += least;
    }
    perKind.push_back({f, b});
  }
  forward = backward = {0};
  kindCounts.push_back(std::vector<Id>(model.kinds.size(), 0));
  for (const BlockUse &use : model.chain) {
    forward.push_back(forward.back() + perKind[use.kind].first);
    backward.push_back(backward.back() + perKind[use.kind].second);
    kindCounts.push_back(kindCounts.back());
    ++kindCounts.back()[use.kind];
  }
  boundary = {0};
  for (size_t s = 0; s + 1 < stages.size(); ++s)
    boundary.push_back(boundary.back() + costs.boundarySeconds(stages[s], stages[s + 1], layout.microBatch));
}

double LayoutCosts::flow(double f, double b, double head, double after, uint32_t window) const {
  double m = double(choices.microbatches), w = std::min<double>(window, m), tau = f + b;
  if (choices.splitWeightGrad) // the weight gradient may run in the round trip: only the work itself is certain
    return head + m * tau;
  if (choices.schedule == "gpipe")
    return head + after + m * tau;
  double work = m > window ? (m - w) * tau + std::max(w * f, f + after) + std::max(w * b, b + after)
                           : std::max(w * tau, tau + after + (m - 1) * std::max(f, b));
  double rounds = std::floor((m - 1) / window) + 1, left = std::fmod(m - 1, window);
  return head + std::max(work, rounds * (tau + after) + left * std::max(f, b));
}

const std::pair<double, uint64_t> &LayoutCosts::tailAndExcess(Id first, Id end, uint32_t stage) {
  std::vector<Id> key{stage};
  for (size_t kind = 0; kind < kindCounts[0].size(); ++kind)
    key.push_back(kindCounts[end][kind] - kindCounts[first][kind]);
  auto [at, inserted] = cache.try_emplace(std::move(key));
  if (!inserted)
    return at->second;
  Solution solution = solutionOf(problem, choices, evenCuts(problem, choices));
  Stage &held = solution.replicas[0].stages[stage];
  held.firstUse = first;
  held.endUse = end;
  uint32_t inFlight = choices.schedule == "gpipe" ? choices.microbatches
                                                  : std::min<int64_t>(choices.microbatches, choices.pp - stage);
  auto components = costs.memory(solution, 0, stage, inFlight);
  const DeviceClass &device = problem.cluster.classes[problem.cluster.classOf(held.devices.first)];
  uint64_t needed = 0;
  bool reserve = false;
  for (const auto &[name, bytes] : components) {
    needed += bytes;
    reserve |= name == "reserve";
  }
  needed += reserve ? 0 : device.reservedBytes;
  at->second = {costs.stepTailSeconds(solution, 0, stage), needed > device.memoryBytes ? needed - device.memoryBytes : 0};
  return at->second;
}

uint64_t LayoutCosts::excess(Id first, Id end, uint32_t stage) { return tailAndExcess(first, end, stage).second; }

double LayoutCosts::stageBound(Id first, Id end, uint32_t stage) {
  double f = forward[end] - forward[first], b = backward[end] - backward[first];
  double headForward = forward[first] + boundary[stage], headBackward = choices.splitWeightGrad ? 0 : backward[first] + boundary[stage];
  double after = forward.back() - forward[end] + backward.back() - backward[end] + 2 * (boundary.back() - boundary[stage]);
  double finish = flow(f, b, headForward, after, choices.pp - stage);
  if (finish + headBackward > cap)
    return kInfinity;
  const auto &[tail, excessBytes] = tailAndExcess(first, end, stage);
  return excessBytes ? kInfinity : std::max(finish + tail, finish + headBackward);
}

double LayoutCosts::quickBound() const {
  double total = forward.back() + backward.back(), m = double(choices.microbatches), pp = choices.pp;
  double spread = std::max(0.0, (m - 1) - (pp - 1) / 2);
  if (choices.splitWeightGrad)
    return m * total / pp;
  return std::max(m * total / pp, total + spread * total / pp);
}

BottleneckTable::BottleneckTable(LayoutCosts &costs) {
  uint32_t stages = costs.layout().pp, uses = costs.uses();
  suffix.assign(stages + 1, std::vector<double>(uses + 1, kInfinity));
  prefix = suffix;
  suffix[stages][uses] = 0;
  prefix[0][0] = 0;
  for (uint32_t s = stages; s-- > 0;)
    for (Id first = s; first < uses; ++first)
      for (Id end = first + 1; end <= uses - (stages - 1 - s); ++end) {
        if (suffix[s + 1][end] >= suffix[s][first])
          continue;
        suffix[s][first] = std::min(suffix[s][first], std::max(suffix[s + 1][end], costs.stageBound(first, end, s)));
      }
  for (uint32_t s = 0; s < stages; ++s)
    for (Id end = s + 1; end <= uses; ++end)
      for (Id first = s; first < end; ++first)
        if (prefix[s][first] < prefix[s + 1][end])
          prefix[s + 1][end] = std::min(prefix[s + 1][end], std::max(prefix[s][first], costs.stageBound(first, end, s)));
}

std::vector<Id> BottleneckTable::bestCuts(LayoutCosts &costs) const {
  std::vector<Id> cuts;
  Id first = 0;
  for (uint32_t s = 0; s + 1 < costs.layout().pp; ++s)
    for (Id end = first + 1; end < suffix[s + 1].size(); ++end)
      if (std::max(suffix[s + 1][end], costs.stageBound(first, end, s)) <= best()) {
        cuts.push_back(end);
        first = end;
        break;
      }
  return cuts;
}

} // namespace plait
