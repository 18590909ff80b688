// The memory that the ranks of one host share during one epoch: control lines, one COMM arena and one staging window
// per rank, in one sealed memfd. The launcher creates it and passes the descriptor to its workers (an inherited fd), or
// threads share one object. It is freed with its last holder, however that ends.
#ifndef PLAIT_RUNTIME_COMM_SHM_SHMSEGMENT_H
#define PLAIT_RUNTIME_COMM_SHM_SHMSEGMENT_H

#include "runtime/comm/Communicator.h"
#include <memory>
#include <string_view>

namespace plait {

struct ShmHeader;
struct ShmAbort;
struct ShmRankLine;
struct ShmGroupLine;
struct ShmPairLine;

class ShmSegment {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr uint32_t kMaxWorldSize = 1024;
  static constexpr uint32_t kGroupsPerRank = 256;
  static constexpr uint64_t kWindowBytes = 1 << 20;
  /// Rank of an abort that did not come from a rank.
  static constexpr uint32_t kLauncher = ~0u;

  /// Errors: Usage if the sizes are out of range, Unavailable if the system has no memory or no memfd.
  /// Smaller windows make more chunks of calls on private memory; a multiple of 64.
  static Result<std::unique_ptr<ShmSegment>> create(uint32_t worldSize, uint64_t arenaBytesPerRank,
                                                    uint64_t windowBytesPerRank = kWindowBytes);
  /// Maps a segment that another process created; the descriptor is duplicated. Error Usage if `fd` holds none.
  static Result<std::unique_ptr<ShmSegment>> attach(int fd);
  ~ShmSegment();
  ShmSegment(const ShmSegment &) = delete;
  ShmSegment &operator=(const ShmSegment &) = delete;

  /// Close-on-exec; the launcher duplicates it into its workers.
  int fd() const { return descriptor; }
  uint32_t worldSize() const { return world; }
  uint64_t arenaBytes() const { return arenaSize; }

  /// Ends the epoch for every rank; the first cause stays. False if it had ended already.
  bool abort(uint32_t byRank, std::string_view cause);
  bool aborted() const;
  /// "aborted by rank 2: <cause>"; empty while the epoch runs.
  std::string abortText() const;

  /// Tells the launcher that `rank` began a task; the text names it in messages about a rank that was lost.
  void reportTask(uint32_t rank, std::string_view task);
  uint64_t progress(uint32_t rank) const;
  std::string lastTask(uint32_t rank) const;
  /// The call that the rank waits in since about 100 ms or longer; else empty.
  std::string waitingIn(uint32_t rank) const;

  // For the communicator.
  void *arena(uint32_t rank) const;
  uint64_t windowOffset(uint32_t rank) const;
  uint64_t windowBytes() const { return windowSize; }
  ShmRankLine &rankLine(uint32_t rank) const;
  ShmGroupLine *groupLines(uint32_t rank) const;
  ShmPairLine &receiving(uint32_t rank, uint32_t from) const;
  ShmPairLine &sending(uint32_t rank, uint32_t to) const;
  /// Offset of [data, data + bytes), or kPrivate if it is not all in the segment.
  uint64_t offsetOf(const void *data, uint64_t bytes) const;
  char *at(uint64_t offset) const { return base + offset; }
  /// Wakes the rank, after a change that it may wait for.
  void ring(uint32_t rank);
  /// Waits until the rank's doorbell differs from `seen` or `until` passes; false in the latter case.
  bool waitForBell(uint32_t rank, uint32_t seen, Clock::time_point until);

private:
  ShmSegment(int descriptor, char *base, const ShmHeader &header);
  ShmAbort &abortBlock() const;

  int descriptor;
  char *base;
  // Copies of the header, which peers could overwrite.
  uint32_t world;
  uint64_t arenaSize, windowSize;
  struct Offsets {
    uint64_t abort = 0, ranks = 0, groups = 0, receiving = 0, sending = 0, arenas = 0, windows = 0, end = 0;
    explicit Offsets(const ShmHeader &header);
  } offsets;
};

} // namespace plait

#endif
