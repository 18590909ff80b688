#include "passes/plan/Convert.h"
#include "passes/plan/Passes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace plait {
namespace {

struct PlanStructRoundTrip : PassWrapper<PlanStructRoundTrip, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanStructRoundTrip)

  StringRef getArgument() const override { return "plan-struct-round-trip"; }
  StringRef getDescription() const override { return "Convert plan ops to structs and back"; }

  void runOnOperation() override {
    OpBuilder builder(&getContext());
    for (auto op : llvm::make_early_inc_range(getOperation().getOps<plan::SolutionOp>())) {
      builder.setInsertionPoint(op);
      Result<Solution> solution = solutionFromOp(op);
      if (!solution)
        return fail(op, solution.error());
      buildSolutionOp(builder, *solution, op.getSymName());
      op.erase();
    }
    for (auto op : llvm::make_early_inc_range(getOperation().getOps<plan::ProblemOp>()))
      if (failed(rebuildProblem(builder, op)))
        return signalPassFailure();
  }

private:
  /// Costs and expectations are no part of a Problem; they move over as they are.
  LogicalResult rebuildProblem(OpBuilder &builder, plan::ProblemOp op) {
    builder.setInsertionPoint(op);
    Result<Problem> problem = problemFromOp(op);
    if (!problem)
      return op.emitError(problem.error().message);
    Result<plan::ProblemOp> rebuilt = buildProblemOp(builder, *problem, op.getSymName());
    if (!rebuilt)
      return op.emitError(rebuilt.error().message);
    for (Operation &child : llvm::make_early_inc_range(op.getBody().front()))
      if (isa<plan::CostsOp, plan::ExpectOp>(child))
        child.moveBefore(&rebuilt->getBody().front(), rebuilt->getBody().front().end());
    op.erase();
    return llvm::success();
  }

  void fail(Operation *op, const Error &error) {
    op->emitError(error.message);
    signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createPlanStructRoundTripPass() { return std::make_unique<PlanStructRoundTrip>(); }

void registerPlanPasses() {
  registerPass([] { return createPlanStructRoundTripPass(); });
  registerPass([] { return createPlanCheckPass(); });
}

} // namespace plait
