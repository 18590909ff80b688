// exact against exhaustive, and bounds against evaluate(), on random small instances.
#include "../../cost_model/TinyModel.h"
#include "compiler/search/Bounds.h"
#include "compiler/search/Search.h"
#include "cost_model/problem/TableCosts.h"
#include <catch2/catch.hpp>
#include <random>

using namespace plait;

namespace {

struct Instance {
  Problem problem;
  std::unique_ptr<TableCosts> costs;
};

uint32_t pick(std::mt19937 &rng, uint32_t low, uint32_t high) { return low + rng() % (high - low + 1); }
double seconds(std::mt19937 &rng) { return double(pick(rng, 1, 100)) / 64; }

/// Up to 6 devices and 6 layers; memory from ample to too small.
Instance randomInstance(std::mt19937 &rng) {
  Instance instance;
  instance.problem = test::tinyProblem(pick(rng, 1, 6), pick(rng, 1, 6), int64_t(pick(rng, 1, 12)), rng() % 2);
  instance.problem.cluster = test::flatCluster(instance.problem.cluster.deviceCount(), pick(rng, 20, 400));
  instance.problem.space.idleDevices = rng() % 3 == 0;
  instance.problem.space.unevenLayers = rng() % 5 != 0;
  if (rng() % 4 == 0)
    instance.problem.space.splitWeightGrad = {false, true};
  instance.costs = std::make_unique<TableCosts>(instance.problem);
  for (Id kind = 0; kind < 3; ++kind)
    for (uint32_t tp = 1; tp <= 6; ++tp)
      for (const char *variant : {"none", "selective", "full"})
        instance.costs->rows[{kind, tp, variant}] = {seconds(rng) / tp, seconds(rng) / tp, seconds(rng) / tp, pick(rng, 1, 40) / tp,
                                                     pick(rng, 1, 12) / tp};
  instance.costs->boundaryLatency = rng() % 2 ? seconds(rng) / 4 : 0;
  instance.costs->tail = rng() % 2 ? seconds(rng) : 0;
  return instance;
}

} // namespace

TEST_CASE("exact finds what exhaustive finds") {
  std::mt19937 rng(7);
  auto exact = makeSolver("exact"), exhaustive = makeSolver("exhaustive");
  REQUIRE(exact);
  REQUIRE(exhaustive);
  unsigned infeasible = 0, evaluatedExact = 0, evaluatedAll = 0;
  for (int i = 0; i < 200; ++i) {
    Instance instance = randomInstance(rng);
    REQUIRE(check(instance.problem).empty());
    SearchOptions options;
    options.budget = 10'000'000;
    SearchResult all = (*exhaustive)->solve(instance.problem, *instance.costs, options);
    SearchResult one = (*exact)->solve(instance.problem, *instance.costs, options);
    INFO("instance " << i);
    REQUIRE(all.candidates == one.candidates);
    REQUIRE(all.best.empty() == one.best.empty());
    infeasible += all.best.empty();
    evaluatedAll += all.evaluated;
    evaluatedExact += one.evaluated;
    if (all.best.empty()) {
      CHECK(all.pruned["F-30"] == one.pruned["F-30"]);
      continue;
    }
    CHECK(one.proven);
    CHECK(one.best.front().cost.seconds == Approx(all.best.front().cost.seconds).epsilon(1e-12));
    CHECK(one.bound <= one.best.front().cost.seconds);
    CHECK(verify(instance.problem, one.best.front().solution).empty());
    CHECK(checkMemory(instance.problem, one.best.front().solution, one.best.front().cost).empty());
  }
  CHECK(infeasible >= 5);
  CHECK(infeasible <= 150);
  CHECK(evaluatedExact < evaluatedAll);
}

TEST_CASE("no plan is faster than the bounds of its stages") {
  std::mt19937 rng(11);
  unsigned plans = 0;
  for (int i = 0; i < 300; ++i) {
    Instance instance = randomInstance(rng);
    instance.problem.cluster = test::flatCluster(instance.problem.cluster.deviceCount());
    std::map<std::string, uint64_t> pruned;
    for (const Layout &layout : layoutsOf(instance.problem, pruned)) {
      LayoutCosts costs(instance.problem, layout, *instance.costs);
      std::vector<Id> cuts(layout.pp - 1);
      std::vector<Id> places(costs.uses() - 1);
      for (Id p = 0; p < places.size(); ++p)
        places[p] = p + 1;
      std::shuffle(places.begin(), places.end(), rng);
      std::copy_n(places.begin(), cuts.size(), cuts.begin());
      std::sort(cuts.begin(), cuts.end());
      Solution solution = solutionOf(instance.problem, layout, cuts);
      double simulated = evaluate(instance.problem, solution, *instance.costs).seconds;
      CHECK(costs.quickBound() <= simulated * (1 + 1e-12));
      for (uint32_t s = 0; s < layout.pp; ++s) {
        const Stage &stage = solution.replicas[0].stages[s];
        INFO(layout.schedule << ", split " << layout.splitWeightGrad << ", pp " << layout.pp << ", m " << layout.microbatches << ", stage " << s);
        CHECK(costs.stageBound(stage.firstUse, stage.endUse, s) <= simulated * (1 + 1e-12));
      }
      ++plans;
    }
  }
  CHECK(plans > 5000);
}

TEST_CASE("the answer does not depend on the number of threads") {
  std::mt19937 rng(23);
  auto exact = makeSolver("exact");
  for (int i = 0; i < 20; ++i) {
    Instance instance = randomInstance(rng);
    SearchOptions options;
    options.budget = 50; // ends early, where a race would show
    SearchResult one = (*exact)->solve(instance.problem, *instance.costs, options);
    options.threads = 2;
    SearchResult two = (*exact)->solve(instance.problem, *instance.costs, options);
    REQUIRE(one.best.size() == two.best.size());
    CHECK(one.bound == two.bound);
    CHECK(one.evaluated == two.evaluated);
    for (size_t k = 0; k < one.best.size(); ++k)
      CHECK(one.best[k].solution == two.best[k].solution);
  }
}

TEST_CASE("an unknown solver is refused with the known ones") {
  auto solver = makeSolver("magic");
  REQUIRE_FALSE(solver);
  CHECK(solver.error().code == ExitCode::Usage);
  CHECK(solver.error().message == "solver 'magic' is not known; what works: exact, exhaustive");
}
