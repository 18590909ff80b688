// What lies in the shared segment. Every line has one writer, except doorbells and the abort block; 64-byte alignment
// keeps writers off each other's cache lines. Words only grow (compared by signed difference) and are never reset while
// ranks live: a new epoch is a new segment.
//
//   header | abort | rank lines [W] | group lines [W][kGroupsPerRank] | pair lines, receiving [W][W], sending [W][W]
//   | arenas [W] | staging windows [W]
#ifndef PLAIT_RUNTIME_COMM_SHM_SHMLAYOUT_H
#define PLAIT_RUNTIME_COMM_SHM_SHMLAYOUT_H

#include "runtime/comm/Calls.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

namespace plait {

static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

/// A short text that one side writes and others may read at any time; a torn read is a garbled message, no more.
template <size_t Bytes> class SharedText {
public:
  void store(std::string_view text) {
    std::array<uint64_t, Bytes / 8> copy{};
    std::memcpy(copy.data(), text.data(), std::min(text.size(), Bytes - 1));
    for (size_t i = 0; i < copy.size(); ++i)
      words[i].store(copy[i], std::memory_order_relaxed);
  }
  std::string load() const {
    std::array<uint64_t, Bytes / 8> copy;
    for (size_t i = 0; i < copy.size(); ++i)
      copy[i] = words[i].load(std::memory_order_relaxed);
    const char *text = reinterpret_cast<const char *>(copy.data());
    return std::string(text, strnlen(text, Bytes));
  }

private:
  std::array<std::atomic<uint64_t>, Bytes / 8> words;
};

struct ShmHeader {
  uint64_t magic;
  uint32_t worldSize;
  uint32_t groupsPerRank;
  uint64_t arenaBytes;  ///< per rank
  uint64_t windowBytes; ///< per rank
};

/// state: 0 running, 1 the cause is being written, 2 ended.
struct alignas(64) ShmAbort {
  std::atomic<uint32_t> state;
  std::atomic<uint32_t> rank;
  SharedText<1024> cause;
};

/// The doorbell rings whenever something that the rank may wait for has changed.
struct alignas(64) ShmRankLine {
  std::atomic<uint32_t> doorbell;
  std::atomic<uint32_t> sleepers;
  alignas(64) std::atomic<uint64_t> progress; ///< tasks begun
  SharedText<128> task;                       ///< the last task begun
  SharedText<256> waiting;                    ///< the call that the rank waits in, once that took long
};

/// Offsets are bytes from the segment's base; kPrivate: the buffer is not in the segment.
inline constexpr uint64_t kPrivate = ~uint64_t{0};

/// One rank's side of its current call in one group. `phase` counts the steps that it completed in all calls of the
/// group; the rest belongs to the call and may be read once `phase` says that the call was entered.
struct alignas(64) ShmGroupLine {
  std::atomic<uint32_t> key; ///< group id + 1; 0 is a free line, and ends the rank's used lines
  std::atomic<uint32_t> phase;
  CallTerms terms;
  uint64_t in, out;
  uint64_t window, windowBytes;
  char origin[48];
};

/// One rank's side of an ordered pair. Both sides count the chunks of all messages in `phase`: the receiver when it can
/// take a chunk, the sender when it has written it.
struct alignas(64) ShmPairLine {
  std::atomic<uint32_t> phase;
  uint32_t sequence; ///< messages so far
  uint64_t bytes;
  uint64_t data;       ///< of the receiver: where the message, or each of its chunks, goes
  uint64_t chunkBytes; ///< of the receiver
  char origin[32];
};

inline void storeText(char *to, size_t bytes, const char *from) {
  size_t size = strnlen(from, bytes - 1);
  std::memcpy(to, from, size);
  to[size] = '\0';
}

/// True if the counter reached the target, across wrap-around.
inline bool reached(const std::atomic<uint32_t> &counter, uint32_t target) {
  return static_cast<int32_t>(counter.load(std::memory_order_seq_cst) - target) >= 0;
}

} // namespace plait

#endif
