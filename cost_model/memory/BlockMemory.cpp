#include "cost_model/memory/BlockMemory.h"
#include <algorithm>
#include <set>

namespace plait {

namespace {

Id rootOf(const PhaseProjection &phase, Id local) {
  while (phase.values[local].viewOf != kNone)
    local = phase.values[local].viewOf;
  return local;
}

bool isInput(const PhaseProjection &phase, Id local) {
  return local == phase.x || local == phase.dy || local == phase.tokens || local == phase.labels ||
         local == phase.lossScale;
}

uint64_t bytesOfLocal(const PhaseProjection &phase, Id local) {
  return local == kNone ? 0 : uint64_t(phase.values[local].bytes());
}

/// Values of a phase that live outside its scratch.
std::set<Id> placedElsewhere(const PhaseProjection &phase) {
  std::set<Id> placed;
  auto add = [&](Id local) {
    if (local != kNone)
      placed.insert(rootOf(phase, local));
  };
  for (Id local : {phase.x, phase.y, phase.dx, phase.dy, phase.tokens, phase.labels, phase.loss, phase.lossScale})
    add(local);
  for (const auto *list : {&phase.saved, &phase.carried, &phase.params, &phase.paramGrads})
    for (Id local : *list)
      add(local);
  return placed;
}

uint64_t scratchBytes(const PhaseProjection &phase) {
  struct Life {
    size_t first = ~size_t(0), last = 0;
  };
  struct Block {
    uint64_t begin, end;
    size_t last;
  };
  std::vector<Life> lives(phase.values.size());
  std::vector<std::vector<Id>> born(phase.steps.size());
  std::set<Id> elsewhere = placedElsewhere(phase);
  auto touch = [&](Id local, size_t step) {
    Id root = rootOf(phase, local);
    if (lives[root].first == ~size_t(0)) {
      lives[root].first = step;
      if (!elsewhere.count(root))
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
  std::vector<Block> live; // by begin
  uint64_t total = 0;
  for (size_t step = 0; step < phase.steps.size(); ++step) {
    std::sort(born[step].begin(), born[step].end());
    std::erase_if(live, [&](const Block &block) { return block.last < step; });
    for (Id root : born[step]) {
      uint64_t bytes = lineBytes(phase.values[root].bytes()), begin = 0;
      auto at = live.begin();
      for (; at != live.end() && at->begin < begin + bytes; ++at)
        begin = std::max(begin, at->end);
      live.insert(at, {begin, begin + bytes, lives[root].last});
      total = std::max(total, begin + bytes);
    }
  }
  return total;
}

} // namespace

BlockMemory memoryOf(const BlockProjection &projection) {
  BlockMemory memory;
  const PhaseProjection &forward = *projection.find(Phase::Forward);
  memory.x = bytesOfLocal(forward, forward.x);
  memory.y = bytesOfLocal(forward, forward.y);
  memory.tokens = bytesOfLocal(forward, forward.tokens);
  memory.labels = bytesOfLocal(forward, forward.labels);
  for (Id local : forward.saved)
    if (local != kNone && !isInput(forward, local))
      memory.saved += lineBytes(bytesOfLocal(forward, local));
  if (const PhaseProjection *input = projection.find(Phase::BackwardInput))
    for (Id local : input->carried) {
      if (local == kNone)
        continue;
      bool saved = std::find(input->saved.begin(), input->saved.end(), local) != input->saved.end();
      if (local == input->dy || !(saved || isInput(*input, local))) // dy's buffer is used again before the weight gradient
        memory.carried += lineBytes(bytesOfLocal(*input, local));
    }
  for (const PhaseProjection &phase : projection.phases)
    memory.scratch = std::max(memory.scratch, scratchBytes(phase));
  return memory;
}

uint64_t frameBytes(const std::vector<const BlockMemory *> &blocks) {
  uint64_t bytes = 0, tokens = 0, labels = 0;
  for (const BlockMemory *block : blocks) {
    tokens = std::max(tokens, block->tokens);
    labels = std::max(labels, block->labels);
    bytes += lineBytes(block->x) + lineBytes(block->saved) + lineBytes(block->carried);
  }
  return bytes + lineBytes(tokens) + lineBytes(labels);
}

uint64_t boundaryBytes(const std::vector<const BlockMemory *> &blocks) {
  uint64_t gradient = 0;
  for (const BlockMemory *block : blocks)
    gradient = std::max({gradient, block->x, block->y});
  uint64_t between = blocks.size() > 1 ? lineBytes(gradient) : 0;
  return lineBytes(blocks.back()->y) + lineBytes(gradient) + between + lineBytes(blocks.front()->x);
}

} // namespace plait
