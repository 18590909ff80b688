// plait-lsp-server: language server for the three dialects.
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tools/plait-opt/Registration.h"
#include "mlir/IR/DialectRegistry.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  plait::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
