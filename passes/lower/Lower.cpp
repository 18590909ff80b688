#include "dialects/exec/Exec.h"
#include "passes/lower/Passes.h"
#include "passes/lower/PlanInputs.h"

using namespace mlir;

namespace plait {
namespace {

struct LowerPass : PassWrapper<LowerPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerPass)
  StringRef getArgument() const final { return "plait-lower"; }
  StringRef getDescription() const final { return "Make programs and roles; the exec.plan replaces model and plan ops"; }
  void getDependentDialects(DialectRegistry &registry) const final { registerExecDialect(registry); }
  void runOnOperation() final {
    if (failed(advancePlan(getOperation(), PlanPart::Scheduled, PlanPart::Whole)))
      return signalPassFailure();
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody()->getOperations()))
      if (!isa<exec::PlanOp>(op))
        op.erase();
    getOperation()->setDiscardableAttrs(ArrayRef<NamedAttribute>());
  }
};

} // namespace

std::unique_ptr<Pass> createLowerPass() { return std::make_unique<LowerPass>(); }

} // namespace plait
