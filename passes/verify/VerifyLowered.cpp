#include "passes/translate/Exec.h"
#include "passes/lower/Passes.h"
#include "passes/verify/FaultOps.h"
#include "runtime/plan/verify/Verify.h"

using namespace mlir;

namespace plait {
namespace {

struct VerifyLoweredPass : PassWrapper<VerifyLoweredPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyLoweredPass)
  StringRef getArgument() const final { return "plait-verify-lowered"; }
  StringRef getDescription() const final { return "Check what a reader of the plan relies on, and that no rank waits for ever"; }
  void runOnOperation() final {
    if (failed(check(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  static LogicalResult check(ModuleOp module) {
    Result<pb::Plan> plan = planFromExec(module);
    if (!plan)
      return module.emitError(plan.error().message);
    exec::PlanOp op = *module.getOps<exec::PlanOp>().begin();
    if (failed(reportFaults(op, verifyPlan(*plan))))
      return failure();
    return reportFaults(op, verifyComm(*plan));
  }
};

} // namespace

std::unique_ptr<Pass> createVerifyLoweredPass() { return std::make_unique<VerifyLoweredPass>(); }

} // namespace plait
