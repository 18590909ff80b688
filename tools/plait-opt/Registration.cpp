#include "tools/plait-opt/Registration.h"
#include "dialects/exec/Exec.h"
#include "dialects/model/Model.h"
#include "dialects/plan/Plan.h"
#include "passes/differentiate/Passes.h"
#include "passes/lower/Passes.h"
#include "passes/plan/Passes.h"

namespace plait {

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<model::ModelDialect, plan::PlanDialect, exec::ExecDialect>();
}

void registerPasses() {
  registerModelPasses();
  registerPlanPasses();
  registerLowerPasses();
}

} // namespace plait
