#include "mlir/IR/BuiltinOps.h"
#include "passes/analyze/Analyze.h"
#include "passes/plan/Convert.h"
#include "passes/plan/Passes.h"
#include <cmath>

using namespace mlir;

namespace plait {
namespace {

struct PlanCheck : PassWrapper<PlanCheck, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanCheck)

  StringRef getArgument() const override { return "plan-check"; }
  StringRef getDescription() const override {
    return "Check every plan.problem against the rules, and what its plan.expect ops say of solutions";
  }

  void runOnOperation() override {
    FailureOr<Model> model = analyzeModule(getOperation());
    if (failed(model))
      return signalPassFailure();
    auto shared = std::make_shared<const Model>(std::move(*model));
    for (auto op : getOperation().getOps<plan::ProblemOp>())
      if (failed(checkProblem(op, shared)))
        signalPassFailure();
  }

private:
  LogicalResult report(Operation *op, const std::vector<Reason> &reasons) {
    for (const Reason &reason : reasons)
      op->emitError(reason.text());
    return failure(!reasons.empty());
  }

  LogicalResult checkProblem(plan::ProblemOp op, std::shared_ptr<const Model> model) {
    Result<Problem> problem = problemFromOp(op);
    if (!problem)
      return op.emitError(problem.error().message);
    problem->model = std::move(model);
    if (failed(report(op, check(*problem))))
      return failure();
    auto costOps = op.getBody().getOps<plan::CostsOp>();
    std::optional<TableCosts> costs;
    if (!costOps.empty()) {
      Result<TableCosts> table = tableCostsFromOp(*costOps.begin(), *problem);
      if (!table)
        return (*costOps.begin()).emitError(table.error().message);
      costs.emplace(std::move(*table));
    }
    bool good = true;
    for (auto expect : op.getBody().getOps<plan::ExpectOp>())
      good &= succeeded(checkExpectation(expect, *problem, costs ? &*costs : nullptr));
    return llvm::success(good);
  }

  LogicalResult checkExpectation(plan::ExpectOp op, const Problem &problem, const CostSource *costs) {
    auto solutionOp = cast<plan::SolutionOp>(SymbolTable::lookupSymbolIn(getOperation(), op.getSolutionAttr()));
    Result<Solution> solution = solutionFromOp(solutionOp);
    if (failed(report(op, verify(problem, *solution))))
      return failure();
    if (!op.getSeconds() && !op.getPeakBytes())
      return llvm::success();
    if (!costs)
      return op.emitError("expects numbers, but the problem has no plan.costs");
    Cost cost = evaluate(problem, *solution, *costs);
    if (op.getSeconds()) {
      double expected = op.getSeconds()->convertToDouble();
      if (!(std::abs(cost.seconds - expected) <= 1e-9 * std::abs(expected)))
        return op.emitError() << "expects " << expected << " seconds, evaluate gives " << cost.seconds;
    }
    std::vector<int64_t> peaks(cost.peakBytes.begin(), cost.peakBytes.end());
    if (op.getPeakBytes() && *op.getPeakBytes() != ArrayRef(peaks))
      return op.emitError() << "expects peak bytes [" << *op.getPeakBytes() << "], evaluate gives [" << ArrayRef(peaks)
                            << "]";
    return llvm::success();
  }
};

} // namespace

std::unique_ptr<Pass> createPlanCheckPass() { return std::make_unique<PlanCheck>(); }

} // namespace plait
