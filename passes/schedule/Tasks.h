// Tasks: the schedule of one role. The order of runs and transfers is that of cost_model/simulate/Pipeline.h; around it
// stand the clearing of gradients, the loading of tokens, and the atomic optimizer step.
#ifndef PLAIT_PASSES_SCHEDULE_TASKS_H
#define PLAIT_PASSES_SCHEDULE_TASKS_H

#include "cost_model/simulate/Pipeline.h"
#include "passes/schedule/Boundaries.h"

namespace plait {

/// Frames and micro-batch numbering that a schedule implies for its role.
struct ScheduleShape {
  uint32_t frames = 0;
};

/// Writes the schedule of one role: stage instance `stageIndex`, coordinate `coordinate` (0 for a merged role). The role
/// has its programs, ports, frame layout and sync parts already.
Result<ScheduleShape> buildSchedule(const StageTable &table, const Pipeline &pipeline, Id stageIndex, uint32_t coordinate,
                                    Boundaries &boundaries, const pb::Role &role, pb::Schedule &schedule);

/// First micro-batch of the global batch that belongs to `replica` (of its copy 0).
uint32_t firstMicrobatch(const Solution &solution, Id replica);

} // namespace plait

#endif
