#include "cost_model/memory/BlockMemory.h"
#include "test/cost_model/workload/MlpBlock.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

using namespace plait;
using test::MlpBlock;

namespace {

BlockProjection mlp(int64_t sequence, bool split) {
  Stage stage;
  stage.splitWeightGrad = split;
  Result<BlockProjection> projection = project(MlpBlock::make(48, 80), stage, 0, {sequence, 2}, Precision{});
  REQUIRE(projection);
  return *projection;
}

/// Most bytes that a phase's temporaries have alive in one step: no placement needs less.
uint64_t liveBytes(const PhaseProjection &phase) {
  std::set<Id> elsewhere{phase.x, phase.y, phase.dx, phase.dy};
  for (const auto *list : {&phase.saved, &phase.carried, &phase.params, &phase.paramGrads})
    elsewhere.insert(list->begin(), list->end());
  std::map<Id, std::pair<size_t, size_t>> lives;
  for (size_t step = 0; step < phase.steps.size(); ++step)
    for (Id ref : phase.steps[step].launch.refs)
      if (!elsewhere.count(ref))
        lives.try_emplace(ref, step, step).first->second.second = step;
  uint64_t most = 0;
  for (size_t step = 0; step < phase.steps.size(); ++step) {
    uint64_t sum = 0;
    for (const auto &[value, life] : lives)
      sum += step >= life.first && step <= life.second ? lineBytes(phase.values[value].bytes()) : 0;
    most = std::max(most, sum);
  }
  return most;
}

} // namespace

TEST_CASE("bytes of a block are those of its values") {
  for (int64_t sequence : {1, 7, 64}) {
    uint64_t rows = 2 * sequence;
    BlockMemory joint = memoryOf(mlp(sequence, false)), split = memoryOf(mlp(sequence, true));
    CHECK(joint.x == 4 * rows * 48);
    CHECK(joint.y == joint.x);
    // norm, rstd and the activation; x is the block's input and kept by reference.
    CHECK(joint.saved == lineBytes(4 * rows * 48) + lineBytes(4 * rows) + lineBytes(4 * rows * 80));
    CHECK(joint.carried == 0);
    // dy, whose buffer is used again, and the gradients of the up projection and of the norm.
    CHECK(split.carried == lineBytes(4 * rows * 48) + lineBytes(4 * rows * 80) + lineBytes(4 * rows * 48));
    CHECK(split.saved == joint.saved);
    CHECK(joint.tokens == 0);
  }
}

TEST_CASE("scratch holds what is alive at once") {
  for (bool split : {false, true}) {
    BlockProjection projection = mlp(16, split);
    uint64_t least = 0;
    for (const PhaseProjection &phase : projection.phases)
      least = std::max(least, liveBytes(phase));
    uint64_t scratch = memoryOf(projection).scratch;
    CHECK(least > 0);
    CHECK(scratch >= least);
    CHECK(scratch <= 2 * least);
  }
}

TEST_CASE("frames and boundaries of a stage") {
  BlockMemory first{100, 200, 64, 10, 128, 64, 999}, second{200, 300, 0, 130, 256, 0, 1};
  // x, saved and carried of both blocks, tokens and labels once; everything in lines of 64 bytes.
  CHECK(frameBytes({&first, &second}) == (128 + 128 + 64) + (256 + 256 + 0) + 64 + 192);
  // y of the last, two gradient buffers of the largest boundary, dx of the first.
  CHECK(boundaryBytes({&first, &second}) == 320 + 2 * 320 + 128);
  CHECK(boundaryBytes({&first}) == 256 + 256 + 128);
}
