// JointGraph: forward and backward ops of one block in one list, of which every phase is a slice.
#ifndef PLAIT_PASSES_DIFFERENTIATE_JOINTGRAPH_H
#define PLAIT_PASSES_DIFFERENTIATE_JOINTGRAPH_H

#include "dialects/model/Model.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace plait {

class JointGraph {
public:
  /// Differentiates an imported definition. Errors are reported where they are: an op without gradient, an input or a
  /// parameter that does not reach the output, a parameter with two readers, a loss without loss_scale.
  static mlir::FailureOr<JointGraph> build(model::BlockDefOp source);

  /// Ops that `targets` need when the values that `stops` accepts are given, in the order of the graph. The values where
  /// the slice stopped are added to `reached`; block arguments always stop it.
  llvm::SmallVector<mlir::Operation *> slice(llvm::ArrayRef<mlir::Value> targets,
                                             llvm::function_ref<bool(mlir::Value)> stops,
                                             llvm::SmallVectorImpl<mlir::Value> &reached) const;

  /// Sorts into the order of the graph: arguments first, then results.
  void sort(llvm::SmallVectorImpl<mlir::Value> &values) const;
  bool isForward(mlir::Operation *op) const { return forwardOps.contains(op); }

  model::BlockDefOp block() const { return *owner; } ///< a detached copy of the definition, with gradient ops
  mlir::Value x, y, dx, dy;                          ///< null where the block has none; y is the loss of a last block
  llvm::SmallVector<mlir::Value> grads;              ///< one per parameter

private:
  mlir::OwningOpRef<model::BlockDefOp> owner;
  llvm::DenseSet<mlir::Operation *> forwardOps;
  llvm::DenseMap<mlir::Value, unsigned> position;
};

} // namespace plait

#endif
