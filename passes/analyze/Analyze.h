// From a differentiated module to plain data: one BlockSummary per kind of block, the chain and the parameters.
#ifndef PLAIT_PASSES_ANALYZE_ANALYZE_H
#define PLAIT_PASSES_ANALYZE_ANALYZE_H

#include "cost_model/problem/Problem.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace plait {

/// The model of a module that passed --model-differentiate. Errors are reported on the op: missing module attributes,
/// blocks that are not differentiated, phases that disagree.
mlir::FailureOr<Model> analyzeModule(mlir::ModuleOp module);

/// Prints every field of the model's blocks, one line per factor, value and op.
void printSummary(llvm::raw_ostream &os, const Model &model);

} // namespace plait

#endif
