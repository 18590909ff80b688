// GradientSink: where ops put the gradients of their operands while a block is walked backwards.
#ifndef PLAIT_DIALECTS_MODEL_GRADIENTSINK_H
#define PLAIT_DIALECTS_MODEL_GRADIENTSINK_H

#include "dialects/model/Model.h"
#include "llvm/ADT/DenseMap.h"

namespace plait::model {

class GradientSink {
public:
  explicit GradientSink(mlir::OpBuilder &builder) : builder(builder) {}

  /// Differentiates `op`: its gradient ops take its segment and a location that points back to it.
  llvm::LogicalResult visit(ComputeOpInterface op);

  /// Gradient of a value, or null. The sums of several segments are added here, in the segment of the value's own op.
  mlir::Value of(mlir::Value value);

  /// Adds `gradient` to that of `operand`; ignored for ids. Gradients of one segment are summed in that segment, so that
  /// partial sums over its split factor need one reduction.
  void add(mlir::Value operand, mlir::Value gradient);

  /// Creates a gradient op of the op being differentiated; `args` without the segment.
  template <typename OpTy, typename... Args> OpTy create(Args &&...args) {
    return createOp<OpTy>(builder, location, std::forward<Args>(args)..., segment);
  }

private:
  mlir::OpBuilder &builder;
  mlir::Location location = builder.getUnknownLoc();
  llvm::StringRef segment;
  /// Per value: sums by segment, in the order of their first addend.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>, 1>> gradients;
};

} // namespace plait::model

#endif
