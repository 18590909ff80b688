// Diagnostics of MLIR as an Error.
#ifndef PLAIT_COMPILER_DRIVER_DIAGNOSTICTEXT_H
#define PLAIT_COMPILER_DRIVER_DIAGNOSTICTEXT_H

#include "mlir/IR/Diagnostics.h"
#include "runtime/plan/Result.h"

namespace plait {

/// Collects what is diagnosed while it lives.
class DiagnosticText {
public:
  explicit DiagnosticText(mlir::MLIRContext *context) : handler(context, [this](mlir::Diagnostic &diagnostic) {
    llvm::raw_string_ostream os(text);
    if (!text.empty())
      os << "\n";
    os << diagnostic.getLocation() << ": " << diagnostic.str();
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      os << "\n  note: " << note.getLocation() << ": " << note.str();
    return mlir::success();
  }) {}
  Error error(ExitCode code = ExitCode::Usage) const { return {code, text}; }

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace plait

#endif
