// Passes over the plan dialect.
#ifndef PLAIT_PASSES_PLAN_PASSES_H
#define PLAIT_PASSES_PLAN_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace plait {

/// Replaces every plan.solution and plan.problem by what its struct gives back; for tests of the conversion.
std::unique_ptr<mlir::Pass> createPlanStructRoundTripPass();

/// Checks every plan.problem, with the differentiated model of the module, against the rules, and every plan.expect
/// against the rules and evaluate(): text tests of rules, cost model and solvers need no front end.
std::unique_ptr<mlir::Pass> createPlanCheckPass();

/// Makes the passes of this folder known to plait-opt.
void registerPlanPasses();

} // namespace plait

#endif
