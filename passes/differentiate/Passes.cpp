#include "passes/differentiate/Passes.h"
#include "dialects/model/Model.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/analyze/Analyze.h"

using namespace mlir;

namespace plait {

namespace {

struct DifferentiatePass : PassWrapper<DifferentiatePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DifferentiatePass)
  StringRef getArgument() const final { return "model-differentiate"; }
  StringRef getDescription() const final { return "Make backward phases and recompute variants of every block"; }
  void runOnOperation() final {
    if (failed(differentiateModule(getOperation())))
      signalPassFailure();
  }
};

struct VerifyDifferentiatedPass : PassWrapper<VerifyDifferentiatedPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyDifferentiatedPass)
  StringRef getArgument() const final { return "model-verify-differentiated"; }
  StringRef getDescription() const final { return "Check that the phases of every block fit together"; }
  void runOnOperation() final {
    if (failed(verifyDifferentiated(getOperation())))
      signalPassFailure();
  }
};

struct PrintSummaryPass : PassWrapper<PrintSummaryPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintSummaryPass)
  StringRef getArgument() const final { return "model-print-summary"; }
  StringRef getDescription() const final { return "Print the block summaries of a differentiated module"; }
  void runOnOperation() final {
    FailureOr<Model> model = analyzeModule(getOperation());
    if (failed(model))
      return signalPassFailure();
    printSummary(llvm::outs(), *model);
    markAllAnalysesPreserved();
  }
};

} // namespace

std::unique_ptr<Pass> createDifferentiatePass() { return std::make_unique<DifferentiatePass>(); }
std::unique_ptr<Pass> createVerifyDifferentiatedPass() { return std::make_unique<VerifyDifferentiatedPass>(); }
std::unique_ptr<Pass> createPrintSummaryPass() { return std::make_unique<PrintSummaryPass>(); }

void buildDifferentiatePipeline(OpPassManager &pm) {
  pm.addPass(createDifferentiatePass());
  pm.addPass(createVerifyDifferentiatedPass());
}

void registerModelPasses() {
  registerPass(createDifferentiatePass);
  registerPass(createVerifyDifferentiatedPass);
  registerPass(createPrintSummaryPass);
  PassPipelineRegistration<>("model-differentiate-pipeline", "Differentiate every block and verify the phases",
                             buildDifferentiatePipeline);
}

} // namespace plait
