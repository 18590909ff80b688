#include "passes/lower/Passes.h"
#include "passes/lower/PlanInputs.h"

using namespace mlir;

namespace plait {
namespace {

struct SchedulePass : PassWrapper<SchedulePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SchedulePass)
  StringRef getArgument() const final { return "plait-schedule"; }
  StringRef getDescription() const final { return "Make the task lists, their channels and syncs"; }
  void getDependentDialects(DialectRegistry &registry) const final { registerExecDialect(registry); }
  void runOnOperation() final {
    if (failed(advancePlan(getOperation(), PlanPart::Partitioned, PlanPart::Scheduled)))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createSchedulePass() { return std::make_unique<SchedulePass>(); }

} // namespace plait
