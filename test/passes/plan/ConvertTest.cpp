// Structs survive the plan dialect, and structs that have no text form are refused with the reason.
#include "passes/plan/Convert.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace plait;

namespace {

struct Scratch {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  OpBuilder builder{&context};

  Scratch() {
    context.loadDialect<plan::PlanDialect>();
    module = ModuleOp::create(UnknownLoc::get(&context));
    builder.setInsertionPointToStart(module->getBody());
  }
};

Problem pairOfNodes() {
  Problem problem;
  problem.target = "megatron";
  problem.cluster.name = "pair";
  problem.cluster.classes = {{"gpu", "h100-sxm-80gb", 80000000001, 7}};
  problem.cluster.domains.resize(3);
  problem.cluster.domains[0] = {kNone, "root", kNone, 0, "ib", false};
  problem.cluster.domains[1] = {0, "left", 0, 8, "nvlink", true};
  problem.cluster.domains[2] = {0, "right", 0, 4, "", false};
  problem.job = {16, 4096, {}, "sgd"};
  problem.job.precision.moments = DType::BF16;
  problem.space.tp = {1, 2};
  problem.space.dp = {3};
  problem.space.recompute = {"none", "full"};
  problem.space.splitWeightGrad = {true, false};
  problem.space.unevenLayers = false;
  problem.space.idleDevices = true;
  return problem;
}

std::string refusal(const Problem &problem) {
  Scratch scratch;
  auto op = buildProblemOp(scratch.builder, problem);
  return op ? "" : op.error().message;
}

} // namespace

TEST_CASE("a solution survives the dialect") {
  Solution solution;
  solution.schedule = "gpipe";
  solution.sharding = "optimizer";
  solution.microBatch = 3;
  Stage first{{1, 3, 2}, 0, 5, {{"attention", {{"h", {2, 4}}}}, {"mlp", {{"i", {}}}}}, "selective", true};
  Stage second{{7, 1, 1}, 5, 8, {}, "none", false};
  solution.replicas = {{2, 8, {first, second}, 6}, {1, 0, {second}, 2}};
  solution.overrides = {{0, 0, 5, 1}};
  Scratch scratch;
  plan::SolutionOp op = buildSolutionOp(scratch.builder, solution, "s");
  REQUIRE(succeeded(verify(*scratch.module)));
  Result<Solution> back = solutionFromOp(op);
  REQUIRE(back);
  CHECK(*back == solution);
}

TEST_CASE("a problem survives the dialect") {
  Problem problem = pairOfNodes();
  Scratch scratch;
  Result<plan::ProblemOp> op = buildProblemOp(scratch.builder, problem);
  REQUIRE(op);
  REQUIRE(succeeded(verify(*scratch.module)));
  Result<Problem> back = problemFromOp(*op);
  REQUIRE(back);
  CHECK(back->target == "megatron");
  CHECK(back->cluster.name == "pair");
  REQUIRE(back->cluster.classes.size() == 1);
  CHECK(back->cluster.classes[0].facts == "h100-sxm-80gb");
  CHECK(back->cluster.classes[0].memoryBytes == 80000000001);
  CHECK(back->cluster.classes[0].reservedBytes == 7);
  REQUIRE(back->cluster.domains.size() == 3);
  CHECK(back->cluster.domains[0].parent == kNone);
  CHECK(back->cluster.domains[0].deviceClass == kNone);
  CHECK(back->cluster.domains[0].link == "ib");
  CHECK(back->cluster.domains[1].parent == 0);
  CHECK(back->cluster.domains[1].devices == 8);
  CHECK(back->cluster.domains[1].failsTogether);
  CHECK(back->cluster.domains[2].name == "right");
  CHECK(back->job.globalBatch == 16);
  CHECK(back->job.seqLen == 4096);
  CHECK(back->job.precision == problem.job.precision);
  CHECK(back->job.optimizer == "sgd");
  CHECK(back->space.tp == problem.space.tp);
  CHECK(back->space.pp.empty());
  CHECK(back->space.dp == problem.space.dp);
  CHECK(back->space.recompute == problem.space.recompute);
  CHECK(back->space.splitWeightGrad == problem.space.splitWeightGrad);
  CHECK_FALSE(back->space.unevenLayers);
  CHECK(back->space.idleDevices);
}

TEST_CASE("clusters without a text form are refused") {
  Problem problem = pairOfNodes();
  CHECK(refusal(problem) == "");
  SECTION("equal domain names") {
    problem.cluster.domains[2].name = "left";
    CHECK(refusal(problem) == "cluster \"pair\" has no text form: two domains are called \"left\"");
  }
  SECTION("equal class names") {
    problem.cluster.classes.push_back(problem.cluster.classes[0]);
    CHECK(refusal(problem) == "cluster \"pair\" has no text form: two device classes are called \"gpu\"");
  }
  SECTION("a parent behind its child") {
    problem.cluster.domains[1].parent = 2;
    CHECK(refusal(problem) == "cluster \"pair\" has no text form: domain \"left\" does not come after its parent; the first "
                              "domain is the only root");
  }
  SECTION("an unknown class") {
    problem.cluster.domains[1].deviceClass = 5;
    CHECK(refusal(problem) ==
          "cluster \"pair\" has no text form: domain \"left\" names a device class that does not exist");
  }
}
