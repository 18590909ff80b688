// plait-opt: reads IR of the three dialects, runs passes, prints the result. For tests and for looking inside.
#include "tools/plait-opt/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  plait::registerDialects(registry);
  plait::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Plait optimizer\n", registry));
}
