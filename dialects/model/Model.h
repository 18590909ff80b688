// The model dialect: what is computed, on whole tensors. One public header for its ops, enums and interface.
#ifndef PLAIT_DIALECTS_MODEL_MODEL_H
#define PLAIT_DIALECTS_MODEL_MODEL_H

#include "dialects/model/Compute.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/model/ModelDialect.h.inc"
#include "dialects/model/ModelEnums.h.inc"
#include "dialects/model/ModelInterfaces.h.inc"

namespace plait::model {

/// Attributes of the module that holds a model.
inline constexpr llvm::StringLiteral kNameAttr = "model.name";
inline constexpr llvm::StringLiteral kFamilyAttr = "model.family";
inline constexpr llvm::StringLiteral kVocabSizeAttr = "model.vocab_size";

class YieldOp;

} // namespace plait::model

#define GET_OP_CLASSES
#include "dialects/model/StructureOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/model/ComputeOps.h.inc"
#define GET_OP_CLASSES
#include "dialects/model/GradientOps.h.inc"

#endif
