// Programs: the blocks of one stage bound to memory. Decides the layout of a frame, of the boundary buffers and of the
// step scalars; a layer is a binding, not code.
#ifndef PLAIT_PASSES_LOWER_PROGRAMS_H
#define PLAIT_PASSES_LOWER_PROGRAMS_H

#include "passes/lower/Stages.h"
#include "passes/partition/Routines.h"
#include <map>

namespace plait {

/// Ports of a role, in this order.
enum BoundaryPort : uint32_t { PortX = 0, PortY = 1, PortDy = 2, PortDx = 3 };

/// CONTROL space: loss scale (f32), loss sum (f32), then the votes' f64 scalars.
inline constexpr uint64_t kLossScaleOffset = 0, kLossOffset = 4, kControlBytes = 256;

/// Element offset of every parameter that a role holds, by index into Model::params.
using ParamOffsets = std::map<Id, uint64_t>;

/// Memory of one role besides parameters.
struct RoleMemory {
  uint64_t frameBytes = 0, tokensOffset = 0, labelsOffset = 0;
  bool hasTokens = false, hasLabels = false;
  uint64_t scratchBytes = 0, boundaryBytes = 0;   ///< SCRATCH; COMM used by boundary activations
};

/// Adds the programs of one role to the plan: forward, then backward (or input and weight gradients apart), and sets the
/// role's programs, ports and frame layout. `coordinates` are those that the role serves (one, or all when merged).
RoleMemory buildPrograms(const StageTable &table, const StageInstance &instance, const std::vector<uint32_t> &coordinates,
                         const ParamOffsets &params, PlanTables &tables, pb::Plan &plan, pb::Role &role);

} // namespace plait

#endif
