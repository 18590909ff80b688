// What the phases from partition on read out of a module: the differentiated model, one plan.problem, one plan.solution;
// and the part of the executable plan that stands beside them after each phase.
#ifndef PLAIT_PASSES_LOWER_PLANINPUTS_H
#define PLAIT_PASSES_LOWER_PLANINPUTS_H

#include "cost_model/problem/Problem.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/plan/plan.pb.h"

namespace plait {

/// Module attribute: text of the cluster file, which a plan carries. Without it the plan carries none.
inline constexpr char kClusterJsonAttr[] = "plan.cluster_json";

struct PlanInputs {
  Problem problem;
  Solution solution;
  std::string modelText;   ///< the model as it was imported
  std::string clusterText; ///< empty if the module has none
};

/// Errors are reported at the ops: none or several of either, a model that is not differentiated.
mlir::FailureOr<PlanInputs> readPlanInputs(mlir::ModuleOp module);
/// Also checks the problem and verifies the solution; broken rules are errors at the ops.
mlir::FailureOr<PlanInputs> readLegalInputs(mlir::ModuleOp module);

/// The imported model as text: without what differentiation made, without plan and exec ops.
std::string importedTextOf(mlir::ModuleOp module);

/// How far a plan is made: routines; also task lists with their channels and syncs; everything.
enum class PlanPart { Partitioned, Scheduled, Whole };

/// The part of buildPlan()'s result that a phase leaves. Decisions, model and cluster text belong to the whole.
/// Error: that of buildPlan().
Result<pb::Plan> makePlanPart(const PlanInputs &inputs, PlanPart part);

/// Puts `part` into the module in place of `before`, the part that the phase before left. Fails, at the exec.plan, if that is
/// missing or is not what the solution gives: a lowering that ignores an edit would be worse.
mlir::LogicalResult advancePlan(mlir::ModuleOp module, std::optional<PlanPart> before, PlanPart part);

} // namespace plait

#endif
