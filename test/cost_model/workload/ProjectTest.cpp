#include "MlpBlock.h"
#include "cost_model/workload/Projection.h"
#include <catch2/catch.hpp>
#include <numeric>

using namespace plait;
using plait::test::MlpBlock;

namespace {

Stage stageOf(uint32_t tp, bool sequenceParallel = false) {
  Stage stage;
  stage.devices.count = tp;
  stage.maps = megatronMaps(tp, sequenceParallel);
  return stage;
}

BlockProjection projected(const BlockSummary &block, const Stage &stage, uint32_t coordinate, TaskParams params = {12, 2}) {
  Result<BlockProjection> result = project(block, stage, coordinate, params, *precisionByName("fp32"));
  REQUIRE(result);
  return *result;
}

std::vector<LocalCollective> collectives(const PhaseProjection &phase) {
  std::vector<LocalCollective> list;
  for (const Step &step : phase.steps)
    if (step.kind == Step::Collective)
      list.push_back(step.collective);
  return list;
}

double gemmFlops(const PhaseProjection &phase) {
  double flops = 0;
  for (const Step &step : phase.steps)
    if (step.launch.work.kernel == Kernel::Gemm)
      flops += step.launch.work.flops;
  return flops;
}

} // namespace

TEST_CASE("shards differ by at most one unit and cover the factor") {
  for (int64_t size : {1, 7, 509, 128256})
    for (uint32_t shards : {1u, 2u, 3u, 7u}) {
      int64_t at = 0;
      for (uint32_t k = 0; k < shards; ++k) {
        UnitRange range = shardRange(size, {}, shards, k);
        CHECK(range.begin == at);
        CHECK(std::abs(range.size() * int64_t(shards) - size) < int64_t(shards));
        at = range.end;
      }
      CHECK(at == size);
    }
  CHECK(shardRange(10, {3, 4}, 3, 0) == UnitRange{0, 3});
  CHECK(shardRange(10, {3, 4}, 3, 1) == UnitRange{3, 4});
  CHECK(shardRange(10, {3, 4}, 3, 2) == UnitRange{4, 10});
}

TEST_CASE("one rank needs no collective and does the whole work") {
  BlockSummary block = MlpBlock::make(8, 10);
  BlockProjection whole = projected(block, stageOf(1), 0);
  for (const PhaseProjection &phase : whole.phases)
    CHECK(collectives(phase).empty());
  // Forward: two products of 24 rows; backward: four.
  CHECK(gemmFlops(*whole.find(Phase::Forward)) == 2 * 2.0 * 24 * 8 * 10);
  CHECK(gemmFlops(*whole.find(Phase::Backward)) == 4 * 2.0 * 24 * 8 * 10);
}

TEST_CASE("tensor parallelism costs one all-reduce per direction and splits all products") {
  BlockSummary block = MlpBlock::make(8, 10);
  double forward = 0, backward = 0;
  std::vector<int64_t> ffn;
  for (uint32_t k = 0; k < 3; ++k) {
    BlockProjection local = projected(block, stageOf(3), k);
    for (Phase phase : {Phase::Forward, Phase::Backward}) {
      std::vector<LocalCollective> list = collectives(*local.find(phase));
      REQUIRE(list.size() == 1);
      CHECK(list[0].kind == LocalCollective::AllReduce);
      CHECK(list[0].reduction == Reduction::Sum);
      CHECK(list[0].bytes == 24 * 8 * 4);
    }
    forward += gemmFlops(*local.find(Phase::Forward));
    backward += gemmFlops(*local.find(Phase::Backward));
    CHECK(local.params[1].size == std::vector<int64_t>{local.params[1].size[0], 8});
    CHECK(local.params[1].start[0] == std::accumulate(ffn.begin(), ffn.end(), int64_t(0)));
    ffn.push_back(local.params[1].size[0]);
    CHECK_FALSE(local.params[0].gradPartial);
    CHECK_FALSE(local.params[1].gradPartial);
  }
  CHECK(ffn == std::vector<int64_t>{4, 3, 3});
  CHECK(forward == 2 * 2.0 * 24 * 8 * 10);
  CHECK(backward == 4 * 2.0 * 24 * 8 * 10);
}

TEST_CASE("sequence parallelism turns all-reduces into gathers and scatters") {
  BlockSummary block = MlpBlock::make(8, 10);
  BlockProjection local = projected(block, stageOf(2, true), 1);
  std::vector<LocalCollective> forward = collectives(*local.find(Phase::Forward));
  REQUIRE(forward.size() == 2);
  CHECK(forward[0].kind == LocalCollective::AllGather);
  CHECK(forward[1].kind == LocalCollective::ReduceScatter);
  // Backward: gather dy, scatter dn, and gather the saved norm output for the weight gradient.
  std::vector<LocalCollective> backward = collectives(*local.find(Phase::Backward));
  REQUIRE(backward.size() == 3);
  CHECK(backward[0].kind == LocalCollective::AllGather);
  CHECK(backward[1].kind == LocalCollective::ReduceScatter);
  CHECK(backward[2].kind == LocalCollective::AllGather);
  const PhaseProjection &f = *local.find(Phase::Forward);
  CHECK(f.values[f.x].shape == std::vector<int64_t>{6, 2, 8});
  CHECK(f.values[f.y].shape == std::vector<int64_t>{6, 2, 8});
  CHECK(local.params[0].gradPartial); // the norm saw half of the rows
}

TEST_CASE("an uneven sequence split names its counts") {
  BlockSummary block = MlpBlock::make(8, 10);
  std::vector<LocalCollective> list = collectives(*projected(block, stageOf(3, true), 0, {7, 2}).find(Phase::Forward));
  REQUIRE(list.size() == 2);
  CHECK(list[0].counts == std::vector<int64_t>{3 * 2 * 8, 2 * 2 * 8, 2 * 2 * 8});
  CHECK(list[1].counts == list[0].counts);
}

TEST_CASE("phases agree on what crosses them") {
  BlockSummary block = MlpBlock::make(8, 10);
  Stage stage = stageOf(2, true);
  stage.splitWeightGrad = true;
  BlockProjection local = projected(block, stage, 0);
  const PhaseProjection &f = *local.find(Phase::Forward), &input = *local.find(Phase::BackwardInput),
                        &weight = *local.find(Phase::BackwardWeight);
  REQUIRE(f.saved.size() == 4);
  for (size_t i = 0; i < f.saved.size(); ++i)
    if (weight.saved[i] != kNone)
      CHECK(f.values[f.saved[i]].shape == weight.values[weight.saved[i]].shape);
  CHECK(f.saved[0] == f.x);
  CHECK(f.values[f.saved[1]].shape == std::vector<int64_t>{6, 2, 8}); // saved as made, not as gathered
  for (size_t i = 0; i < input.carried.size(); ++i)
    CHECK(input.values[input.carried[i]].shape == weight.values[weight.carried[i]].shape);
  CHECK(weight.paramGrads[0] != kNone);
  CHECK(input.paramGrads[0] == kNone);
}

TEST_CASE("what cannot be split is refused with its rule") {
  BlockSummary block = MlpBlock::make(8, 2);
  auto message = [&](const BlockSummary &b, const Stage &stage) {
    Result<BlockProjection> result = project(b, stage, 0, {12, 2}, Precision());
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ExitCode::Infeasible);
    return result.error().message;
  };
  CHECK(message(block, stageOf(3)) ==
        "block 'mlp', segment 'mlp': tensor parallel 3 splits factor 'i' of 2 units; what works: 1 to 2 [F-07]");
  Stage stage = stageOf(2);
  stage.maps = {{"mlp", {{"q", {}}}}};
  CHECK(message(block, stage) == "block 'mlp', segment 'mlp': factor 'q' is not one of s, b, e, i [F-10]");
  stage.maps = {{"mlp", {{"s", {}}, {"i", {}}}}};
  CHECK(message(block, stage) == "block 'mlp', value 'u': two of its dimensions are split over one axis [F-12]");
  block.phases[0].ops[2].whole = {MlpBlock::I};
  CHECK(message(block, stageOf(2)) == "block 'mlp', op 'pointwise': factor 'i' cannot be split here [F-15]");
  stage = stageOf(1);
  stage.recompute = "some";
  CHECK(message(block, stage) == "block 'mlp' has no recompute variant 'some' [F-16]");
}
