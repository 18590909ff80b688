// Reports: what a plan and its simulation say, as JSON with stable keys (units in the names), and as text made of it.
#ifndef PLAIT_TOOLS_PLAIT_REPORT_H
#define PLAIT_TOOLS_PLAIT_REPORT_H

#include "cost_model/simulate/Simulate.h"
#include "runtime/plan/plan.pb.h"
#include <nlohmann/json.hpp>

namespace plait {

/// Keys: step_time_s, tokens_per_s_per_gpu, mfu, layout, stages, memory, time, traffic, search, model, job, cluster.
/// Error: the cluster of the plan cannot be read.
Result<nlohmann::ordered_json> planReport(const pb::Plan &plan, const SimulationResult &simulation);

/// The report for people.
std::string reportText(const nlohmann::ordered_json &report);

/// "17.2 GB": SI units, three digits.
std::string bytesText(double bytes);
/// "1.23 ms".
std::string secondsText(double seconds);

} // namespace plait

#endif
