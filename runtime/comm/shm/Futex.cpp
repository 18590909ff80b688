#include "runtime/comm/shm/Futex.h"
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace plait {

// A deadline is absolute, so that a wait restarted after a signal or a spurious wake does not grow.
void futexWait(const std::atomic<uint32_t> &word, uint32_t seen, std::chrono::steady_clock::time_point deadline) {
  auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count();
  timespec until{since > 0 ? since / 1000000000 : 0, since > 0 ? since % 1000000000 : 0};
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, seen, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futexWakeAll(const std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace plait
