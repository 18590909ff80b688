#include "compiler/driver/Phases.h"
#include "passes/translate/Exec.h"
#include "compiler/driver/DiagnosticText.h"
#include "cost_model/facts/ClusterFile.h"
#include "cost_model/problem/Names.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/analyze/Analyze.h"
#include "passes/differentiate/Passes.h"
#include "passes/lower/Passes.h"
#include "passes/lower/PlanInputs.h"
#include "passes/plan/Convert.h"
#include "runtime/plan/verify/Verify.h"

using namespace mlir;

namespace plait {

const std::vector<CompilePhaseInfo> &compilePhases() {
  static const std::vector<CompilePhaseInfo> phases = {
      {CompilePhase::Import, "import", "the model: block definitions and their uses"},
      {CompilePhase::Differentiate, "differentiate", "also every phase and recompute variant of each block"},
      {CompilePhase::Plan, "plan", "also plan.problem and the chosen plan.solution"},
      {CompilePhase::Partition, "partition", "also an exec.plan with the routines"},
      {CompilePhase::Schedule, "schedule", "also the task lists"},
      {CompilePhase::Lower, "lower", "the whole exec.plan and nothing else"},
      {CompilePhase::Emit, "emit", "the plan file"}};
  return phases;
}

Result<CompilePhase> compilePhaseByName(const std::string &name) {
  std::vector<std::string> known;
  for (const CompilePhaseInfo &info : compilePhases()) {
    if (name == info.name)
      return info.phase;
    known.push_back(info.name);
  }
  return usageError("phase '" + name + "' is not known; nearest: " + joined(nearestNames(name, known)));
}

template <typename Op> static std::string textOf(Op op) {
  std::string text;
  llvm::raw_string_ostream(text) << op;
  return text;
}

// ---- From text ----

static Result<LoadedModel> loadDifferentiated(OwningOpRef<ModuleOp> module) {
  DiagnosticText diagnostics(module->getContext());
  if (failed(verifyDifferentiated(*module)))
    return diagnostics.error();
  FailureOr<Model> model = analyzeModule(*module);
  if (failed(model))
    return diagnostics.error();
  LoadedModel loaded;
  loaded.importedText = importedTextOf(*module);
  loaded.model = std::make_shared<const Model>(std::move(*model));
  loaded.module = std::move(module);
  return loaded;
}

Result<LoadedModel> loadDifferentiated(MLIRContext &context, const std::string &path) {
  Result<OwningOpRef<ModuleOp>> module = importModel(context, path);
  return module ? loadDifferentiated(std::move(*module)) : Result<LoadedModel>(module.error());
}

/// Runs the passes behind `from`, on a copy: they refuse exec ops that are not what the solution gives.
static Status checkRest(ModuleOp module, CompilePhase from) {
  if (from == CompilePhase::Plan)
    return success();
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager passes(module.getContext());
  if (from == CompilePhase::Partition) {
    passes.addPass(createVerifyPartitionedPass());
    passes.addPass(createSchedulePass());
  }
  passes.addPass(createLowerPass());
  DiagnosticText diagnostics(module.getContext());
  return succeeded(passes.run(*copy)) ? success() : Status(diagnostics.error());
}

/// The cluster file's text in the module; it must say what plan.cluster says.
static Result<std::string> clusterTextOf(ModuleOp module, PlanInputs &inputs, const std::string &path) {
  if (inputs.clusterText.empty())
    return usageError(path + ": the module has no " + kClusterJsonAttr + ", the text of the cluster file; --compile-to=plan writes it");
  Result<Cluster> cluster = readCluster(inputs.clusterText, path + ": " + kClusterJsonAttr, Facts::builtin());
  if (!cluster)
    return cluster.error();
  OpBuilder builder(module.getContext());
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(scratch->getBody());
  Result<plan::ProblemOp> given = buildProblemOp(builder, inputs.problem);
  inputs.problem.cluster = std::move(*cluster);
  Result<plan::ProblemOp> made = buildProblemOp(builder, inputs.problem);
  if (!given || !made)
    return (given ? made : given).error();
  if (textOf(*given) != textOf(*made))
    return usageError(path + ": plan.cluster and " + kClusterJsonAttr + " say different things; what works: to change both");
  return inputs.clusterText;
}

static Result<PreparedProblem> prepareFromPlan(OwningOpRef<ModuleOp> module, CompilePhase from, const std::string &path) {
  DiagnosticText diagnostics(module->getContext());
  FailureOr<PlanInputs> inputs = readPlanInputs(*module);
  if (failed(inputs))
    return diagnostics.error();
  if (std::vector<Reason> reasons = check(inputs->problem); !reasons.empty())
    return infeasible("the request cannot be planned", reasons);
  if (std::vector<Reason> reasons = verify(inputs->problem, inputs->solution); !reasons.empty())
    return infeasible("the layout is not legal", reasons);
  if (Status s = checkRest(*module, from); !s)
    return s.error();
  Result<std::string> clusterText = clusterTextOf(*module, *inputs, path);
  if (!clusterText)
    return clusterText.error();
  PreparedProblem prepared;
  prepared.clusterText = std::move(*clusterText);
  prepared.model.importedText = std::move(inputs->modelText);
  prepared.model.model = inputs->problem.model;
  prepared.problem = std::move(inputs->problem);
  prepared.given = std::move(inputs->solution);
  for (Operation &op : llvm::make_early_inc_range(module->getBody()->getOperations()))
    if (isa<plan::PlanDialect, exec::ExecDialect>(op.getDialect()))
      op.erase();
  (*module)->removeAttr(kClusterJsonAttr);
  prepared.model.module = std::move(module);
  return prepared;
}

Result<PreparedProblem> prepareFrom(MLIRContext &context, const CompileRequest &request, CompilePhase from, const std::string &path) {
  Result<OwningOpRef<ModuleOp>> module = importModel(context, path);
  if (!module)
    return module.error();
  if (from >= CompilePhase::Plan)
    return prepareFromPlan(std::move(*module), from, path);
  Result<LoadedModel> model = from == CompilePhase::Import ? prepareModel(std::move(*module)) : loadDifferentiated(std::move(*module));
  if (!model)
    return model.error();
  return prepareProblem(std::move(*model), request);
}

Result<pb::Plan> planFromLowered(MLIRContext &context, const std::string &path) {
  Result<OwningOpRef<ModuleOp>> module = importModel(context, path);
  if (!module)
    return module.error();
  Result<pb::Plan> plan = planFromExec(**module);
  if (!plan)
    return usageError(path + ": " + plan.error().message);
  if (Status s = verify(*plan); !s)
    return s.error();
  return plan;
}

// ---- To text ----

Result<std::string> textOfPhase(MLIRContext &context, const PreparedProblem &prepared, const Solution *solution, CompilePhase to) {
  if (to == CompilePhase::Import)
    return prepared.model.importedText;
  OwningOpRef<ModuleOp> module = mlir::cast<ModuleOp>((*prepared.model.module)->clone());
  if (to == CompilePhase::Differentiate)
    return textOf(*module) + "\n";
  (*module)->setAttr(kClusterJsonAttr, StringAttr::get(&context, prepared.clusterText));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  Result<plan::ProblemOp> problem = buildProblemOp(builder, prepared.problem);
  if (!problem)
    return problem.error();
  buildSolutionOp(builder, *solution);
  DiagnosticText diagnostics(&context);
  PassManager passes(&context);
  if (to >= CompilePhase::Partition) {
    passes.addPass(createPartitionPass());
    passes.addPass(createVerifyPartitionedPass());
  }
  if (to >= CompilePhase::Schedule)
    passes.addPass(createSchedulePass());
  if (failed(passes.run(*module)))
    return diagnostics.error(ExitCode::Internal);
  return textOf(*module) + "\n";
}

Result<std::string> textOfPlan(MLIRContext &context, const pb::Plan &plan) {
  Result<OwningOpRef<ModuleOp>> module = execFromPlan(context, plan);
  if (!module)
    return module.error();
  return textOf(**module) + "\n";
}

std::string textOfSolution(MLIRContext &context, const Solution &solution) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  return textOf(buildSolutionOp(builder, solution)) + "\n";
}

} // namespace plait
