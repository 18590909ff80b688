// The phases between a solution and an executable plan, and the passes that close them.
#ifndef PLAIT_PASSES_LOWER_PASSES_H
#define PLAIT_PASSES_LOWER_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace plait {

/// `--plait-partition`: a module with a differentiated model, one plan.problem and one plan.solution gets an exec.plan with
/// job, tensors, works and exec.routine ops.
std::unique_ptr<mlir::Pass> createPartitionPass();
/// `--plait-schedule`: adds families, channels, syncs and exec.schedule ops.
std::unique_ptr<mlir::Pass> createSchedulePass();
/// `--plait-lower`: makes the plan whole (programs, roles, ranks, decisions) and erases model and plan ops.
std::unique_ptr<mlir::Pass> createLowerPass();

/// `--plait-verify-partitioned`: the routines are well formed and launch exactly the works of the projection.
std::unique_ptr<mlir::Pass> createVerifyPartitionedPass();
/// `--plait-verify-lowered`: verifyPlan() and verifyComm() on the exec.plan, faults reported at its ops.
std::unique_ptr<mlir::Pass> createVerifyLoweredPass();

/// All of them in order.
void buildLowerPipeline(mlir::OpPassManager &pm);
void registerLowerPasses();

void registerExecDialect(mlir::DialectRegistry &registry);

} // namespace plait

#endif
