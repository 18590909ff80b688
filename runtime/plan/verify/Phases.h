// The parts of verifyPlan(). Each relies on those before it having found no fault.
#ifndef PLAIT_RUNTIME_PLAN_VERIFY_PHASES_H
#define PLAIT_RUNTIME_PLAN_VERIFY_PHASES_H

#include "runtime/plan/verify/RankTable.h"
#include "runtime/plan/verify/Verify.h"

namespace plait {

void verifyTables(const pb::Plan &plan, Faults &faults);
void verifyRoutines(const pb::Plan &plan, Faults &faults);
void verifyRoles(const pb::Plan &plan, const RankTable &table, Faults &faults);
void verifyTasks(const pb::Plan &plan, const RankTable &table, Faults &faults);
void verifyState(const pb::Plan &plan, const RankTable &table, Faults &faults);
void verifyChannels(const pb::Plan &plan, const RankTable &table, Faults &faults);

/// Bytes of a role's space; 0 where the plan gives none. CONTROL has at least the executor's own scalars.
uint64_t spaceBytes(const pb::Role &role, pb::Space space);
/// Elements of a ref, and bytes from its first to the end of its last element. Nothing on overflow or negative extents.
struct RefExtent {
  uint64_t elements = 0, bytes = 0;
  bool isDense = true;
};
std::optional<RefExtent> extentOf(const pb::Ref &ref);

} // namespace plait

#endif
