#include "passes/lower/PlanInputs.h"
#include "cost_model/problem/Decisions.h"
#include "passes/translate/Exec.h"
#include "dialects/model/Model.h"
#include "passes/analyze/Analyze.h"
#include "passes/lower/BuildPlan.h"
#include "passes/plan/Convert.h"
#include <google/protobuf/util/message_differencer.h>

using namespace mlir;

namespace plait {

template <typename Op> static FailureOr<Op> onlyOne(ModuleOp module) {
  auto ops = llvm::to_vector(module.getOps<Op>());
  if (ops.size() == 1)
    return ops.front();
  return module.emitError() << "holds " << ops.size() << " " << Op::getOperationName() << "; what works: one";
}

FailureOr<PlanInputs> readPlanInputs(ModuleOp module) {
  FailureOr<plan::ProblemOp> problemOp = onlyOne<plan::ProblemOp>(module);
  FailureOr<plan::SolutionOp> solutionOp = onlyOne<plan::SolutionOp>(module);
  if (failed(problemOp) || failed(solutionOp))
    return failure();
  FailureOr<Model> model = analyzeModule(module);
  if (failed(model))
    return failure();
  Result<Problem> problem = problemFromOp(*problemOp);
  if (!problem)
    return problemOp->emitError(problem.error().message);
  problem->model = std::make_shared<const Model>(std::move(*model));
  Result<Solution> solution = solutionFromOp(*solutionOp);
  if (!solution)
    return solutionOp->emitError(solution.error().message);
  PlanInputs inputs{std::move(*problem), std::move(*solution), importedTextOf(module), ""};
  if (auto cluster = module->getAttrOfType<StringAttr>(kClusterJsonAttr))
    inputs.clusterText = cluster.str();
  return inputs;
}

static LogicalResult reportReasons(Operation *op, const std::vector<Reason> &reasons) {
  for (const Reason &reason : reasons)
    op->emitError(reason.text());
  return failure(!reasons.empty());
}

FailureOr<PlanInputs> readLegalInputs(ModuleOp module) {
  FailureOr<PlanInputs> inputs = readPlanInputs(module);
  if (failed(inputs) || failed(reportReasons(*module.getOps<plan::ProblemOp>().begin(), check(inputs->problem))) ||
      failed(reportReasons(*module.getOps<plan::SolutionOp>().begin(), verify(inputs->problem, inputs->solution))))
    return failure();
  return inputs;
}

std::string importedTextOf(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  (*copy)->removeAttr(kClusterJsonAttr);
  for (Operation &op : llvm::make_early_inc_range(copy->getBody()->getOperations())) {
    auto def = dyn_cast<model::BlockDefOp>(op);
    if ((def && !def.isSource()) || !isa<model::ModelDialect>(op.getDialect()))
      op.erase();
  }
  std::string text;
  llvm::raw_string_ostream(text) << **copy;
  return text;
}

Result<pb::Plan> makePlanPart(const PlanInputs &inputs, PlanPart part) {
  Result<pb::Plan> whole = buildPlan(inputs.problem, inputs.solution);
  if (!whole)
    return whole;
  if (part == PlanPart::Whole) {
    *whole->mutable_decisions() = decisionsFromSolution(inputs.solution);
    whole->set_model_ir(inputs.modelText);
    whole->set_cluster_json(inputs.clusterText);
    return whole;
  }
  whole->clear_programs();
  whole->clear_roles();
  whole->clear_ranks();
  if (part == PlanPart::Partitioned) {
    whole->clear_families();
    whole->clear_channels();
    whole->clear_syncs();
    whole->clear_schedules();
  }
  return whole;
}

/// The exec.plan of the phase before, if it is what the solution gives.
static FailureOr<exec::PlanOp> takePlan(ModuleOp module, const PlanInputs &inputs, PlanPart before) {
  FailureOr<exec::PlanOp> op = onlyOne<exec::PlanOp>(module);
  if (failed(op))
    return failure();
  Result<pb::Plan> held = planFromExec(module), given = makePlanPart(inputs, before);
  if (!held || !given)
    return op->emitError((held ? given : held).error().message);
  held->clear_digest(); // made anew from what was read
  google::protobuf::util::MessageDifferencer differencer;
  for (pb::Plan *plan : {&*held, &*given}) // origins are locations, which text need not keep
    for (pb::Routine &routine : *plan->mutable_routines())
      for (pb::Instr &instr : *routine.mutable_instrs())
        instr.clear_origin();
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(*given, *held))
    return op;
  return op->emitError("is not what plan.solution gives: ")
         << llvm::StringRef(differences).split('\n').first << "; what works: to change the solution and lower it again";
}

LogicalResult advancePlan(ModuleOp module, std::optional<PlanPart> before, PlanPart part) {
  FailureOr<PlanInputs> inputs = readLegalInputs(module);
  if (failed(inputs))
    return failure();
  if (before) {
    FailureOr<exec::PlanOp> old = takePlan(module, *inputs, *before);
    if (failed(old))
      return failure();
    old->erase();
  } else if (!module.getOps<exec::PlanOp>().empty()) {
    return module.emitError("holds an exec.plan already");
  }
  Result<pb::Plan> plan = makePlanPart(*inputs, part);
  if (!plan)
    return module.emitError(plan.error().message);
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  buildExecOp(builder, *plan);
  return llvm::success();
}

} // namespace plait
