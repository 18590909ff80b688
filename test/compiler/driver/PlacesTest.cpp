// Places of values in the blocks of real models: values that live at the same time stand apart, views inside their roots,
// and the bytes of an area hold all that stands in it.
#include "compiler/driver/LoadModel.h"
#include "cost_model/memory/BlockMemory.h"
#include <catch2/catch.hpp>

using namespace plait;

namespace {

/// First and last step that touches each root; copies are made behind the last step.
struct Life {
  size_t first = ~size_t(0), last = 0;
  void touch(size_t step) {
    first = std::min(first, step);
    last = std::max(last, step);
  }
};

std::vector<Life> livesOf(const PhaseProjection &phase, const PhasePlaces &places) {
  std::vector<Life> lives(phase.values.size());
  for (size_t step = 0; step < phase.steps.size(); ++step) {
    const Step &s = phase.steps[step];
    for (Id ref : s.launch.refs)
      lives[rootOf(phase, ref)].touch(step);
    if (s.kind == Step::Collective)
      for (Id ref : {s.collective.in, s.collective.out})
        lives[rootOf(phase, ref)].touch(step);
  }
  for (const auto &[local, place] : places.copies)
    lives[rootOf(phase, local)].touch(phase.steps.size());
  return lives;
}

void checkPlaces(const PhaseProjection &phase, const PhasePlaces &places) {
  std::vector<Life> lives = livesOf(phase, places);
  auto end = [&](Id local) { return places.values[local].offset + uint64_t(phase.values[local].bytes()); };
  for (Id a = 0; a < phase.values.size(); ++a) {
    if (rootOf(phase, a) != a || lives[a].first == ~size_t(0))
      continue;
    REQUIRE(places.values[a].area < places.areas.size());
    const UsedArea &area = places.areas[places.values[a].area];
    CHECK(places.values[a].offset % kLineBytes == 0);
    CHECK(end(a) <= area.bytes);
    for (Id b = a + 1; b < phase.values.size(); ++b) {
      bool together = rootOf(phase, b) == b && lives[b].first != ~size_t(0) && places.values[b].area == places.values[a].area;
      if (!together)
        continue;
      // What crosses phases is live from beginning to end.
      bool meet = area.kind != UsedArea::Scratch || (lives[a].first <= lives[b].last && lives[b].first <= lives[a].last);
      if (meet)
        CHECK((end(a) <= places.values[b].offset || end(b) <= places.values[a].offset));
    }
  }
}

} // namespace

TEST_CASE("values that live at the same time stand apart") {
  size_t phases = 0, shared = 0;
  auto context = makeContext();
  for (const char *name : {"tiny-llama", "tiny-gpt2", "tiny-neox"}) {
    Result<LoadedModel> loaded = loadModel(*context, std::string(PLAIT_TEST_DATA) + "/models/" + name + ".json");
    REQUIRE(loaded);
    for (const BlockSummary &block : loaded->model->kinds)
      for (const char *recompute : {"none", "selective", "full"})
        for (bool split : {false, true})
          for (uint32_t tp : {1, 2}) {
            Stage stage;
            stage.devices.count = tp;
            stage.recompute = recompute;
            stage.splitWeightGrad = split;
            stage.maps = megatronMaps(tp, tp > 1);
            Result<BlockProjection> projection = project(block, stage, tp - 1, {24, 2}, Precision());
            REQUIRE(projection);
            BlockFrame frame = frameOf(*projection);
            BlockMemory memory = memoryOf(*projection);
            for (const PhaseProjection &phase : projection->phases) {
              INFO(name << ", block " << block.name << ", " << recompute << ", phase " << int(phase.phase) << ", tp " << tp);
              PhasePlaces places = placesOf(phase, frame);
              checkPlaces(phase, places);
              CHECK(places.scratchBytes <= memory.scratch);
              uint64_t sum = 0;
              for (Id local = 0; local < phase.values.size(); ++local)
                if (places.values[local].area != kNone && places.areas[places.values[local].area].kind == UsedArea::Scratch)
                  sum += lineBytes(phase.values[local].bytes());
              CHECK(places.scratchBytes <= sum);
              shared += places.scratchBytes < sum;
              ++phases;
            }
          }
  }
  CHECK(phases == 3 * 3 * 3 * (2 + 3) * 2);
  CHECK(shared > 50); // scratch is used again, not merely appended to
}

TEST_CASE("frames and boundaries lay out what they count") {
  BlockMemory first{0, 100, 16, 0, 0, 0, 0}, middle{100, 100, 0, 0, 200, 70, 0}, last{100, 0, 0, 16, 64, 0, 0};
  FrameLayout frame;
  CHECK(frameBytes({&first, &middle, &last}, &frame) == 64 + 64 + 128 + 256 + 128 + 128 + 64);
  CHECK(frame.tokens == 0);
  CHECK(frame.labels == 64);
  CHECK(frame.uses[1].x == 128);
  CHECK(frame.uses[1].saved == 256);
  CHECK(frame.uses[1].carried == 512);
  CHECK(frame.uses[2].x == 640);
  CHECK(frame.uses[2].saved == 768);
  BoundaryLayout boundary;
  CHECK(boundaryBytes({&middle, &middle}, &boundary) == 4 * 128);
  CHECK(boundary.dy == 128);
  CHECK(boundary.between == 256);
  CHECK(boundary.dx == 384);
  CHECK(boundaryBytes({&middle}) == 3 * 128);
}
