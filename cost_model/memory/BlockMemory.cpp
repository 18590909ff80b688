#include "cost_model/memory/BlockMemory.h"
#include <algorithm>
#include <utility>

namespace plait {

Id rootOf(const PhaseProjection &phase, Id local) {
  while (phase.values[local].viewOf != kNone)
    local = phase.values[local].viewOf;
  return local;
}

static bool isInput(const PhaseProjection &phase, Id local) {
  return local == phase.x || local == phase.dy || local == phase.tokens || local == phase.labels || local == phase.lossScale;
}

static uint64_t bytesOfLocal(const PhaseProjection &phase, Id local) {
  return local == kNone ? 0 : uint64_t(phase.values[local].bytes());
}

// ---- What crosses phases ----

/// `stored(local)`: the value needs room of its own; else a later phase finds it where it already is.
template <typename Stored>
static CrossingArea areaOf(const PhaseProjection &producer, const std::vector<Id> &locals, Stored stored) {
  CrossingArea area;
  for (Id local : locals) {
    bool byReference = local == kNone || !stored(local);
    area.offsets.push_back(byReference ? kByReference : area.bytes);
    if (!byReference)
      area.bytes += lineBytes(bytesOfLocal(producer, local));
  }
  return area;
}

BlockFrame frameOf(const BlockProjection &projection) {
  BlockFrame frame;
  const PhaseProjection &forward = *projection.find(Phase::Forward);
  frame.saved = areaOf(forward, forward.saved, [&](Id local) { return !isInput(forward, local); });
  if (const PhaseProjection *input = projection.find(Phase::BackwardInput))
    // dy stands in a buffer that the next block's backward reuses, so a later weight gradient needs its own copy.
    frame.carried = areaOf(*input, input->carried, [&](Id local) {
      bool saved = std::find(input->saved.begin(), input->saved.end(), local) != input->saved.end();
      return local == input->dy || !(saved || isInput(*input, local));
    });
  return frame;
}

// ---- Places of one phase ----

namespace {

class Placer {
public:
  Placer(const PhaseProjection &phase, const BlockFrame &frame) : phase(phase), frame(frame) {
    result.values.resize(phase.values.size());
  }
  PhasePlaces place();

private:
  uint32_t area(UsedArea::Kind kind, uint64_t bytes, Id param = kNone) {
    result.areas.push_back({kind, param, bytes});
    return result.areas.size() - 1;
  }
  bool isPlaced(Id root) const { return result.values[root].area != kNone; }
  void input(Id local, UsedArea::Kind kind, Id param = kNone) {
    if (local != kNone)
      result.values[local] = {area(kind, bytesOfLocal(phase, local), param), 0};
  }
  void output(Id local, UsedArea::Kind kind);
  void crossing(const std::vector<Id> &locals, const CrossingArea &bytes, UsedArea::Kind kind, bool produced);
  void scratch();

  const PhaseProjection &phase;
  const BlockFrame &frame;
  PhasePlaces result;
};

void Placer::output(Id local, UsedArea::Kind kind) {
  if (local == kNone)
    return;
  ValuePlace target{area(kind, bytesOfLocal(phase, local)), 0};
  Id root = rootOf(phase, local);
  if (isPlaced(root))
    result.copies.push_back({local, target});
  else
    result.values[root] = target;
}

void Placer::crossing(const std::vector<Id> &locals, const CrossingArea &stored, UsedArea::Kind kind, bool produced) {
  uint32_t at = kNone;
  for (size_t i = 0; i < locals.size(); ++i) {
    if (locals[i] == kNone || stored.offsets[i] == kByReference)
      continue;
    if (at == kNone)
      at = area(kind, stored.bytes);
    Id root = produced ? rootOf(phase, locals[i]) : locals[i];
    if (isPlaced(root) || phase.values[locals[i]].viewOffset != 0)
      result.copies.push_back({locals[i], {at, stored.offsets[i]}});
    else
      result.values[root] = {at, stored.offsets[i]};
  }
}

/// First fit by lifetime: a value lives from the step that makes it to the last step that reads it or a view of it.
void Placer::scratch() {
  struct Life {
    size_t first = ~size_t(0), last = 0;
  };
  struct Block {
    uint64_t begin, end;
    size_t last;
  };
  std::vector<Life> lives(phase.values.size());
  std::vector<std::vector<Id>> born(phase.steps.size());
  auto touch = [&](Id local, size_t step) {
    Id root = rootOf(phase, local);
    if (lives[root].first == ~size_t(0)) {
      lives[root].first = step;
      if (!isPlaced(root) && step < born.size())
        born[step].push_back(root);
    }
    lives[root].last = step;
  };
  for (size_t step = 0; step < phase.steps.size(); ++step) {
    const Step &s = phase.steps[step];
    if (s.kind == Step::Launch)
      for (Id ref : s.launch.refs)
        touch(ref, step);
    else
      for (Id ref : {s.collective.in, s.collective.out})
        touch(ref, step);
  }
  for (const auto &[local, place] : result.copies)
    touch(local, phase.steps.size());
  std::vector<Block> live; // by begin
  uint32_t at = kNone;
  for (size_t step = 0; step < phase.steps.size(); ++step) {
    std::sort(born[step].begin(), born[step].end());
    std::erase_if(live, [&](const Block &block) { return block.last < step; });
    for (Id root : born[step]) {
      uint64_t bytes = lineBytes(bytesOfLocal(phase, root)), begin = 0;
      auto gap = live.begin();
      for (; gap != live.end() && gap->begin < begin + bytes; ++gap)
        begin = std::max(begin, gap->end);
      live.insert(gap, {begin, begin + bytes, lives[root].last});
      if (at == kNone)
        at = area(UsedArea::Scratch, 0);
      result.values[root] = {at, begin};
      result.scratchBytes = std::max(result.scratchBytes, begin + bytes);
    }
  }
  if (at != kNone)
    result.areas[at].bytes = result.scratchBytes;
}

PhasePlaces Placer::place() {
  bool forward = phase.phase == Phase::Forward;
  input(phase.x, UsedArea::X);
  if (phase.phase != Phase::BackwardWeight) // there the gradient is carried
    input(phase.dy, UsedArea::Dy);
  input(phase.tokens, UsedArea::Tokens);
  input(phase.labels, UsedArea::Labels);
  input(phase.lossScale, UsedArea::LossScale);
  for (Id param = 0; param < phase.params.size(); ++param) {
    input(phase.params[param], UsedArea::Param, param);
    input(phase.paramGrads[param], UsedArea::ParamGrad, param);
  }
  output(phase.loss, UsedArea::Loss);
  crossing(phase.saved, frame.saved, UsedArea::Saved, forward);
  if (!forward)
    crossing(phase.carried, frame.carried, UsedArea::Carried, phase.phase == Phase::BackwardInput);
  output(phase.y, UsedArea::Y);
  output(phase.dx, UsedArea::Dx);
  scratch();
  return std::move(result);
}

} // namespace

PhasePlaces placesOf(const PhaseProjection &phase, const BlockFrame &frame) { return Placer(phase, frame).place(); }

// ---- Bytes ----

BlockMemory memoryOf(const BlockProjection &projection) {
  BlockMemory memory;
  const PhaseProjection &forward = *projection.find(Phase::Forward);
  BlockFrame frame = frameOf(projection);
  memory.x = bytesOfLocal(forward, forward.x);
  memory.y = bytesOfLocal(forward, forward.y);
  memory.tokens = bytesOfLocal(forward, forward.tokens);
  memory.labels = bytesOfLocal(forward, forward.labels);
  memory.saved = frame.saved.bytes;
  memory.carried = frame.carried.bytes;
  for (const PhaseProjection &phase : projection.phases)
    memory.scratch = std::max(memory.scratch, placesOf(phase, frame).scratchBytes);
  return memory;
}

uint64_t frameBytes(const std::vector<const BlockMemory *> &blocks, FrameLayout *layout) {
  uint64_t at = 0, tokens = 0, labels = 0;
  auto take = [&](uint64_t bytes) { return std::exchange(at, at + lineBytes(bytes)); };
  for (const BlockMemory *block : blocks) {
    tokens = std::max(tokens, block->tokens);
    labels = std::max(labels, block->labels);
  }
  uint64_t tokensAt = take(tokens), labelsAt = take(labels);
  if (layout)
    *layout = {tokens ? tokensAt : 0, labels ? labelsAt : 0, {}};
  for (const BlockMemory *block : blocks) {
    FrameLayout::Use use{take(block->x), take(block->saved), take(block->carried)};
    if (layout)
      layout->uses.push_back(use);
  }
  return at;
}

uint64_t boundaryBytes(const std::vector<const BlockMemory *> &blocks, BoundaryLayout *layout) {
  uint64_t gradient = 0;
  for (const BlockMemory *block : blocks)
    gradient = std::max({gradient, block->x, block->y});
  BoundaryLayout at;
  at.dy = lineBytes(blocks.back()->y);
  at.between = at.dy + lineBytes(gradient);
  at.dx = at.between + (blocks.size() > 1 ? lineBytes(gradient) : 0);
  if (layout)
    *layout = at;
  return at.dx + lineBytes(blocks.front()->x);
}

} // namespace plait
