// Engine: times of executors that walk their items in order, with unbuffered transfers. A run takes its seconds; a
// transfer is one batch that begins when the executor reaches it, moves every message once both ends are there, and
// ends with its last message. The same laws govern the runtime.
#ifndef PLAIT_COST_MODEL_SIMULATE_ENGINE_H
#define PLAIT_COST_MODEL_SIMULATE_ENGINE_H

#include "cost_model/simulate/Pipeline.h"
#include <functional>
#include <span>
#include <vector>

namespace plait {

/// One executor: (replica, stage) and its items.
struct EngineLane {
  Id replica = 0, stage = 0;
  std::vector<PipeItem> items;
};

struct LaneTimes {
  std::vector<double> start, end; ///< seconds, per item
  double busy = 0;                ///< seconds in runs
  double finish = 0;              ///< end of the last item
};

/// Seconds of a run on a lane, and of a message from lane `from` to lane `to` (indices into the lanes).
struct EngineCosts {
  std::function<double(size_t lane, const PipeRun &run)> run;
  std::function<double(size_t from, size_t to, const PipeMessage &message)> message;
};

/// Every peer named by a message is among the lanes. Empty if the lanes block each other (a broken order).
std::vector<LaneTimes> runEngine(std::span<const EngineLane> lanes, const EngineCosts &costs);

} // namespace plait

#endif
