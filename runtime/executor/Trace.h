// Events of one rank, written as a Chrome trace (chrome://tracing, Perfetto): process = rank, thread = queue.
#ifndef PLAIT_RUNTIME_EXECUTOR_TRACE_H
#define PLAIT_RUNTIME_EXECUTOR_TRACE_H

#include "runtime/plan/Result.h"
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

class Trace {
public:
  using Clock = std::chrono::steady_clock;
  struct Event {
    std::string_view name; ///< lives in the plan
    uint32_t queue = 0;
    int64_t startNs = 0, durationNs = 0; ///< since the trace began
    uint64_t bytes = 0;                  ///< payload moved, 0 for compute
  };

  explicit Trace(uint32_t rank) : rank(rank), origin(Clock::now()) {}
  void add(std::string_view name, uint32_t queue, Clock::time_point start, uint64_t bytes);
  const std::vector<Event> &events() const { return recorded; }
  /// Error Usage names the file that cannot be written.
  Status write(const std::string &path) const;

private:
  uint32_t rank;
  Clock::time_point origin;
  std::vector<Event> recorded;
};

} // namespace plait

#endif
