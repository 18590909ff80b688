#include "passes/differentiate/JointGraph.h"
#include "dialects/model/GradientSink.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace plait::model;

namespace plait {

static LogicalResult checkSource(BlockDefOp source) {
  for (BlockArgument param : source.group(BlockDefOp::Params)) {
    StringRef name = source.argumentName(param.getArgNumber());
    if (param.use_empty())
      return source.emitOpError("does not read parameter '") << name << "'";
    if (!param.hasOneUse())
      return source.emitOpError("reads parameter '") << name << "' in more than one op; a tied tensor needs one parameter per op";
  }
  bool isLoss = source.yield().getOutputs().front().getType() == RankedTensorType::get({1}, Float32Type::get(source.getContext()));
  if (isLoss && !source.input("loss_scale"))
    return source.emitOpError("yields a loss and needs input 'loss_scale', its gradient");
  return success();
}

FailureOr<JointGraph> JointGraph::build(BlockDefOp source) {
  if (failed(checkSource(source)))
    return failure();
  JointGraph graph;
  graph.owner = cast<BlockDefOp>(source->clone());
  BlockDefOp block = *graph.owner;
  Block &body = block.getBody().front();
  graph.x = block.input("x");
  graph.y = block.yield().getOutputs().front();

  OpBuilder builder(block.yield());
  GradientSink sink(builder);
  SmallVector<Operation *> forward;
  for (Operation &op : body.without_terminator())
    forward.push_back(&op);
  graph.forwardOps.insert(forward.begin(), forward.end());
  bool isLoss = cast<RankedTensorType>(graph.y.getType()).getRank() == 1;
  if (!isLoss)
    graph.dy = body.addArgument(graph.y.getType(), source.getLoc());
  sink.add(graph.y, isLoss ? block.input("loss_scale") : graph.dy);
  for (Operation *op : llvm::reverse(forward))
    if (llvm::any_of(op->getResults(), [&](mlir::Value result) { return bool(sink.of(result)); }))
      if (failed(sink.visit(cast<ComputeOpInterface>(op))))
        return failure();

  if (graph.x && !(graph.dx = sink.of(graph.x)))
    return source.emitOpError("has an output that does not depend on 'x'");
  for (BlockArgument param : block.group(BlockDefOp::Params)) {
    graph.grads.push_back(sink.of(param));
    if (!graph.grads.back())
      return source.emitOpError("has an output that does not depend on parameter '")
             << block.argumentName(param.getArgNumber()) << "'";
  }
  for (Operation &op : body.without_terminator())
    if (failed(verify(&op)))
      return failure();
  unsigned next = 0;
  for (BlockArgument argument : body.getArguments())
    graph.position[argument] = next++;
  for (Operation &op : body)
    for (mlir::Value result : op.getResults())
      graph.position[result] = next++;
  return graph;
}

SmallVector<Operation *> JointGraph::slice(ArrayRef<mlir::Value> targets, llvm::function_ref<bool(mlir::Value)> stops,
                                           SmallVectorImpl<mlir::Value> &reached) const {
  llvm::DenseSet<Operation *> needed;
  llvm::DenseSet<mlir::Value> seen;
  SmallVector<mlir::Value> pending(targets.begin(), targets.end());
  while (!pending.empty()) {
    mlir::Value value = pending.pop_back_val();
    if (!value || !seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (!op || stops(value)) {
      reached.push_back(value);
      continue;
    }
    if (needed.insert(op).second)
      pending.append(op->operand_begin(), op->operand_end());
  }
  SmallVector<Operation *> ordered;
  for (Operation &op : block().getBody().front())
    if (needed.contains(&op))
      ordered.push_back(&op);
  return ordered;
}

void JointGraph::sort(SmallVectorImpl<mlir::Value> &values) const {
  llvm::sort(values, [&](mlir::Value a, mlir::Value b) { return position.lookup(a) < position.lookup(b); });
}

} // namespace plait
