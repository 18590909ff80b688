// The two futex calls that shared memory needs; words are shared between processes, time is CLOCK_MONOTONIC.
#ifndef PLAIT_RUNTIME_COMM_SHM_FUTEX_H
#define PLAIT_RUNTIME_COMM_SHM_FUTEX_H

#include <atomic>
#include <chrono>
#include <cstdint>

namespace plait {

/// Sleeps while `word` holds `seen`, until woken or until `deadline`. May return early; callers re-read the word.
void futexWait(const std::atomic<uint32_t> &word, uint32_t seen, std::chrono::steady_clock::time_point deadline);

/// Wakes every sleeper of `word`.
void futexWakeAll(const std::atomic<uint32_t> &word);

} // namespace plait

#endif
