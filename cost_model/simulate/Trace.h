// A simulation as a Chrome trace (chrome://tracing, Perfetto), laid out as the runtime's traces: process = rank,
// thread = queue, times in microseconds.
#ifndef PLAIT_COST_MODEL_SIMULATE_TRACE_H
#define PLAIT_COST_MODEL_SIMULATE_TRACE_H

#include "cost_model/simulate/Simulate.h"

namespace plait {

/// JSON array of the events that were recorded; one process per kind of ranks.
std::string chromeTrace(const SimulationResult &result);

} // namespace plait

#endif
