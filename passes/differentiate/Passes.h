// Passes over the model dialect: differentiation, its verification, and the printed summary of passes/analyze.
#ifndef PLAIT_PASSES_DIFFERENTIATE_PASSES_H
#define PLAIT_PASSES_DIFFERENTIATE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace plait {

/// `--model-differentiate`: makes, from every imported block definition @b and for each recompute variant v of none,
/// selective and full, the definitions @b.v.forward, @b.v.backward, @b.v.backward_input and @b.v.backward_weight.
std::unique_ptr<mlir::Pass> createDifferentiatePass();

/// `--model-verify-differentiated`: every imported definition has all phases and variants, and what one phase leaves is
/// what the next one takes. Closes the phase.
std::unique_ptr<mlir::Pass> createVerifyDifferentiatedPass();

/// `--model-print-summary`: prints what passes/analyze makes of the module, for tests and for looking inside.
std::unique_ptr<mlir::Pass> createPrintSummaryPass();

void buildDifferentiatePipeline(mlir::OpPassManager &pm);
void registerModelPasses();

/// The functions behind the first two passes.
llvm::LogicalResult differentiateModule(mlir::ModuleOp module);
llvm::LogicalResult verifyDifferentiated(mlir::ModuleOp module);

} // namespace plait

#endif
