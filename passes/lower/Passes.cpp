#include "passes/lower/Passes.h"
#include "dialects/exec/Exec.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace plait {

void registerExecDialect(mlir::DialectRegistry &registry) { registry.insert<exec::ExecDialect>(); }

void buildLowerPipeline(mlir::OpPassManager &pm) {
  pm.addPass(createPartitionPass());
  pm.addPass(createVerifyPartitionedPass());
  pm.addPass(createSchedulePass());
  pm.addPass(createLowerPass());
  pm.addPass(createVerifyLoweredPass());
}

void registerLowerPasses() {
  for (auto create : {createPartitionPass, createSchedulePass, createLowerPass, createVerifyPartitionedPass, createVerifyLoweredPass})
    mlir::registerPass(create);
  mlir::PassPipelineRegistration<>("plait-lower-pipeline", "From a plan.solution to a verified exec.plan", buildLowerPipeline);
}

} // namespace plait
