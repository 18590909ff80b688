// Random legal pipelines for property tests: uneven replicas, executor overrides, both schedules, split backwards.
#ifndef PLAIT_TEST_COST_MODEL_RANDOMSOLUTIONS_H
#define PLAIT_TEST_COST_MODEL_RANDOMSOLUTIONS_H

#include "cost_model/problem/Solution.h"
#include <random>

namespace plait::test {

inline uint32_t pick(std::mt19937 &rng, uint32_t low, uint32_t high) { return low + uint32_t(rng() % (high - low + 1)); }

/// Replicas with equal cuts over `uses` chain entries; any of them may run another's micro-batches.
inline Solution randomSolution(std::mt19937 &rng, uint32_t uses = 12) {
  Solution solution;
  solution.schedule = rng() % 4 ? "1f1b" : "gpipe";
  uint32_t replicas = pick(rng, 1, 4), stages = pick(rng, 1, 5), device = 0;
  for (uint32_t r = 0; r < replicas; ++r) {
    Replica replica;
    replica.microbatches = pick(rng, 1, 9);
    for (uint32_t s = 0; s < stages; ++s) {
      Stage stage;
      stage.devices = {device++, 1, 1};
      stage.firstUse = uses * s / stages;
      stage.endUse = uses * (s + 1) / stages;
      stage.splitWeightGrad = rng() % 3 == 0;
      replica.stages.push_back(stage);
    }
    solution.replicas.push_back(replica);
  }
  uint32_t chance = pick(rng, 0, 60); // percent of overridden (replica, stage, micro-batch)
  for (uint32_t r = 0; replicas > 1 && r < replicas; ++r)
    for (uint32_t s = 0; s < stages; ++s)
      for (uint32_t m = 0; m < solution.replicas[r].microbatches; ++m)
        if (pick(rng, 1, 100) <= chance)
          solution.overrides.push_back({r, s, m, (r + pick(rng, 1, replicas - 1)) % replicas});
  return solution;
}

} // namespace plait::test

#endif
