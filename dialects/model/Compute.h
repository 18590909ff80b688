// What every computing op can be asked, and the means to answer: launch attributes, keep policy, binding of a sharding
// rule to an op's operands. Included by the generated interface; users include Model.h.
#ifndef PLAIT_DIALECTS_MODEL_COMPUTE_H
#define PLAIT_DIALECTS_MODEL_COMPUTE_H

#include "cost_model/workload/Rule.h"
#include "cost_model/workload/Summary.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include <optional>

namespace plait::model {

using mlir::Value; // an IR value; plait::Value is one of a BlockSummary

class GradientSink;
class ComputeOpInterface;

/// Which recompute variants keep a result that the backward phase needs.
enum class Keep {
  Cheap,  ///< "none" only: norms, rotations and most pointwise results are computed again in "selective" and "full"
  Costly, ///< "none" and "selective": matrix products, attention, residual sums
  Always, ///< every variant: computing it again would have an effect (the loss accumulates)
};

/// Attributes of a launch in the order of the kernel catalogue.
struct LaunchAttributes {
  llvm::SmallVector<int64_t> ints = {};
  llvm::SmallVector<double> doubles = {};
  llvm::SmallVector<llvm::StringRef> offsets = {}; ///< rule factors whose first local unit the launch receives
  std::optional<PointwiseTemplate> pointwise = std::nullopt;
};

/// Rule factors of one dimension of a tensor, outermost first; empty where the dimension is 1. Ids from
/// Rule::kMaxFactors on are the dimensions that `...` stands for.
using BoundDim = llvm::SmallVector<int, 3>;

/// A rule with the ellipsis expanded and the factors sized for one op.
struct BoundRule {
  const Rule *rule = nullptr;
  llvm::SmallVector<llvm::SmallVector<BoundDim>> operands, results;
  llvm::SmallVector<int64_t> sizes; ///< per factor id; ShapedType::kDynamic if not fixed

  /// Name for messages: the factor's, or "..." with its position.
  std::string factorName(int id) const;
  /// Shape that the rule gives to a result.
  llvm::SmallVector<int64_t> resultShape(unsigned index) const;
};

/// Binds op's rule. Checks counts, ranks and sizes of operands and, unless `operandsOnly`, of results; a violation is
/// reported on the op, for example "factor 'i' is 8 elsewhere and 9 in operand 'w'".
mlir::FailureOr<BoundRule> bindRule(ComputeOpInterface op, bool operandsOnly = false);

/// Verifier of ComputeOpInterface.
llvm::LogicalResult verifyAgainstRule(mlir::Operation *op);

/// Sets op's result types as its rule and operands imply; operands must fit the rule (else results stay as they are
/// and the verifier reports it).
void inferResultTypes(mlir::Operation *op);

/// Creates an op with inferred result types. `args` are operands and attributes in the order of its definition; the
/// last one is the segment.
template <typename OpTy, typename... Args> OpTy createOp(mlir::OpBuilder &builder, mlir::Location loc, Args &&...args) {
  llvm::SmallVector<mlir::Type> unknown(OpTy::classRule().results, builder.getNoneType());
  OpTy op = OpTy::create(builder, loc, mlir::TypeRange(unknown), std::forward<Args>(args)...);
  inferResultTypes(op);
  return op;
}

} // namespace plait::model

#endif
