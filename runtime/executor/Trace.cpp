#include "runtime/executor/Trace.h"
#include <fstream>
#include <nlohmann/json.hpp>

namespace plait {

namespace {

int64_t nanoseconds(Trace::Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

const char *queueName(uint32_t queue) {
  return queue == 0 ? "compute" : queue == 1 ? "boundary transfers" : "gradient sync";
}

} // namespace

void Trace::add(std::string_view name, uint32_t queue, Clock::time_point start, uint64_t bytes) {
  recorded.push_back({name, queue, nanoseconds(start - origin), nanoseconds(Clock::now() - start), bytes});
}

Status Trace::write(const std::string &path) const {
  std::ofstream file(path);
  file << "[\n";
  auto meta = [&](const char *name, uint32_t thread, const std::string &value) {
    file << nlohmann::json{{"ph", "M"}, {"name", name}, {"pid", rank}, {"tid", thread}, {"args", {{"name", value}}}}
         << ",\n";
  };
  for (uint32_t queue = 0; queue < 3; ++queue)
    meta("thread_name", queue, queueName(queue));
  for (const Event &event : recorded)
    file << nlohmann::json{{"ph", "X"},
                           {"name", event.name},
                           {"pid", rank},
                           {"tid", event.queue},
                           {"ts", double(event.startNs) * 1e-3}, // microseconds
                           {"dur", double(event.durationNs) * 1e-3},
                           {"args", {{"bytes", event.bytes}}}}
         << ",\n";
  file << nlohmann::json{{"ph", "M"},
                         {"name", "process_name"},
                         {"pid", rank},
                         {"args", {{"name", "rank " + std::to_string(rank)}}}}
       << "\n]\n";
  file.close();
  if (!file)
    return usageError("cannot write the trace file '" + path + "'");
  return success();
}

} // namespace plait
