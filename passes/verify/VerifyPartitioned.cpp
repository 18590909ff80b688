// The routines of a partitioned module: well formed, and launching exactly the works that the search priced.
#include "passes/translate/Exec.h"
#include "passes/lower/Passes.h"
#include "passes/lower/PlanInputs.h"
#include "passes/lower/Stages.h"
#include "passes/partition/Routines.h"
#include "passes/verify/FaultOps.h"
#include "runtime/plan/verify/Phases.h"
#include <set>

using namespace mlir;

namespace plait {
namespace {

/// Block, phase, variant, and the works of all launches in order of their bytes.
using Launches = std::tuple<std::string, uint32_t, std::string, std::vector<std::string>>;

Launches launchesOf(const pb::Plan &plan, const pb::Routine &routine) {
  std::vector<std::string> works;
  for (const pb::Instr &instr : routine.instrs())
    if (instr.has_launch())
      works.push_back(plan.works(instr.launch().work()).SerializeAsString());
  llvm::sort(works);
  return {routine.block(), routine.phase(), routine.variant(), std::move(works)};
}

/// What the projections of all stages launch.
Result<std::set<Launches>> projectedLaunches(const PlanInputs &inputs) {
  Result<StageTable> table = buildStages(inputs.problem, inputs.solution);
  if (!table)
    return table.error();
  pb::Plan scratch;
  PlanTables tables(scratch);
  std::set<Launches> launches;
  for (const StageInstance &stage : table->stages)
    for (const auto &[kind, coordinates] : stage.projections)
      for (const BlockProjection &projection : coordinates)
        for (const PhaseProjection &phase : projection.phases) {
          std::vector<std::string> works;
          for (const Step &step : phase.steps)
            if (step.kind == Step::Launch)
              works.push_back(scratch.works(tables.work(step.launch.work)).SerializeAsString());
          llvm::sort(works);
          launches.insert({inputs.problem.model->kinds[kind].name, uint32_t(phase.phase), stage.decisions->recompute, std::move(works)});
        }
  return launches;
}

struct VerifyPartitionedPass : PassWrapper<VerifyPartitionedPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyPartitionedPass)
  StringRef getArgument() const final { return "plait-verify-partitioned"; }
  StringRef getDescription() const final { return "Check the routines against the projection"; }
  void runOnOperation() final {
    if (failed(check(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  static LogicalResult check(ModuleOp module) {
    FailureOr<PlanInputs> inputs = readLegalInputs(module);
    if (failed(inputs))
      return failure();
    Result<pb::Plan> plan = planFromExec(module);
    if (!plan)
      return module.emitError(plan.error().message);
    exec::PlanOp op = *module.getOps<exec::PlanOp>().begin();
    Faults faults;
    verifyTables(*plan, faults);
    if (faults.empty())
      verifyRoutines(*plan, faults);
    if (failed(reportFaults(op, faults.take())))
      return failure();
    Result<std::set<Launches>> projected = projectedLaunches(*inputs);
    if (!projected)
      return module.emitError(projected.error().message);
    return compare(op, *plan, std::move(*projected));
  }

  static LogicalResult compare(exec::PlanOp op, const pb::Plan &plan, std::set<Launches> projected) {
    auto routines = llvm::to_vector(op.getBody().getOps<exec::RoutineOp>());
    std::set<Launches> made;
    for (auto [index, routine] : llvm::enumerate(routines)) {
      Launches launches = launchesOf(plan, plan.routines(index));
      if (!projected.count(launches) && !std::get<3>(launches).empty())
        return routine.emitOpError("launches other works than the projection of block '") << routine.getBlock() << "' has";
      made.insert(std::move(launches));
    }
    for (const Launches &launches : projected)
      if (!std::get<3>(launches).empty() && !made.count(launches))
        return op.emitOpError("has no routine with the works of block '")
               << std::get<0>(launches) << "', phase " << exec::stringifyPhase(exec::Phase(std::get<1>(launches))) << ", variant "
               << std::get<2>(launches);
    return llvm::success();
  }
};

} // namespace

std::unique_ptr<Pass> createVerifyPartitionedPass() { return std::make_unique<VerifyPartitionedPass>(); }

} // namespace plait
