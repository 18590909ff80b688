// Gradients of the computing ops, in model ops.
#include "dialects/model/GradientSink.h"

using namespace mlir;

namespace plait::model {

// ---- Sink ----------------------------------------------------------------------------------------------------------

LogicalResult GradientSink::visit(ComputeOpInterface op) {
  location = NameLoc::get(builder.getStringAttr("grad"), op->getLoc());
  segment = op.segmentName();
  return op.differentiate(*this);
}

static StringRef segmentOf(Value value) {
  auto op = value.getDefiningOp<ComputeOpInterface>();
  return op ? op.segmentName() : StringRef("stream");
}

void GradientSink::add(Value operand, Value gradient) {
  if (!cast<RankedTensorType>(operand.getType()).getElementType().isF32())
    return;
  StringRef segment = segmentOf(gradient);
  for (auto &[known, sum] : gradients[operand])
    if (known == segment) {
      sum = createOp<AddOp>(builder, location, sum, gradient, segment).getY();
      return;
    }
  gradients[operand].push_back({segment, gradient});
}

Value GradientSink::of(Value value) {
  auto found = gradients.find(value);
  if (found == gradients.end())
    return {};
  auto &sums = found->second;
  Value total = sums.front().second;
  for (auto &[segment, sum] : llvm::drop_begin(sums))
    total = createOp<AddOp>(builder, location, total, sum, segmentOf(value)).getY();
  sums.assign(1, {segmentOf(total), total});
  return total;
}

// ---- Linear and elementwise ----------------------------------------------------------------------------------------

LogicalResult LinearOp::differentiate(GradientSink &sink) {
  Value dy = sink.of(getY());
  sink.add(getX(), sink.create<LinearGradInputOp>(dy, getW()).getDx());
  sink.add(getW(), sink.create<LinearGradWeightOp>(dy, getX()).getDw());
  return success();
}

LogicalResult BiasAddOp::differentiate(GradientSink &sink) {
  Value dy = sink.of(getY());
  sink.add(getX(), dy);
  sink.add(getB(), sink.create<BiasGradOp>(dy).getDb());
  return success();
}

LogicalResult AddOp::differentiate(GradientSink &sink) {
  Value dy = sink.of(getY());
  sink.add(getA(), dy);
  sink.add(getC(), dy);
  return success();
}

LogicalResult MulOp::differentiate(GradientSink &sink) {
  Value dy = sink.of(getY());
  sink.add(getA(), sink.create<MulOp>(dy, getC()).getY());
  sink.add(getC(), sink.create<MulOp>(dy, getA()).getY());
  return success();
}

LogicalResult ScaleOp::differentiate(GradientSink &sink) {
  sink.add(getX(), sink.create<ScaleOp>(sink.of(getY()), getFactor()).getY());
  return success();
}

LogicalResult ActivationOp::differentiate(GradientSink &sink) {
  sink.add(getX(), sink.create<ActivationGradOp>(sink.of(getY()), getX(), getKind()).getDx());
  return success();
}

LogicalResult GatedActivationOp::differentiate(GradientSink &sink) {
  auto grad = sink.create<GatedActivationGradOp>(sink.of(getY()), getGate(), getUp(), getKind());
  sink.add(getGate(), grad.getDgate());
  sink.add(getUp(), grad.getDup());
  return success();
}

// ---- Norms ---------------------------------------------------------------------------------------------------------

LogicalResult RmsNormOp::differentiate(GradientSink &sink) {
  Value dy = sink.of(getY());
  if (!dy || sink.of(getRstd()))
    return emitOpError("has a gradient for y only");
  sink.add(getX(), sink.create<RmsNormGradOp>(dy, getX(), getW(), getRstd()).getDx());
  sink.add(getW(), sink.create<RmsNormGradWeightOp>(dy, getX(), getRstd()).getDw());
  return success();
}

LogicalResult LayerNormOp::differentiate(GradientSink &sink) {
  Value dy = sink.of(getY());
  if (!dy || sink.of(getMean()) || sink.of(getRstd()))
    return emitOpError("has a gradient for y only");
  sink.add(getX(), sink.create<LayerNormGradOp>(dy, getX(), getW(), getMean(), getRstd()).getDx());
  auto weight = sink.create<LayerNormGradWeightOp>(dy, getX(), getMean(), getRstd());
  sink.add(getW(), weight.getDw());
  sink.add(getB(), weight.getDb());
  return success();
}

// ---- Attention -----------------------------------------------------------------------------------------------------

LogicalResult RopeOp::differentiate(GradientSink &sink) {
  auto back = sink.create<RopeOp>(sink.of(getY()), getHeadDim(), getRotaryDim(), getInvFreq(), getInterleaved(),
                                  getFactor(), !getInverse());
  sink.add(getX(), back.getY());
  return success();
}

LogicalResult AttentionOp::differentiate(GradientSink &sink) {
  Value dout = sink.of(getO());
  if (!dout || sink.of(getLse()))
    return emitOpError("has a gradient for o only");
  auto grad = sink.create<AttentionGradOp>(dout, getQ(), getK(), getV(), getO(), getLse(), getHeads(), getKvHeads(),
                                           getHeadDim(), getScale(), getCausal(), getWindow());
  sink.add(getQ(), grad.getDq());
  sink.add(getK(), grad.getDk());
  sink.add(getV(), grad.getDv());
  return success();
}

// ---- Embeddings and the loss ---------------------------------------------------------------------------------------

LogicalResult EmbeddingOp::differentiate(GradientSink &sink) {
  sink.add(getW(), sink.create<EmbeddingGradOp>(sink.of(getY()), getTokens(), getW().getType().getDimSize(0)).getDw());
  return success();
}

LogicalResult PositionEmbeddingOp::differentiate(GradientSink &sink) {
  Value dy = sink.of(getY());
  sink.add(getX(), dy);
  sink.add(getW(), sink.create<PositionEmbeddingGradOp>(dy, getW().getType().getDimSize(0)).getDw());
  return success();
}

/// The gradient of the loss is one number, the scale. It goes to the logits past the three row ops.
LogicalResult CrossEntropyOp::differentiate(GradientSink &sink) {
  Value scale = sink.of(getLoss());
  if (!scale || sink.of(getLse()))
    return emitOpError("has a gradient for the loss only");
  Value logits = getM().getDefiningOp<RowMaxOp>().getLogits();
  sink.add(logits, sink.create<CrossEntropyGradOp>(logits, getLse(), getLabels(), scale).getDlogits());
  return success();
}

} // namespace plait::model
