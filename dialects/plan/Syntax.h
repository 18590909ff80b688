// Parts of the assembly that several ops of the plan dialect share; used by the generated parsers and printers.
#ifndef PLAIT_DIALECTS_PLAN_SYNTAX_H
#define PLAIT_DIALECTS_PLAN_SYNTAX_H

#include "dialects/plan/Plan.h"

namespace plait::plan {

/// `h` or `h cuts [2, 4]`.
mlir::FailureOr<AxisUseAttr> parseAxisUse(mlir::AsmParser &);
void printAxisUse(mlir::AsmPrinter &, AxisUseAttr);

/// A body in braces that is left out when it is empty.
mlir::ParseResult parseOptionalBody(mlir::OpAsmParser &, mlir::Region &);
void printOptionalBody(mlir::OpAsmPrinter &, mlir::Operation *, mlir::Region &);

/// `80 GiB`, `512 MB`, `17`: bytes with an optional unit. Printed with the largest binary unit that divides it.
mlir::ParseResult parseBytes(mlir::OpAsmParser &, mlir::IntegerAttr &);
void printBytes(mlir::OpAsmPrinter &, mlir::Operation *, mlir::IntegerAttr);

/// Fails if the body of `op` holds anything but ops of the given names.
mlir::LogicalResult verifyChildren(mlir::Operation *op, llvm::ArrayRef<llvm::StringRef> allowed);

} // namespace plait::plan

#endif
