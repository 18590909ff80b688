// Holdings: where every logical parameter lives, and how its gradient becomes one sum.
//
// Each parameter is cut into atoms: boxes whose elements have the same holders. Atoms with the same holders form one
// Sync, a flat vector that is reduced, updated and gathered as a whole. Holders inside a tensor group either hold
// addends (norm weights under sequence parallelism, shared KV heads) or equal copies (norm weights without it), of
// which one speaks and the others are silent.
#ifndef PLAIT_PASSES_LOWER_HOLDINGS_H
#define PLAIT_PASSES_LOWER_HOLDINGS_H

#include "passes/lower/Programs.h"
#include "passes/lower/Stages.h"

namespace plait {

/// Appends an extent unless it has one member only.
void addExtent(pb::RankSet &set, uint32_t count, uint32_t stride);

/// The roles of a plan: one per stage when coordinates are merged, else one per stage and coordinate.
struct RoleIndex {
  Id stageIndex = 0;
  std::vector<uint32_t> coordinates;
};
std::vector<RoleIndex> rolesOf(const StageTable &table);

/// What one role holds.
struct RoleHolding {
  ParamOffsets offsets;               ///< elements
  uint64_t paramElements = 0, optimizerBytes = 0, packBytes = 0;
};

/// Adds syncs and their families to the plan, residences and sync parts to the roles (plan.roles, in the order of
/// rolesOf). Error: a stage uses one tensor in two different layouts (F-13).
Result<std::vector<RoleHolding>> buildHoldings(const StageTable &table, const std::vector<RoleIndex> &roles, pb::Plan &plan);

} // namespace plait

#endif
