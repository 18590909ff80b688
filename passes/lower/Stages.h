// Stages of a solution with their projections: who holds what, before any plan data is written.
#ifndef PLAIT_PASSES_LOWER_STAGES_H
#define PLAIT_PASSES_LOWER_STAGES_H

#include "cost_model/workload/Projection.h"
#include <map>
#include <vector>

namespace plait {

/// Stage `stage` of replica `replica` (all its copies).
struct StageInstance {
  Id replica = 0, stage = 0;
  const Stage *decisions = nullptr;
  uint32_t copies = 1, copyStride = 0;
  bool firstStage = false, lastStage = false;
  std::map<Id, std::vector<BlockProjection>> projections; ///< by block kind; one per coordinate

  uint32_t shards() const { return decisions->devices.count; }
  uint32_t rank(uint32_t coordinate, uint32_t copy = 0) const {
    return decisions->devices.first + coordinate * decisions->devices.stride + copy * copyStride;
  }
};

/// All stages of a solution. `merged`: coordinates of every stage differ in offsets only and all stages have one degree,
/// so that one role serves a whole tensor group.
struct StageTable {
  const Problem *problem = nullptr;
  const Solution *solution = nullptr;
  std::vector<StageInstance> stages; ///< replica by replica, stage by stage
  bool merged = false;

  const StageInstance &at(Id replica, Id stage) const;
  const Model &model() const { return *problem->model; }
};

/// Precondition: verify(problem, solution) is empty; both outlive the table. Errors are those of project().
Result<StageTable> buildStages(const Problem &problem, const Solution &solution);

} // namespace plait

#endif
