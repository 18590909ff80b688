#include "runtime/comm/shm/GroupOperation.h"
#include "runtime/comm/Reduce.h"

namespace plait {

/// Elements that this member contributes: its part, or all of the call's elements (broadcast: of the root only).
static uint64_t elementsIn(const CollectiveCall &call) {
  uint32_t me = call.group->index;
  if (call.kind == pb::COLLECTIVE_BROADCAST)
    return call.root == me ? call.elements : 0;
  if (call.kind != pb::COLLECTIVE_ALL_GATHER)
    return call.elements;
  return call.counts.empty() ? call.elements / call.group->ranks.size() : static_cast<uint64_t>(call.counts[me]);
}

bool GroupOperation::needsStaging(const ShmSegment &segment, const CollectiveCall &call) {
  uint64_t size = static_cast<uint64_t>(bytesOf(call.dtype));
  if (segment.offsetOf(call.in, elementsIn(call) * size) == kPrivate)
    return true;
  // Peers read the result of an all-reduce where its owner wrote it; other results stay with their member.
  return call.kind == pb::COLLECTIVE_ALL_REDUCE && segment.offsetOf(call.out, call.elements * size) == kPrivate;
}

GroupOperation::GroupOperation(ShmSegment &segment, GroupChannel &channel, const CollectiveCall &call,
                               StagingPart staging)
    : segment(&segment), channel(&channel), call(call), staging(staging), me(call.group->index),
      members(call.group->ranks.size()), size(static_cast<uint64_t>(bytesOf(call.dtype))) {}

bool GroupOperation::lineReached(size_t member) const {
  ShmGroupLine *&line = channel->lines[member];
  if (!line) {
    ShmGroupLine *lines = segment->groupLines(call.group->ranks[member]);
    for (uint32_t i = 0; i < ShmSegment::kGroupsPerRank; ++i) {
      uint32_t key = lines[i].key.load(std::memory_order_seq_cst);
      if (key == call.group->id + 1)
        line = &lines[i];
      if (key == call.group->id + 1 || key == 0)
        break;
    }
  }
  return line && reached(line->phase, channel->phase);
}

std::vector<uint32_t> GroupOperation::missing() const {
  std::vector<uint32_t> ranks;
  for (size_t member = 0; step != Step::Enter && member < members; ++member)
    if (!lineReached(member))
      ranks.push_back(call.group->ranks[member]);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::string GroupOperation::describeCall() const {
  uint32_t sequence = channel->sequence + (step == Step::Enter ? 1 : 0);
  return describe(termsOf(call, channel->cuts, sequence), call.origin) + ", of group \"" + call.group->name + "\"";
}

bool GroupOperation::ready() const {
  if (step == Step::Enter)
    return !channel->busy;
  for (size_t member = 0; member < members; ++member)
    if (!lineReached(member))
      return false;
  return true;
}

bool GroupOperation::advance() {
  bool moved = false;
  while (step != Step::Finished && failure.empty() && ready()) {
    work();
    moved = true;
  }
  return moved;
}

void GroupOperation::work() {
  switch (step) {
  case Step::Enter: return enter();
  case Step::Agree: return agree();
  case Step::Staged: return combine();
  case Step::Combined: return gather();
  case Step::RoundEnd:
    lo = hi;
    return lo < call.elements ? startRound() : finish();
  case Step::Finished: return;
  }
}

/// Counts a finished step. The last member to arrive wakes the others; of two that arrive at once, at least one sees
/// the other, because both store before they look.
void GroupOperation::post(Step next) {
  step = next;
  mine().phase.store(++channel->phase, std::memory_order_seq_cst);
  if (!ready())
    return;
  for (uint32_t rank : call.group->ranks)
    if (rank != call.group->ranks[me])
      segment->ring(rank);
}

void GroupOperation::enter() {
  channel->busy = true;
  ++channel->sequence;
  cutParts(call, channel->cuts);
  ShmGroupLine &line = mine();
  line.terms = termsOf(call, channel->cuts, channel->sequence);
  line.in = segment->offsetOf(call.in, elementsIn(call) * size);
  line.out = segment->offsetOf(call.out, call.elements * size);
  line.window = staging.offset;
  line.windowBytes = needsStaging(*segment, call) ? staging.bytes : 0;
  storeText(line.origin, sizeof line.origin, call.origin);
  post(Step::Agree);
}

void GroupOperation::agree() {
  const std::vector<ShmGroupLine *> &lines = channel->lines;
  chunk = std::max<uint64_t>(call.elements, 1);
  for (size_t member = 0; member < members; ++member) {
    const ShmGroupLine &theirs = *lines[member];
    if (theirs.terms != mine().terms) {
      failure = describeMismatch(call.group->name, call.group->ranks[me], describe(mine().terms, mine().origin),
                                 call.group->ranks[member], describe(theirs.terms, theirs.origin));
      return;
    }
    if (theirs.windowBytes) {
      staged = true;
      chunk = std::min(chunk, theirs.windowBytes / size);
    }
  }
  startRound();
}

/// Where member's contribution for `element` (of the whole vector) lies during this round.
const char *GroupOperation::source(size_t member, uint64_t element) const {
  const ShmGroupLine &line = *channel->lines[member];
  if (line.in == kPrivate)
    return segment->at(line.window + (element - lo) * size);
  uint64_t first = call.kind == pb::COLLECTIVE_ALL_GATHER ? channel->cuts[member] : 0;
  return segment->at(line.in + (element - first) * size);
}

/// Where member leaves its part of an all-reduce.
char *GroupOperation::result(size_t member, uint64_t element) const {
  const ShmGroupLine &line = *channel->lines[member];
  return line.out == kPrivate ? segment->at(line.window + (element - lo) * size)
                              : segment->at(line.out + element * size);
}

/// Boundaries of the members' parts within the round. An all-reduce cuts every round evenly.
uint64_t GroupOperation::cut(size_t boundary) const {
  if (call.kind == pb::COLLECTIVE_ALL_REDUCE)
    return lo + (hi - lo) * boundary / members;
  return std::clamp(channel->cuts[boundary], lo, hi);
}

void GroupOperation::startRound() {
  hi = std::min(lo + chunk, call.elements);
  if (!staged)
    return combine();
  if (mine().in == kPrivate) {
    bool part = call.kind == pb::COLLECTIVE_ALL_GATHER;
    uint64_t begin = part ? cut(me) : lo, end = part ? cut(me + 1) : hi, first = part ? channel->cuts[me] : 0;
    std::memcpy(segment->at(staging.offset + (begin - lo) * size),
                static_cast<const char *>(call.in) + (begin - first) * size, (end - begin) * size);
  }
  post(Step::Staged);
}

void GroupOperation::combine() {
  if (!reduces(call.kind))
    return gather();
  bool all = call.kind == pb::COLLECTIVE_ALL_REDUCE;
  uint64_t begin = cut(me), end = cut(me + 1);
  if (begin < end) {
    channel->sources.clear();
    for (size_t member = 0; member < members; ++member)
      channel->sources.push_back(source(member, begin));
    void *out = all ? result(me, begin) : static_cast<char *>(call.out) + (begin - channel->cuts[me]) * size;
    reduceInOrder(channel->sources, out, end - begin, call.dtype, call.reduce);
  }
  post(all ? Step::Combined : Step::RoundEnd);
}

/// Copies every owner's part of the round into this member's result.
void GroupOperation::gather() {
  bool broadcast = call.kind == pb::COLLECTIVE_BROADCAST;
  for (size_t member = 0; member < members; ++member) {
    uint64_t begin = cut(member), end = cut(member + 1);
    if (begin == end)
      continue;
    const char *from = call.kind == pb::COLLECTIVE_ALL_REDUCE ? result(member, begin)
                                                              : source(broadcast ? call.root : member, begin);
    char *to = static_cast<char *>(call.out) + begin * size;
    if (to != from)
      std::memcpy(to, from, (end - begin) * size);
  }
  post(Step::RoundEnd);
}

void GroupOperation::finish() {
  step = Step::Finished;
  channel->busy = false;
}

} // namespace plait
