// One collective call of one rank, as a state machine that never blocks: advance() does what is possible now.
//
//   enter -> agree (all entered: compare terms) -> rounds of [stage | combine | gather] -> finished
//
// Buffers in the segment are read in place by the peers, in one round. Buffers in private memory pass through staging
// windows, in rounds that fit the smallest window of the members. Between two steps every member has finished the one
// before; results of a reduction are computed by one member each and copied, so that all get equal bits.
#ifndef PLAIT_RUNTIME_COMM_SHM_GROUPOPERATION_H
#define PLAIT_RUNTIME_COMM_SHM_GROUPOPERATION_H

#include "runtime/comm/shm/ShmLayout.h"
#include "runtime/comm/shm/ShmSegment.h"

namespace plait {

/// What a rank keeps about one of its groups between calls.
struct GroupChannel {
  uint64_t ranksHash = 0;
  std::vector<ShmGroupLine *> lines; ///< of the members; null until the member has used the group
  uint32_t phase = 0, sequence = 0;
  bool busy = false;                 ///< a call is running; the next one of the batch waits for it
  std::vector<uint64_t> cuts;        ///< of the running call
  std::vector<const void *> sources; ///< scratch
};

/// A part of this rank's staging window.
struct StagingPart {
  uint64_t offset = 0, bytes = 0;
};

class GroupOperation {
public:
  GroupOperation(ShmSegment &segment, GroupChannel &channel, const CollectiveCall &call, StagingPart staging);

  /// True if this member's buffers must pass through a staging window.
  static bool needsStaging(const ShmSegment &segment, const CollectiveCall &call);

  /// True if something was done. Ends in finished() or, if the members disagree, in error().
  bool advance();
  bool finished() const { return step == Step::Finished; }
  const std::string &error() const { return failure; }
  /// Members that this one waits for, ascending.
  std::vector<uint32_t> missing() const;
  std::string describeCall() const;

private:
  enum class Step { Enter, Agree, Staged, Combined, RoundEnd, Finished };

  bool ready() const;
  void work();
  void enter();
  void post(Step next);
  void agree();
  void startRound();
  void combine();
  void gather();
  void finish();
  bool lineReached(size_t member) const;
  ShmGroupLine &mine() const { return *channel->lines[me]; }
  const char *source(size_t member, uint64_t element) const;
  char *result(size_t member, uint64_t element) const;
  uint64_t cut(size_t boundary) const;

  ShmSegment *segment;
  GroupChannel *channel;
  CollectiveCall call;
  StagingPart staging;
  size_t me, members;
  uint64_t size; ///< bytes of an element
  Step step = Step::Enter;
  bool staged = false;                ///< some member needs staging: agreed by all
  uint64_t lo = 0, hi = 0, chunk = 0; ///< elements of the running round
  std::string failure;
};

} // namespace plait

#endif
