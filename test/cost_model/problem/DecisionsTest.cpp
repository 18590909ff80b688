#include "cost_model/problem/Decisions.h"
#include <catch2/catch.hpp>

using namespace plait;

TEST_CASE("decisions keep every field of a solution") {
  Solution solution;
  solution.schedule = "gpipe";
  solution.sharding = "optimizer";
  solution.microBatch = 3;
  Stage first{{1, 3, 2}, 0, 5, {{"attention", {{"h", {2, 4}}}}, {"mlp", {{"i", {}}, {"e", {7}}}}}, "selective", true};
  Stage second{{7, 1, 1}, 5, 8, {}, "none", false};
  solution.replicas = {{2, 8, {first, second}, 6}, {1, 0, {second}, 2}};
  solution.overrides = {{0, 1, 5, 1}, {1, 0, 2, 0}};

  pb::Decisions decisions = decisionsFromSolution(solution);
  CHECK(solutionFromDecisions(decisions) == solution);
  // Read field by field, so that two wrongs do not make a right.
  const pb::Stage &stage = decisions.replicas(0).stages(0);
  CHECK(decisions.replicas(0).copies() == 2);
  CHECK(decisions.replicas(0).copy_stride() == 8);
  CHECK(decisions.replicas(0).microbatches() == 6);
  CHECK(stage.devices().first() == 1);
  CHECK(stage.devices().count() == 3);
  CHECK(stage.devices().stride() == 2);
  CHECK(stage.first_use() == 0);
  CHECK(stage.end_use() == 5);
  CHECK(stage.maps(0).segment() == "attention");
  CHECK(stage.maps(0).uses(0).factor() == "h");
  CHECK(stage.maps(0).uses(0).cuts(1) == 4);
  CHECK(stage.maps(1).uses(1).cuts(0) == 7);
  CHECK(stage.recompute() == "selective");
  CHECK(stage.split_wgrad());
  CHECK(decisions.overrides(0).stage() == 1);
  CHECK(decisions.overrides(0).microbatch() == 5);
  CHECK(decisions.overrides(0).executor() == 1);
  CHECK(decisions.overrides(1).replica() == 1);
  CHECK(decisions.schedule() == "gpipe");
  CHECK(decisions.sharding() == "optimizer");
  CHECK(decisions.micro_batch() == 3);
}
