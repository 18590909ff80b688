#include "cost_model/problem/ModelCosts.h"
#include "cost_model/comm/Collectives.h"
#include "cost_model/compute/Kernels.h"
#include "cost_model/facts/ClusterFile.h"
#include "cost_model/workload/Projection.h"
#include "test/cost_model/TinyModel.h"
#include "test/cost_model/workload/MlpBlock.h"
#include "cost_model/memory/BlockMemory.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <thread>

using namespace plait;
using test::MlpBlock;

namespace {

constexpr int64_t kHidden = 64, kFfn = 256, kSeq = 32;

/// A chain of `layers` MLP blocks; only the costs of single stages are asked, so it needs no embedding.
Problem mlpProblem(uint32_t layers, int nodes, const std::string &precision = "fp32") {
  Problem problem;
  auto model = std::make_shared<Model>();
  model->kinds = {MlpBlock::make(kHidden, kFfn)};
  for (uint32_t layer = 0; layer < layers; ++layer) {
    BlockUse use{0, int32_t(layer), {}};
    for (std::vector<int64_t> shape : {std::vector<int64_t>{kHidden}, {kFfn, kHidden}, {kHidden, kFfn}}) {
      ParamTensor tensor;
      tensor.shape = shape;
      use.params.push_back(Id(model->params.size()));
      model->params.push_back(tensor);
    }
    model->chain.push_back(use);
  }
  problem.model = model;
  problem.cluster = *readCluster(R"({"groups": [{"device": "a100-sxm-80gb", "devices_per_node": 4, "intra_link": "nvlink3",
                                  "inter_link": "ib-hdr200", "nodes": )" + std::to_string(nodes) + "}]}", "c", Facts::builtin());
  problem.job.seqLen = kSeq;
  problem.job.precision = *precisionByName(precision);
  return problem;
}

Solution stages(std::vector<Id> ends, uint32_t tp, uint32_t copies = 1, uint32_t stride = 0) {
  Solution solution;
  solution.microBatch = 2;
  solution.replicas = {test::pipeline(ends, tp, 1)};
  solution.replicas[0].copies = copies;
  solution.replicas[0].copyStride = stride;
  for (Stage &stage : solution.replicas[0].stages)
    stage.maps = tp > 1 ? std::vector<SegmentMap>{{"mlp", {{"i", {}}}}} : std::vector<SegmentMap>{};
  return solution;
}

uint64_t component(const std::vector<std::pair<std::string, uint64_t>> &components, const std::string &name) {
  for (const auto &[key, bytes] : components)
    if (key == name)
      return bytes;
  FAIL("no component " << name);
  return 0;
}

} // namespace

TEST_CASE("a phase costs its launches and collectives") {
  Problem problem = mlpProblem(4, 2);
  auto costs = std::move(*ModelCosts::create(problem));
  const DeviceFacts &device = **Facts::builtin().device("a100-sxm-80gb");
  Solution one = stages({4}, 1), two = stages({4}, 2);
  const Stage &whole = one.replicas[0].stages[0], &split = two.replicas[0].stages[0];

  // Forward on one device, from the catalogue: norm, two GEMMs over 64 rows, silu, addition; f32.
  double rows = kSeq * 2, gemm = 2 * rows * kHidden * kFfn / (device.peakF32 * device.gemmEfficiency);
  double gemms = gemm * (1 + device.gemmK0 / kHidden) + gemm * (1 + device.gemmK0 / kFfn);
  double seconds = costs->phaseSeconds(0, whole, Phase::Forward, 2) / device.inSitu;
  CHECK(seconds > gemms + 5 * device.launchSeconds);
  double bytes = 4 * rows * (2 * kHidden + 2 * kFfn + 3 * kHidden + 4); // norm, silu, add: an upper bound
  CHECK(seconds < gemms + 5 * device.launchSeconds + bytes / (device.memoryRate * device.memoryEfficiency) + 1e-6);

  // Two devices: each computes half of the GEMMs; one all-reduce of [s, b, hidden] f32.
  Result<BlockProjection> projection = project(problem.model->kinds[0], split, 0, {kSeq, 2}, problem.job.precision);
  REQUIRE(projection);
  double expected = 0;
  int collectives = 0;
  for (const Step &step : projection->find(Phase::Forward)->steps)
    if (step.kind == Step::Launch)
      expected += kernelSeconds(step.launch.work, device);
    else
      ++collectives;
  CHECK(collectives == 1);
  CommShape pair = *commShape(problem.cluster, devicesOf({0, 2, 1}), Facts::builtin());
  expected += collectiveSeconds(CommKind::AllReduce, rows * kHidden * 4, pair);
  CHECK(costs->phaseSeconds(0, split, Phase::Forward, 2) == Approx(expected));
  CHECK(costs->label() == Label::Analytic);
  CHECK(costs->errorBand() == Approx(0.4));
}

TEST_CASE("a tensor group across nodes is dearer, equal places cost the same") {
  Problem problem = mlpProblem(4, 2);
  auto costs = std::move(*ModelCosts::create(problem));
  Stage inside = stages({4}, 2).replicas[0].stages[0], other = inside, across = inside;
  other.devices.first = 5;
  across.devices.first = 3;
  double seconds = costs->phaseSeconds(0, inside, Phase::Forward, 2);
  CHECK(costs->phaseSeconds(0, other, Phase::Forward, 2) == seconds);
  CHECK(costs->phaseSeconds(0, across, Phase::Forward, 2) > seconds);
}

TEST_CASE("boundaries move what the next stage lacks") {
  Problem problem = mlpProblem(4, 2);
  auto costs = std::move(*ModelCosts::create(problem));
  Solution near = stages({2, 4}, 1), wide = stages({2, 4}, 4);
  double bytes = kSeq * 2 * kHidden * 4;
  auto message = [&](double size, uint32_t a, uint32_t b) {
    std::vector<uint32_t> pair{a, b};
    return messageSeconds(size, *commShape(problem.cluster, pair, Facts::builtin()));
  };
  const auto &s = near.replicas[0].stages, &w = wide.replicas[0].stages;
  CHECK(costs->boundarySeconds(s[0], s[1], 2) == Approx(message(bytes, 0, 1)));
  CHECK(costs->boundarySeconds(w[0], w[1], 2) == Approx(message(bytes, 0, 4)));
  CHECK(costs->boundarySeconds(s[0], w[1], 2) == Approx(message(4 * bytes, 0, 7))); // one sender, four receivers
  Stage a = w[0], b = w[1];
  a.maps.push_back({"stream", {{"s", {}}}});
  b.maps = a.maps;
  CHECK(costs->boundarySeconds(a, b, 2) == Approx(message(bytes / 4, 0, 4)));
}

TEST_CASE("memory counts parameters, state, frames and buffers") {
  Problem problem = mlpProblem(4, 2, "bf16");
  auto costs = std::move(*ModelCosts::create(problem));
  Solution solution = stages({4}, 1);
  uint64_t elements = 4 * (kHidden + 2 * kHidden * kFfn), rows = kSeq * 2;
  auto memory = costs->memory(solution, 0, 0, 3);
  CHECK(component(memory, "parameters") == 2 * elements);
  CHECK(component(memory, "gradients") == 4 * elements);
  CHECK(component(memory, "optimizer") == 12 * elements);
  // Saved per block: x (as the block's input), rstd in f32, norm and a in bf16.
  uint64_t frame = 4 * (2 * rows * kHidden + 4 * rows + 2 * rows * (kHidden + kFfn));
  CHECK(component(memory, "activations") == 3 * frame);
  CHECK(component(memory, "communication") == 4 * 2 * rows * kHidden);
  CHECK(component(memory, "reserve") == problem.cluster.classes[0].reservedBytes);
  CHECK(component(memory, "scratch") >= 2 * rows * kHidden);

  // Optimizer state is shared by the copies; split parameters count their part.
  solution = stages({4}, 2, 2, 4);
  solution.sharding = "optimizer";
  memory = costs->memory(solution, 0, 0, 1);
  uint64_t local = 4 * (kHidden + kHidden * kFfn);
  CHECK(component(memory, "parameters") == 2 * local);
  // Split matrices are shared by the two copies, the norms, of which both coordinates hold copies, by all four ranks.
  CHECK(component(memory, "optimizer") == lineBytes(12 * 4 * kHidden * kFfn / 2) + lineBytes(12 * 4 * kHidden / 4));
}

TEST_CASE("the step ends with sync, update and vote") {
  Problem problem = mlpProblem(4, 2);
  auto costs = std::move(*ModelCosts::create(problem));
  const DeviceFacts &device = **Facts::builtin().device("a100-sxm-80gb");
  double elements = 4.0 * (kHidden + 2 * kHidden * kFfn);
  auto shape = [&](std::vector<uint32_t> devices) { return *commShape(problem.cluster, devices, Facts::builtin()); };
  double update = memorySeconds(32 * elements, device);
  CHECK(costs->stepTailSeconds(stages({4}, 1), 0, 0) == Approx(update));
  CommShape pair = shape({0, 4});
  double vote = collectiveSeconds(CommKind::AllReduce, 32, pair);
  Solution twice = stages({4}, 1, 2, 4);
  CHECK(costs->stepTailSeconds(twice, 0, 0) == Approx(update + vote + collectiveSeconds(CommKind::AllReduce, 4 * elements, pair)));
  twice.sharding = "optimizer";
  CHECK(costs->stepTailSeconds(twice, 0, 0) ==
        Approx(memorySeconds(16 * elements, device) + vote + collectiveSeconds(CommKind::ReduceScatter, 4 * elements, pair) +
               collectiveSeconds(CommKind::AllGather, 4 * elements, pair)));
}

TEST_CASE("a target hides part of the communication") {
  Problem problem = mlpProblem(4, 2), exported = problem;
  exported.target = "megatron@core_v0.14";
  auto costs = std::move(*ModelCosts::create(problem)), hidden = std::move(*ModelCosts::create(exported));
  const TargetFacts &target = **Facts::builtin().target("megatron");
  Solution solution = stages({4}, 2, 2, 4);
  const Stage &stage = solution.replicas[0].stages[0];
  CommShape pair = *commShape(problem.cluster, devicesOf({0, 2, 1}), Facts::builtin());
  CommShape apart = *commShape(problem.cluster, devicesOf({0, 2, 4}), Facts::builtin());
  double collective = collectiveSeconds(CommKind::AllReduce, kSeq * 2 * kHidden * 4, pair);
  CHECK(costs->phaseSeconds(0, stage, Phase::Forward, 2) - hidden->phaseSeconds(0, stage, Phase::Forward, 2) ==
        Approx((1 - target.tpExposed) * collective));
  CommShape all = *commShape(problem.cluster, std::vector<uint32_t>{0, 1, 4, 5}, Facts::builtin());
  double sync = collectiveSeconds(CommKind::AllReduce, 16.0 * kHidden * kFfn, apart) + collectiveSeconds(CommKind::AllReduce, 16.0 * kHidden, all);
  CHECK(costs->stepTailSeconds(solution, 0, 0) - hidden->stepTailSeconds(solution, 0, 0) == Approx((1 - target.syncExposed) * sync));
}

TEST_CASE("threads get the same answers") {
  Problem problem = mlpProblem(4, 2);
  auto costs = std::move(*ModelCosts::create(problem));
  Solution solution = stages({2, 4}, 2, 2, 4);
  std::vector<double> seconds(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < seconds.size(); ++i)
    threads.emplace_back([&, i] { seconds[i] = evaluate(problem, solution, *costs).seconds; });
  for (std::thread &thread : threads)
    thread.join();
  for (double value : seconds)
    CHECK(value == seconds[0]);
  CHECK(std::isfinite(seconds[0]));
}

TEST_CASE("missing facts are errors, refused layouts never end") {
  Problem problem = mlpProblem(4, 2);
  Problem unknown = problem;
  unknown.cluster.classes[0].facts = "a100";
  CHECK_THAT(ModelCosts::create(unknown).error().message, Catch::StartsWith("no facts about device 'a100'; nearest known: "));
  unknown = problem;
  unknown.cluster.domains[1].link = "string";
  CHECK_THAT(ModelCosts::create(unknown).error().message, Catch::StartsWith("domain 'group 0': no facts about link 'string'"));
  auto costs = std::move(*ModelCosts::create(problem));
  Stage stage = stages({4}, 2).replicas[0].stages[0];
  stage.recompute = "full"; // the block has one variant
  CHECK(std::isinf(costs->phaseSeconds(0, stage, Phase::Forward, 1)));
}
