#include "cost_model/problem/TableCosts.h"
#include "cost_model/simulate/Pipeline.h"
#include "test/cost_model/RandomSolutions.h"
#include "test/cost_model/TinyModel.h"
#include <catch2/catch.hpp>
#include <map>
#include <numeric>

using namespace plait;

namespace {

/// Costs where embedding and head take no time: stages with equal numbers of layers are uniform.
TableCosts layerCosts(const Problem &problem, double forward, double input, double weight) {
  TableCosts costs(problem);
  for (const char *variant : {"none", "selective", "full"}) {
    costs.rows[{0, 1, variant}] = {0, 0, 0, 100, 0};
    costs.rows[{1, 1, variant}] = {forward, input, weight, 10, 7};
    costs.rows[{2, 1, variant}] = {0, 0, 0, 100, 0};
  }
  return costs;
}

Solution evenPipeline(uint32_t stages, uint32_t layersPerStage, uint32_t microbatches) {
  std::vector<Id> ends;
  for (uint32_t s = 0; s < stages; ++s)
    ends.push_back(1 + (s + 1) * layersPerStage + (s + 1 == stages));
  Solution solution;
  solution.replicas = {test::pipeline(ends, 1, microbatches)};
  return solution;
}

} // namespace

TEST_CASE("uniform stages without communication have the closed-form bubble") {
  for (const char *schedule : {"1f1b", "gpipe"})
    for (uint32_t p = 1; p <= 6; ++p)
      for (uint32_t m : {1u, 2u, 3u, 5u, 8u, 17u}) {
        Problem problem = test::tinyProblem(2 * p, p, m);
        Solution solution = evenPipeline(p, 2, m);
        solution.schedule = schedule;
        REQUIRE(verify(problem, solution).empty());
        TableCosts costs = layerCosts(problem, 0.3, 0.5, 0.2);
        Cost cost = evaluate(problem, solution, costs);
        double ideal = m * 2 * (0.3 + 0.5 + 0.2);
        INFO(schedule << " p " << p << " m " << m);
        CHECK(cost.seconds / ideal - 1 == Approx(double(p - 1) / m).epsilon(1e-9).margin(1e-9));
        CHECK(cost.bubble == Approx(double(p - 1) / (m + p - 1)).margin(1e-9));
        for (uint32_t s = 0; s < p; ++s) {
          uint32_t held = std::string(schedule) == "gpipe" ? m : std::min(m, p - s);
          REQUIRE(cost.memory[s][1] == std::pair<std::string, uint64_t>("activations", 2 * 7 * held));
        }
      }
}

TEST_CASE("boundaries, tail and class speed enter exactly") {
  Problem problem = test::tinyProblem(2, 2, 2);
  problem.cluster.classes.push_back({"slow", "cpu", 1000, 0});
  problem.cluster.domains = {{kNone, "root", kNone, 0, "", false}, {0, "a", 0, 1, "", false}, {0, "b", 1, 1, "", false}};
  Solution solution = evenPipeline(2, 1, 2);
  TableCosts costs = layerCosts(problem, 1, 1, 1);
  costs.classSlowdown = {1, 2};
  costs.boundaryLatency = 0.25;
  costs.tail = 5;
  // Stage 0: F0 0-1, sends to 1.25; F1 1.25-2.25. Stage 1: F0 1.25-3.25, B0 3.25-7.25; batch 7.25-7.5 (B0 up, F1 down);
  // stage 0: B0 7.5-9.5; stage 1: F1 7.5-9.5, B1 9.5-13.5, sends to 13.75; stage 0: B1 13.75-15.75.
  CHECK(evaluate(problem, solution, costs).seconds == Approx(15.75 + 5).epsilon(1e-12));
}

TEST_CASE("a boundary is asked from the earlier stage in both directions") {
  struct OneWay final : CostSource {
    double phaseSeconds(Id, const Stage &, Phase, int64_t) const override { return 1; }
    double boundarySeconds(const Stage &from, const Stage &to, int64_t) const override { return from.endUse == to.firstUse ? 0.5 : 100; }
    double stepTailSeconds(const Solution &, Id, Id) const override { return 0; }
    std::vector<std::pair<std::string, uint64_t>> memory(const Solution &, Id, Id, uint32_t) const override { return {}; }
  };
  Problem problem = test::tinyProblem(2, 2, 1);
  // Two blocks a stage: 2 + 2 seconds there and back, and two messages.
  CHECK(evaluate(problem, evenPipeline(2, 1, 1), OneWay()).seconds == Approx(2 * 4 + 2 * 0.5));
}

TEST_CASE("a split backward lets the next stage start earlier") {
  Problem problem = test::tinyProblem(4, 4, 4);
  Solution solution = evenPipeline(4, 1, 4);
  TableCosts costs = layerCosts(problem, 1, 1, 1);
  double joint = evaluate(problem, solution, costs).seconds;
  for (Stage &stage : solution.replicas[0].stages)
    stage.splitWeightGrad = true;
  double split = evaluate(problem, solution, costs).seconds;
  CHECK(joint == Approx(4 * 3 + 3 * 3));
  CHECK(split < joint);
  CHECK(split >= 4 * 3 + 3 * (1 + 1)); // the chain of F and B of one micro-batch plus the work of a stage
}

TEST_CASE("an override moves work from a slow replica to a fast one") {
  Problem problem = test::tinyProblem(2, 4, 8);
  problem.cluster.classes.push_back({"slow", "cpu", 1000000, 0});
  problem.cluster.domains = {{kNone, "root", kNone, 0, "", false}, {0, "a", 0, 2, "", false}, {0, "b", 1, 2, "", false}};
  Solution solution;
  solution.replicas = {test::pipeline({2, 4}, 1, 4, 0), test::pipeline({2, 4}, 1, 4, 2)};
  TableCosts costs = layerCosts(problem, 1, 1, 1);
  costs.classSlowdown = {1, 3};
  double before = evaluate(problem, solution, costs).seconds;
  CHECK(before == Approx(3 * (4 * 3 + 3)));
  solution.overrides = {{1, 0, 1, 0}, {1, 1, 1, 0}, {1, 0, 3, 0}, {1, 1, 3, 0}};
  REQUIRE(verify(problem, solution).empty());
  CHECK(evaluate(problem, solution, costs).seconds == Approx(3 * (2 * 3 + 3)));
}

TEST_CASE("evaluate agrees with a recurrence over the items") {
  // Oracle: longest path by repeated relaxation over all items, written without the engine's queues.
  std::mt19937 rng(11);
  for (int trial = 0; trial < 300; ++trial) {
    Solution solution = test::randomSolution(rng, 6);
    uint32_t sequences = 0, devices = 0;
    for (const Replica &replica : solution.replicas) {
      sequences += replica.microbatches;
      devices += uint32_t(replica.stages.size());
    }
    Problem problem = test::tinyProblem(4, devices, sequences);
    REQUIRE(verify(problem, solution).empty());
    TableCosts costs = layerCosts(problem, 0.5, 0.75, 0.25);
    costs.rows[{0, 1, "none"}] = {0.125, 0, 0.125, 0, 0};
    costs.boundaryPerSequence = trial % 2 ? 0.375 : 0;
    auto stageSeconds = [&](const Stage &stage, Phase phase) {
      double sum = 0;
      for (Id use = stage.firstUse; use < stage.endUse; ++use)
        sum += costs.phaseSeconds(problem.model->chain[use].kind, stage, phase, 1);
      return sum;
    };
    struct Node {
      double start = 0, end = 0;
    };
    std::map<std::pair<Id, Id>, std::vector<PipeItem>> items;
    std::map<std::pair<Id, Id>, std::vector<Node>> nodes;
    std::map<std::tuple<Id, Id, bool, Id, Id, bool>, std::pair<std::pair<Id, Id>, size_t>> posts;
    for (Id r = 0; r < solution.replicas.size(); ++r)
      for (Id s = 0; s < solution.replicas[r].stages.size(); ++s) {
        auto &list = items[{r, s}] = pipelineItems(solution, r, s);
        nodes[{r, s}].resize(list.size());
        for (size_t i = 0; i < list.size(); ++i)
          for (const PipeMessage &m : list[i].messages)
            posts[{m.replica, m.microbatch, m.gradient, m.send ? s : m.peerStage, m.send ? m.peerStage : s, m.send}] = {{r, s}, i};
      }
    bool changed = true;
    while (changed) {
      changed = false;
      for (auto &[self, list] : items)
        for (size_t i = 0; i < list.size(); ++i) {
          Node node;
          node.start = i ? nodes[self][i - 1].end : 0;
          node.end = node.start;
          if (list[i].kind == PipeItem::Run)
            node.end += stageSeconds(solution.replicas[self.first].stages[self.second], list[i].run.phase);
          for (const PipeMessage &m : list[i].messages) {
            Id from = m.send ? self.second : m.peerStage, to = m.send ? m.peerStage : self.second;
            auto [peer, at] = posts.at({m.replica, m.microbatch, m.gradient, from, to, !m.send});
            node.end = std::max(node.end, std::max(node.start, nodes[peer][at].start) + costs.boundaryPerSequence);
          }
          if (node.end != nodes[self][i].end || node.start != nodes[self][i].start) {
            nodes[self][i] = node;
            changed = true;
          }
        }
    }
    double last = 0;
    for (const auto &[self, list] : nodes)
      if (!list.empty())
        last = std::max(last, list.back().end);
    CHECK(evaluate(problem, solution, costs).seconds == Approx(last).epsilon(1e-12));
  }
}

TEST_CASE("memory beyond the device is refused with its components") {
  Problem problem = test::tinyProblem(2, 2, 3);
  problem.cluster.classes[0].memoryBytes = 135;
  problem.cluster.classes[0].reservedBytes = 12;
  Solution solution = evenPipeline(2, 1, 3);
  TableCosts costs = layerCosts(problem, 1, 1, 1);
  Cost cost = evaluate(problem, solution, costs);
  CHECK(cost.peakBytes == std::vector<uint64_t>{124, 117});
  std::vector<Reason> reasons = checkMemory(problem, solution, cost);
  REQUIRE(reasons.size() == 1);
  CHECK(reasons[0].text() == "replica 0, stage 0: 136 bytes: small has 135 bytes, of which 12 are reserved; needed are "
                             "parameters 110, activations 14 [F-30]");
  problem.cluster.classes[0].memoryBytes = 136;
  CHECK(checkMemory(problem, solution, cost).empty());
}

TEST_CASE("a stage without costs takes forever") {
  Problem problem = test::tinyProblem(2, 4, 3);
  Solution solution;
  solution.replicas = {test::pipeline({2, 4}, 2, 3)};
  Cost cost = evaluate(problem, solution, layerCosts(problem, 1, 1, 1));
  CHECK(std::isinf(cost.seconds));
}
