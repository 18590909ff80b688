// One send or receive of one rank, as a state machine that never blocks. The receiver posts where the message goes, the
// sender copies it there once; a receive into private memory posts a staging window and takes the message in chunks.
#ifndef PLAIT_RUNTIME_COMM_SHM_PAIROPERATION_H
#define PLAIT_RUNTIME_COMM_SHM_PAIROPERATION_H

#include "runtime/comm/shm/GroupOperation.h"

namespace plait {

/// What a rank keeps about one direction of one pair between calls.
struct PairChannel {
  ShmPairLine *mine = nullptr, *theirs = nullptr;
  uint32_t phase = 0;    ///< chunks of all messages so far
  uint32_t sequence = 0; ///< messages so far
  bool busy = false;
};

class PairOperation {
public:
  PairOperation(ShmSegment &segment, PairChannel &channel, uint32_t rank, const P2pCall &call, StagingPart staging);

  static bool needsStaging(const ShmSegment &segment, const P2pCall &call);

  /// As GroupOperation.
  bool advance();
  bool finished() const { return step == Step::Finished; }
  const std::string &error() const { return failure; }
  /// The peer, unless there is something to do now.
  std::vector<uint32_t> missing() const;
  std::string describeCall() const;

private:
  enum class Step { Enter, Running, Finished };

  bool ready() const;
  void enter();
  void sendChunk();
  void receiveChunk();
  void finishChunk(uint64_t bytes);
  std::string mismatch() const;

  ShmSegment *segment;
  PairChannel *channel;
  uint32_t rank;
  P2pCall call;
  StagingPart staging;
  uint64_t done = 0; ///< bytes
  Step step = Step::Enter;
  std::string failure;
};

} // namespace plait

#endif
