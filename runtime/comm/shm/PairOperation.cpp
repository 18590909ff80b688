#include "runtime/comm/shm/PairOperation.h"

namespace plait {

bool PairOperation::needsStaging(const ShmSegment &segment, const P2pCall &call) {
  return !call.send && segment.offsetOf(call.data, call.bytes) == kPrivate;
}

PairOperation::PairOperation(ShmSegment &segment, PairChannel &channel, uint32_t rank, const P2pCall &call,
                             StagingPart staging)
    : segment(&segment), channel(&channel), rank(rank), call(call), staging(staging) {}

std::string PairOperation::describeCall() const {
  uint32_t sequence = channel->sequence + (step == Step::Enter ? 1 : 0);
  std::string text = call.send ? "send of " : "receive of ";
  text += std::to_string(call.bytes) + " bytes " + (call.send ? "to" : "from") + " rank " + std::to_string(call.peer) +
          " as message " + std::to_string(sequence);
  return *call.origin ? text + ", from " + call.origin : text;
}

bool PairOperation::ready() const {
  return step == Step::Enter ? !channel->busy : reached(channel->theirs->phase, channel->phase + 1);
}

std::vector<uint32_t> PairOperation::missing() const {
  return ready() ? std::vector<uint32_t>{} : std::vector<uint32_t>{call.peer};
}

bool PairOperation::advance() {
  bool moved = false;
  for (; step != Step::Finished && failure.empty() && ready(); moved = true) {
    if (step == Step::Enter)
      enter();
    else if (call.send)
      sendChunk();
    else
      receiveChunk();
  }
  return moved;
}

/// A sender only names its message; it waits for the receiver. A receiver opens its buffer for the first chunk.
void PairOperation::enter() {
  channel->busy = true;
  ++channel->sequence;
  step = Step::Running;
  ShmPairLine &line = *channel->mine;
  line.sequence = channel->sequence;
  line.bytes = call.bytes;
  storeText(line.origin, sizeof line.origin, call.origin);
  if (call.send)
    return;
  bool direct = !needsStaging(*segment, call);
  line.data = direct ? segment->offsetOf(call.data, call.bytes) : staging.offset;
  line.chunkBytes = direct ? std::max<uint64_t>(call.bytes, 1) : staging.bytes;
  line.phase.store(channel->phase + 1, std::memory_order_seq_cst);
  segment->ring(call.peer);
}

std::string PairOperation::mismatch() const {
  const ShmPairLine &theirs = *channel->theirs;
  auto side = [](uint32_t rank, const char *verb, const ShmPairLine &line) {
    std::string text = "rank " + std::to_string(rank) + " " + verb + " " + std::to_string(line.bytes) + " bytes";
    return *line.origin ? text + " (" + line.origin + ")" : text;
  };
  return "message " + std::to_string(channel->sequence) + " from rank " + std::to_string(rank) + " to rank " +
         std::to_string(call.peer) + " does not match: " + side(rank, "sends", *channel->mine) + ", " +
         side(call.peer, "receives", theirs);
}

void PairOperation::sendChunk() {
  const ShmPairLine &theirs = *channel->theirs;
  if (done == 0 && theirs.bytes != call.bytes) {
    failure = mismatch();
    return;
  }
  uint64_t bytes = std::min(call.bytes - done, theirs.chunkBytes);
  if (bytes)
    std::memmove(segment->at(theirs.data), static_cast<const char *>(call.data) + done, bytes);
  finishChunk(bytes);
  // After this the receiver may reuse its line.
  channel->mine->phase.store(channel->phase, std::memory_order_seq_cst);
  segment->ring(call.peer);
}

void PairOperation::receiveChunk() {
  bool direct = !needsStaging(*segment, call);
  uint64_t bytes = direct ? call.bytes : std::min(call.bytes - done, staging.bytes);
  if (!direct)
    std::memcpy(static_cast<char *>(call.data) + done, segment->at(staging.offset), bytes);
  finishChunk(bytes);
  if (finished())
    return;
  channel->mine->phase.store(channel->phase + 1, std::memory_order_seq_cst);
  segment->ring(call.peer);
}

void PairOperation::finishChunk(uint64_t bytes) {
  done += bytes;
  ++channel->phase;
  if (done < call.bytes)
    return;
  step = Step::Finished;
  channel->busy = false;
}

} // namespace plait
