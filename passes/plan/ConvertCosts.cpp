#include "passes/plan/Convert.h"

using namespace mlir;

namespace plait {

Result<TableCosts> tableCostsFromOp(plan::CostsOp op, const Problem &problem) {
  TableCosts costs(problem);
  costs.boundaryPerSequence = op.getBoundary().convertToDouble();
  costs.boundaryLatency = op.getLatency().convertToDouble();
  costs.tail = op.getTail().convertToDouble();
  if (op.getSlowdown())
    for (FloatAttr factor : op.getSlowdown()->getAsRange<FloatAttr>())
      costs.classSlowdown.push_back(factor.getValueAsDouble());
  for (plan::CostOp row : op.getBody().getOps<plan::CostOp>()) {
    Id kind = indexOfName(problem.model->kinds, row.getKind().str());
    if (kind == kNone) {
      std::string known;
      for (const BlockSummary &summary : problem.model->kinds)
        known += (known.empty() ? "" : ", ") + summary.name;
      return usageError("plan.cost \"" + row.getKind().str() + "\": the model has no such block; it has " + known);
    }
    costs.rows[{kind, row.getTp(), row.getRecompute().str()}] = {
        row.getForward().convertToDouble(), row.getBackwardInput().convertToDouble(),
        row.getBackwardWeight().convertToDouble(), row.getStaticBytes(), row.getSavedBytes()};
  }
  return costs;
}

} // namespace plait
