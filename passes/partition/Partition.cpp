#include "passes/lower/Passes.h"
#include "passes/lower/PlanInputs.h"

using namespace mlir;

namespace plait {
namespace {

struct PartitionPass : PassWrapper<PartitionPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PartitionPass)
  StringRef getArgument() const final { return "plait-partition"; }
  StringRef getDescription() const final { return "Make the routines that the plan.solution needs"; }
  void getDependentDialects(DialectRegistry &registry) const final { registerExecDialect(registry); }
  void runOnOperation() final {
    if (failed(advancePlan(getOperation(), std::nullopt, PlanPart::Partitioned)))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createPartitionPass() { return std::make_unique<PartitionPass>(); }

} // namespace plait
