#include "cost_model/problem/Problem.h"
#include "cost_model/problem/Rules.h"
#include "test/cost_model/TinyModel.h"
#include <catch2/catch.hpp>
#include <functional>
#include <set>

using namespace plait;
using test::pipeline;

namespace {

/// A legal solution: two replicas of 2 stages with 2 and 1 micro-batches, TP 2 and TP 1, on 8 devices.
Solution legal() {
  Solution solution;
  solution.microBatch = 2;
  solution.replicas = {pipeline({3, 6}, 2, 2, 0), pipeline({3, 6}, 1, 1, 4)};
  return solution;
}

std::string texts(const std::vector<Reason> &reasons) {
  std::string all;
  for (const Reason &reason : reasons)
    all += reason.text() + "\n";
  return all;
}

std::string verified(const std::function<void(Problem &, Solution &)> &change) {
  Problem problem = test::tinyProblem(4, 8, 6);
  Solution solution = legal();
  change(problem, solution);
  return texts(verify(problem, solution));
}

std::string checked(const std::function<void(Problem &, Model &)> &change) {
  Problem problem = test::tinyProblem(4, 8, 6);
  auto model = test::tinyModel(4);
  problem.model = model;
  change(problem, *model);
  return texts(check(problem));
}

} // namespace

TEST_CASE("rules have unique numbers and a row in the table") {
  std::set<std::string_view> numbers;
  for (const PlanRule &rule : planRules()) {
    CHECK(numbers.insert(rule.number).second);
    CHECK(rule.applies[0] + rule.applies[1] + rule.applies[2] > 0);
    CHECK(rulesMarkdown().find(rule.sentence) != std::string::npos);
  }
  CHECK(ruleApplies("F-21", "megatron@core_v0.14"));
  CHECK_FALSE(ruleApplies("F-21", "plait"));
  CHECK_FALSE(ruleApplies("F-25", "torchtitan"));
  CHECK_FALSE(ruleApplies("F-99", "plait"));
  CHECK_FALSE(ruleApplies("F-07", "elsewhere"));
}

TEST_CASE("legal problems and solutions have no reasons") {
  CHECK(checked([](Problem &, Model &) {}) == "");
  CHECK(verified([](Problem &, Solution &) {}) == "");
  CHECK(verified([](Problem &, Solution &s) {
          s.replicas[0].stages[0].maps[0].uses[0].cuts = {1};
          s.replicas[1].stages[0].splitWeightGrad = true;
          s.overrides = {{0, 1, 1, 1}};
          s.schedule = "gpipe";
          s.sharding = "optimizer";
        }) == "");
}

TEST_CASE("check names what is wrong with a problem") {
  using P = Problem;
  using M = Model;
  CHECK(checked([](P &p, M &) { p.cluster.domains.clear(); }) ==
        "cluster flat: 0 devices: a cluster has at least one device [F-01]\n");
  CHECK(checked([](P &p, M &) { p.cluster.domains[1].parent = 1; }) ==
        "domain 1 (node): its parent: domain 0 is the root and parents come before children [F-01]\n");
  CHECK(checked([](P &p, M &) { p.cluster.domains[1].deviceClass = 3; }) ==
        "domain 1 (node): 8 devices: their class is not listed [F-01]\n");
  CHECK(checked([](P &p, M &) { p.cluster.domains.push_back({1, "inner", 0, 1, "", false}); }) ==
        "domain 2 (inner): parent node: the parent is a leaf that holds devices [F-01]\n");
  CHECK(checked([](P &p, M &) { p.model = nullptr; }) == "model: no blocks: a model has at least one block [F-02]\n");
  CHECK(checked([](P &, M &m) { m.chain[2].kind = 9; }) == "use 2 of the chain: block kind 9: no such kind [F-02]\n");
  CHECK(checked([](P &, M &m) { m.chain[0].kind = 1; }) ==
        "use 0 of the chain: decoder: the first block reads tokens [F-02]\n");
  CHECK(checked([](P &, M &m) { m.chain.pop_back(); }) == "use 4 of the chain: decoder: the last block gives the loss [F-02]\n");
  CHECK(checked([](P &, M &m) { m.chain[1].params = {77}; }) == "use 1 of the chain: parameter 77: no such parameter [F-02]\n");
  CHECK(checked([](P &, M &m) { m.chain[1].params.clear(); }) == "use 1 of the chain: 0 parameters: decoder has 1 [F-02]\n");
  CHECK(checked([](P &p, M &) { p.job.globalBatch = 0; }) ==
        "job: 0 sequences of 16 tokens: both are at least 1 and at most 2147483648 [F-03]\n");
  CHECK_THAT(checked([](P &p, M &) { p.job.seqLen = int64_t(1) << 62; }), Catch::Contains("[F-03]"));
  CHECK(checked([](P &p, M &) { p.job.optimizer = "adam"; }) ==
        "job: optimizer 'adam': no such optimizer [F-03]; what works: adamw, sgd\n");
  CHECK(checked([](P &p, M &) { p.job.precision.grad = DType::BF16; }) ==
        "job: its precision: parameters and activations are f32 or bf16, gradients and optimizer state f32 [F-03]; what "
        "works: bf16, fp32\n");
  CHECK(checked([](P &p, M &) { p.space.tp = {0}; }) == "space: tp 0: degrees and sizes are at least 1 [F-04]\n");
  CHECK(checked([](P &p, M &) { p.space.schedules = {"gpip"}; }) ==
        "space: schedule 'gpip': no such schedule [F-04]; what works: gpipe, 1f1b\n");
  CHECK(checked([](P &p, M &) { p.target = "megatrn@1"; }) ==
        "target: megatrn@1: no such target [F-05]; what works: megatron, plait, torchtitan\n");
}

TEST_CASE("verify names device, chain and batch violations") {
  using P = Problem;
  using S = Solution;
  CHECK(verified([](P &, S &s) { s.replicas.clear(); }) ==
        "solution: no replicas: at least one computes the batch [F-18]\n");
  CHECK(verified([](P &, S &s) { s.replicas[1].stages[1].devices.first = 3; }) ==
        "replica 1, stage 1, copy 0: device 3: replica 0, stage 1, copy 0 uses it already [F-06]\n");
  CHECK(verified([](P &, S &s) { s.replicas[1].stages[1].devices.first = 8; }) ==
        "replica 1, stage 1, copy 0: device 8: the cluster has devices 0 to 7 [F-06]\n");
  CHECK(verified([](P &p, S &) { p.cluster = test::flatCluster(5); }) ==
        "solution: at least 6 devices: the cluster has 5 [F-06]\n");
  CHECK(verified([](P &, S &s) { s.replicas[0].stages[0].devices.count = 4000000000u; })
            .find("devices: the cluster has 8 [F-06]") != std::string::npos);
  CHECK(verified([](P &, S &s) { s.replicas[1].stages[1].firstUse = 4; }) ==
        "replica 1, stage 1: uses 4 to 5: the next use is 3 [F-09]\n");
  CHECK(verified([](P &, S &s) { s.replicas[1].stages[1].endUse = 5; }) ==
        "replica 1: uses 0 to 4: the chain has uses 0 to 5 [F-09]\n");
  CHECK(verified([](P &, S &s) { s.replicas[1].stages[1].endUse = 7; }) ==
        "replica 1, stage 1: uses 3 to 6: the chain has uses 0 to 5 [F-09]\n");
  CHECK(verified([](P &, S &s) { s.replicas[1].stages[0].endUse = 0; }).find("replica 1, stage 0: no uses: a stage has at least one [F-09]") == 0);
  CHECK(verified([](P &, S &s) { s.replicas[1].stages.clear(); }) ==
        "replica 1: no stages: they cover uses 0 to 5 [F-09]\n");
  CHECK(verified([](P &, S &s) { s.replicas[0].microbatches = 3; }) ==
        "solution: 4 micro-batches of 2 sequences: their product is 8, the global batch is 6 [F-18]\n");
  CHECK_THAT(verified([](P &, S &s) { s.replicas[0].copies = s.replicas[0].microbatches = 4000000000u; }),
             Catch::StartsWith("replica 0: 4000000000 copies of 4000000000 micro-batches: the global batch has 6 sequences [F-18]\n"));
  CHECK(verified([](P &, S &s) { s.microBatch = 0; }) ==
        "solution: micro-batch 0: a micro-batch has 1 to 6 sequences [F-18]\n");
  CHECK(verified([](P &, S &s) { s.replicas[0].microbatches = 0; }).find("replica 0: 1 copies of 0 micro-batches: both are at least 1 [F-18]") == 0);
  CHECK(verified([](P &, S &s) { s.replicas[0].microbatches = 4000000000u; }) ==
        "replica 0: 1 copies of 4000000000 micro-batches: the global batch has 6 sequences [F-18]\n");
}

TEST_CASE("verify names violations of a stage's maps") {
  using P = Problem;
  using S = Solution;
  auto maps = [](S &s) -> std::vector<SegmentMap> & { return s.replicas[0].stages[0].maps; };
  CHECK(verified([&](P &, S &s) { maps(s)[0].segment = "atention"; }) ==
        "replica 0, stage 0: segment 'atention': no block has it [F-10]; what works: attention, stream, embedding\n");
  CHECK(verified([&](P &, S &s) { maps(s)[0].uses[0].factor = "hh"; }) ==
        "replica 0, stage 0: segment 'attention', factor 'hh': no block with this segment has it [F-10]; what works: h, s, b\n");
  CHECK(verified([&](P &, S &s) { maps(s).push_back(maps(s)[0]); }) ==
        "replica 0, stage 0: segment 'attention': it is mapped twice [F-10]\n");
  CHECK(verified([](P &p, S &s) {
          p.cluster = test::flatCluster(16);
          s.replicas[0] = pipeline({3, 6}, 7, 2, 2);
          s.replicas[1] = pipeline({3, 6}, 1, 1, 0);
        }) == "replica 0, stage 0: tensor parallel 7: factor 'h' of block 'decoder' has 6 units [F-07]; what works: 1 to 6\n"
              "replica 0, stage 1: tensor parallel 7: factor 'h' of block 'decoder' has 6 units [F-07]; what works: 1 to 6\n");
  CHECK(verified([&](P &, S &s) { maps(s)[0].uses[0].cuts = {1, 2}; }) ==
        "replica 0, stage 0: 2 cuts of factor 'h': tensor parallel 2 takes 1 [F-08]\n");
  CHECK(verified([&](P &, S &s) { maps(s)[0].uses[0].cuts = {6}; }) ==
        "replica 0, stage 0: cut 6 of factor 'h': it is not between 0 and 6 [F-08]\n");
  CHECK(verified([&](P &, S &s) { maps(s).push_back({"stream", {{"s", {}}}}); }) ==
        "replica 0, stage 1: stream []: an earlier stage of the replica has stream [s] [F-17]; what works: stream [s]\n");
  CHECK(verified([&](P &, S &s) { maps(s)[0].uses.push_back({"s", {}}); }) ==
        "replica 0, stage 0: its maps: block 'decoder', value 'z': two of its dimensions are split over one axis [F-12]\n");
}

TEST_CASE("tied tensors on one stage are split alike") {
  Problem problem = test::tinyProblem(1, 2, 1, true);
  Solution solution;
  solution.replicas = {pipeline({3}, 2, 1)};
  CHECK(texts(verify(problem, solution)) == "");
  solution.replicas[0].stages[0].maps[2].uses[0].cuts = {20};
  CHECK(texts(verify(problem, solution)) ==
        "replica 0, stage 0: tensor 'embedding' at coordinate 0: uses 0 and 2 of the chain split it differently [F-13]\n");
}

TEST_CASE("verify names violations of names, overrides and space") {
  using P = Problem;
  using S = Solution;
  CHECK(verified([](P &, S &s) { s.schedule = "1f1"; }) ==
        "solution: schedule '1f1': no such schedule [F-16]; what works: 1f1b, gpipe\n");
  CHECK(verified([](P &, S &s) { s.sharding = "zero"; }) ==
        "solution: sharding 'zero': no such sharding [F-16]; what works: none, optimizer\n");
  CHECK(verified([](P &, S &s) { s.replicas[0].stages[0].recompute = "fulll"; }) ==
        "replica 0, stage 0: recompute variant 'fulll': no such recompute variant [F-16]; what works: full, none, selective\n");
  CHECK(verified([](P &p, S &s) {
          auto model = test::tinyModel(4);
          model->kinds[1].phases.resize(2); // only Forward and Backward of "none" remain
          p.model = model;
          s.replicas[1].stages[0].splitWeightGrad = true;
        }).find("replica 1, stage 0: recompute 'none', phase 3: block 'decoder' has no such phase [F-16]\n") == 0);
  auto moved = [](Override o) {
    return verified([&](P &, S &s) { s.overrides = {o}; });
  };
  CHECK(moved({0, 0, 0, 2}) == "override 0: replica 0, stage 0, micro-batch 0 on replica 2: there are 2 replicas [F-19]\n");
  CHECK(moved({0, 2, 0, 1}) ==
        "override 0: replica 0, stage 2, micro-batch 0 on replica 1: the replica has 2 stages and 2 micro-batches [F-19]\n");
  CHECK(moved({0, 0, 0, 0}) ==
        "override 0: replica 0, stage 0, micro-batch 0 on replica 0: that is where it runs without an override [F-19]\n");
  CHECK(verified([](P &, S &s) { s.overrides = {{0, 0, 0, 1}, {0, 0, 0, 1}}; }) ==
        "override 1: replica 0, stage 0, micro-batch 0 on replica 1: it is overridden twice [F-19]\n");
  CHECK(verified([](P &, S &s) {
          s.replicas[1] = pipeline({2, 6}, 1, 1, 4);
          s.overrides = {{0, 0, 0, 1}};
        }) == "override 0: replica 0, stage 0, micro-batch 0 on replica 1: the replicas cut the chain at different places [F-19]\n");
  CHECK(verified([](P &p, S &s) {
          p.job.globalBatch = 8;
          s.replicas[1].copies = 2;
          s.replicas[1].copyStride = 2;
          s.overrides = {{0, 0, 0, 1}};
        }) == "override 0: replica 0, stage 0, micro-batch 0 on replica 1: a replica with several copies cannot take part [F-19]\n");
  CHECK(verified([](P &p, S &) { p.space.tp = {2, 4}; }) ==
        "replica 1, stage 0: tp 1: the space does not hold it [F-20]; what works: 2, 4\n"
        "replica 1, stage 1: tp 1: the space does not hold it [F-20]; what works: 2, 4\n");
  CHECK(verified([](P &p, S &) { p.space.dp = {3}; }) ==
        "solution: dp 2: the space does not hold it [F-20]; what works: 3\n");
  CHECK(verified([](P &p, S &) { p.space.schedules = {"gpipe"}; }) ==
        "solution: schedule 1f1b: the space does not hold it [F-20]; what works: gpipe\n");
  CHECK(verified([](P &p, S &s) {
          p.space.unevenLayers = false;
          s.replicas[0] = pipeline({2, 6}, 2, 2, 0);
        }) == "replica 0: stages with different numbers of layers: the space holds even ones only [F-20]\n");
}

TEST_CASE("an export target adds its own rules") {
  std::string text = verified([](Problem &p, Solution &s) {
    p.target = "megatron@core_v0.14";
    s.replicas[1].stages[0].recompute = "full";
    s.replicas[1].stages[1].splitWeightGrad = true;
    s.overrides = {{0, 0, 0, 1}};
    s.schedule = "gpipe";
  });
  for (const char *line :
       {"replica 1: stages or micro-batches unlike those of replica 0: replicas are alike [F-21]\n",
        "replica 1, stage 0: tensor parallel 1: stage 0 of replica 0 has another degree [F-22]; what works: 2\n",
        "replica 0, stage 0: tensor parallel 2: factor 'v' of block 'embedding' has 31 units, not a multiple of 2 [F-23]\n",
        "solution: 1 overrides: the target has none [F-24]\n",
        "replica 1, stage 1: split backward: the target does not have it [F-25]\n",
        "solution: schedule 'gpipe': the target does not have it [F-25]; what works: 1f1b\n",
        "replica 1, stage 0: recompute 'full': stage 0 of replica 0 differs [F-26]; what works: none\n"})
    CHECK_THAT(text, Catch::Contains(line));
}
