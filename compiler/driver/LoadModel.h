// A model file as plain data: import (config.json or model dialect), differentiate, verify, analyze.
#ifndef PLAIT_COMPILER_DRIVER_LOADMODEL_H
#define PLAIT_COMPILER_DRIVER_LOADMODEL_H

#include "cost_model/problem/Problem.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace plait {

/// A context with the project's dialects, single-threaded, whose diagnostics do not show IR.
std::unique_ptr<mlir::MLIRContext> makeContext();

struct LoadedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< differentiated
  std::string importedText;                 ///< before differentiation: what a plan carries
  std::shared_ptr<const Model> model;
};

/// `path` ends in .json (Hugging Face config) or .mlir (model dialect). checkpointFolder may be empty.
/// Errors: those of the importer and the parser, with file and place.
Result<LoadedModel> loadModel(mlir::MLIRContext &context, const std::string &path, const std::string &checkpointFolder = "");

/// The imported (not yet differentiated) module of `path`.
Result<mlir::OwningOpRef<mlir::ModuleOp>> importModel(mlir::MLIRContext &context, const std::string &path,
                                                      const std::string &checkpointFolder = "");

/// Differentiates and analyzes an imported module.
Result<LoadedModel> prepareModel(mlir::OwningOpRef<mlir::ModuleOp> module);

} // namespace plait

#endif
