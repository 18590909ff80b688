#include "cost_model/simulate/Trace.h"
#include <nlohmann/json.hpp>

namespace plait {

static const char *queueName(uint32_t queue) {
  return queue == 0 ? "compute" : queue == 1 ? "boundary transfers" : "gradient sync";
}

std::string chromeTrace(const SimulationResult &result) {
  std::string text = "[";
  const char *separator = "\n";
  auto add = [&](const nlohmann::json &event) {
    text += separator + event.dump();
    separator = ",\n";
  };
  for (const SimulatedRanks &ranks : result.ranks) {
    std::string name = "rank " + std::to_string(ranks.rank);
    if (ranks.ranks > 1)
      name += " and " + std::to_string(ranks.ranks - 1) + " alike";
    add({{"ph", "M"}, {"name", "process_name"}, {"pid", ranks.rank}, {"args", {{"name", name}}}});
    for (uint32_t queue = 0; queue < 3; ++queue)
      add({{"ph", "M"},
           {"name", "thread_name"},
           {"pid", ranks.rank},
           {"tid", queue},
           {"args", {{"name", queueName(queue)}}}});
    for (const SimEvent &event : ranks.events)
      add({{"ph", "X"},
           {"name", event.name},
           {"pid", ranks.rank},
           {"tid", event.queue},
           {"ts", event.start * 1e6},
           {"dur", event.seconds * 1e6},
           {"args", {{"bytes", event.bytes}}}});
  }
  return text + "\n]\n";
}

} // namespace plait
