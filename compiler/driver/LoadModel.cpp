#include "compiler/driver/LoadModel.h"
#include "compiler/driver/DiagnosticText.h"
#include "compiler/import/ImportConfig.h"
#include "dialects/exec/Exec.h"
#include "dialects/model/Model.h"
#include "dialects/plan/Plan.h"
#include "passes/analyze/Analyze.h"
#include "passes/differentiate/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

namespace plait {

std::unique_ptr<mlir::MLIRContext> makeContext() {
  mlir::DialectRegistry registry;
  registry.insert<model::ModelDialect, plan::PlanDialect, exec::ExecDialect>();
  auto context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);
  return context;
}

Result<mlir::OwningOpRef<mlir::ModuleOp>> importModel(mlir::MLIRContext &context, const std::string &path,
                                                      const std::string &checkpointFolder) {
  if (!llvm::StringRef(path).ends_with(".mlir"))
    return importConfig(context, path, {checkpointFolder});
  DiagnosticText diagnostics(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(path, mlir::ParserConfig(&context));
  if (!module)
    return diagnostics.error();
  return module;
}

Result<LoadedModel> prepareModel(mlir::OwningOpRef<mlir::ModuleOp> module) {
  DiagnosticText diagnostics(module->getContext());
  LoadedModel loaded;
  llvm::raw_string_ostream(loaded.importedText) << **module;
  if (failed(differentiateModule(*module)) || failed(mlir::verify(*module)) || failed(verifyDifferentiated(*module)))
    return diagnostics.error();
  mlir::FailureOr<Model> model = analyzeModule(*module);
  if (failed(model))
    return diagnostics.error();
  loaded.module = std::move(module);
  loaded.model = std::make_shared<const Model>(std::move(*model));
  return loaded;
}

Result<LoadedModel> loadModel(mlir::MLIRContext &context, const std::string &path, const std::string &checkpointFolder) {
  Result<mlir::OwningOpRef<mlir::ModuleOp>> module = importModel(context, path, checkpointFolder);
  if (!module)
    return module.error();
  return prepareModel(std::move(*module));
}

} // namespace plait
