// Faults of runtime/plan/verify as diagnostics at ops.
#ifndef PLAIT_PASSES_VERIFY_FAULTOPS_H
#define PLAIT_PASSES_VERIFY_FAULTOPS_H

#include "dialects/exec/Exec.h"

namespace plait {

/// Emits each fault at the op that its place names ("routine 3 ..." is the fourth exec.routine), else at the plan.
/// Fails if there are any.
mlir::LogicalResult reportFaults(exec::PlanOp plan, const std::vector<std::string> &faults);

} // namespace plait

#endif
