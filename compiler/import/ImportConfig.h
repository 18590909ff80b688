// Hugging Face config.json -> model dialect: parameters, one definition per kind of block (embedding, decoder layers of
// one structure, head with the loss) and the chain of their uses. Layers are never unrolled.
#ifndef PLAIT_COMPILER_IMPORT_IMPORTCONFIG_H
#define PLAIT_COMPILER_IMPORT_IMPORTCONFIG_H

#include "compiler/import/Parameters.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace plait {

struct ImportOptions {
  std::string checkpointFolder; ///< compare with the safetensors headers there; empty: do not
};

/// Reads `path` and builds its module. Errors: those of readModelSpec, modelParameters and the checkpoint comparison.
Result<mlir::OwningOpRef<mlir::ModuleOp>> importConfig(mlir::MLIRContext &context, const std::string &path,
                                                       const ImportOptions &options = {});

/// The module of a specification and its parameters. Error: only if the result does not verify, which is a defect here.
Result<mlir::OwningOpRef<mlir::ModuleOp>> buildModel(mlir::MLIRContext &context, const ModelSpec &spec,
                                                     const ModelParameters &parameters);

} // namespace plait

#endif
