// plait-translate: plan files <-> exec dialect text.
#include "passes/translate/Exec.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "runtime/plan/PlanFile.h"

using namespace mlir;

static LogicalResult writePlan(Operation *op, raw_ostream &out) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    return op->emitError("a plan file is made from a module");
  plait::Result<plait::pb::Plan> plan = plait::planFromExec(module);
  if (!plan)
    return op->emitError(plan.error().message);
  out << plait::serializePlan(*plan);
  return success();
}

static OwningOpRef<Operation *> readPlan(StringRef bytes, MLIRContext *context) {
  auto refuse = [&](const std::string &message) -> OwningOpRef<Operation *> {
    emitError(UnknownLoc::get(context)) << message;
    return nullptr;
  };
  plait::Result<plait::pb::Plan> plan = plait::parsePlan(std::string_view(bytes.data(), bytes.size()), "input");
  if (!plan)
    return refuse(plan.error().message);
  plait::Result<OwningOpRef<ModuleOp>> module = plait::execFromPlan(*context, *plan);
  if (!module)
    return refuse(module.error().message);
  return OwningOpRef<Operation *>(module->release());
}

int main(int argc, char **argv) {
  TranslateFromMLIRRegistration toPlan("exec-to-plan", "exec dialect to plan file", writePlan,
                                       [](DialectRegistry &registry) { registry.insert<plait::exec::ExecDialect>(); });
  TranslateToMLIRRegistration toExec("plan-to-exec", "plan file to exec dialect", readPlan);
  return failed(mlirTranslateMain(argc, argv, "Plait translation"));
}
