// simulate(): what a plan would do on a cluster. It walks the very task lists and instructions that a worker walks:
// queues and dependencies per rank, rendezvous of collectives and of both ends of a message, durations from the works
// (cost_model/compute) and the collective laws (cost_model/comm), memory from the roles' spaces. Ranks that behave alike
// are walked once.
//
// Not modelled: messages of different groups that share a link at the same time.
#ifndef PLAIT_COST_MODEL_SIMULATE_SIMULATE_H
#define PLAIT_COST_MODEL_SIMULATE_SIMULATE_H

#include "cost_model/facts/Facts.h"
#include "cost_model/problem/Problem.h"
#include "runtime/plan/plan.pb.h"
#include <string>
#include <vector>

namespace plait {

struct SimulateOptions {
  bool fold = true; ///< false: every rank on its own (for tests)
  enum class Events { None, Tasks, Instructions } events = Events::None;
};

/// As the runtime's traces: a task is named by its kind, an instruction by its origin.
struct SimEvent {
  std::string name;
  uint32_t queue = 0;
  double start = 0, seconds = 0;
  uint64_t bytes = 0; ///< payload moved, 0 for compute
};

/// Named amounts in a fixed order.
using Amounts = std::vector<std::pair<std::string, double>>;

/// Ranks that behave alike.
struct SimulatedRanks {
  uint32_t role = 0, rank = 0; ///< rank: the lowest, which stands for all
  uint64_t ranks = 0;
  std::vector<SimEvent> events;
  double busy = 0;     ///< seconds in RUN tasks
  double computed = 0; ///< end of the last RUN or TRANSFER
  double finish = 0;   ///< end of the last task
  Amounts components;  ///< seconds; sum: the step time
};

struct RoleMemory {
  std::string role;
  uint64_t bytes = 0; ///< of all spaces
  std::vector<std::pair<std::string, uint64_t>> components;
};

struct SimulationResult {
  double seconds = 0; ///< one step
  double bubble = 0;  ///< idle share of the busiest ranks until the last micro-batch ends, 0..1
  Amounts components; ///< mean seconds over ranks: "compute gemm", ..., "tp collectives", "idle"; sum: seconds
  Amounts traffic;    ///< bytes that all ranks send, per link
  std::vector<SimulatedRanks> ranks;
  std::vector<RoleMemory> memory;
  Label label = Label::Analytic;
  double errorBand = 0; ///< relative, widest of the facts used
};

/// Precondition: verifyPlan() is empty. Errors Usage: fewer devices than ranks, unknown facts; CheckFailed: ranks wait for
/// each other (what verifyComm() finds).
Result<SimulationResult> simulate(const pb::Plan &plan, const Cluster &cluster, const Facts &facts = Facts::builtin(),
                                  const SimulateOptions &options = {});
/// On the cluster that the plan was made for (Plan::cluster_json).
Result<SimulationResult> simulate(const pb::Plan &plan, const SimulateOptions &options = {});

} // namespace plait

#endif
