#include "compiler/driver/Compile.h"
#include "cost_model/problem/Decisions.h"
#include "passes/translate/Exec.h"
#include "cost_model/facts/ClusterFile.h"
#include "cost_model/problem/ModelCosts.h"
#include "passes/lower/BuildPlan.h"
#include "passes/plan/Convert.h"
#include "runtime/plan/FileIo.h"
#include "runtime/plan/Sha256.h"
#include "runtime/plan/verify/Verify.h"
#include "mlir/Parser/Parser.h"

namespace plait {

Error infeasible(const std::string &head, const std::vector<Reason> &reasons) {
  std::string text = head;
  for (const Reason &reason : reasons)
    text += "\n  " + reason.text();
  return {ExitCode::Infeasible, text};
}

Result<PreparedProblem> prepareProblem(mlir::MLIRContext &context, const CompileRequest &request) {
  Result<LoadedModel> model = loadModel(context, request.modelPath, request.checkpointFolder);
  if (!model)
    return model.error();
  return prepareProblem(std::move(*model), request);
}

Result<PreparedProblem> prepareProblem(LoadedModel model, const CompileRequest &request) {
  Result<std::string> text = readFile(request.clusterPath, 16 << 20);
  if (!text)
    return text.error();
  Result<Cluster> cluster = readCluster(*text, request.clusterPath, Facts::builtin());
  if (!cluster)
    return cluster.error();
  PreparedProblem prepared{std::move(model), std::move(*text), {}, {}};
  prepared.problem = {prepared.model.model, std::move(*cluster), request.job, request.space, request.target};
  if (std::vector<Reason> reasons = check(prepared.problem); !reasons.empty()) {
    Error error = infeasible("the request cannot be planned", reasons);
    if (reasons.front().rule == "F-05") // a name that does not exist, not a wish that cannot be met
      error.code = ExitCode::Usage;
    return error;
  }
  return prepared;
}

Result<Solution> readSolution(mlir::MLIRContext &context, const std::string &path) {
  Result<mlir::OwningOpRef<mlir::ModuleOp>> module = importModel(context, path);
  if (!module)
    return module.error();
  auto solutions = llvm::to_vector((*module)->getOps<plan::SolutionOp>());
  if (solutions.size() != 1)
    return usageError(path + ": holds " + std::to_string(solutions.size()) + " plan.solution; what works: one");
  return solutionFromOp(solutions.front());
}

namespace {

std::string spaceText(const Space &space) {
  std::string text;
  auto list = [&](const char *name, const auto &values, auto show) {
    text += text.empty() ? "" : ", ";
    text += name;
    text += values.empty() ? " any" : " ";
    for (size_t i = 0; i < values.size(); ++i)
      text.append(i ? "|" : "").append(show(values[i]));
  };
  auto digits = [](uint32_t value) { return std::to_string(value); };
  auto same = [](const std::string &value) { return value; };
  auto yesNo = [](bool value) { return std::string(value ? "yes" : "no"); };
  list("tp", space.tp, digits);
  list("pp", space.pp, digits);
  list("dp", space.dp, digits);
  list("micro_batch", space.microBatch, digits);
  list("sequence_parallel", space.sequenceParallel, yesNo);
  list("recompute", space.recompute, same);
  list("sharding", space.sharding, same);
  list("schedule", space.schedules, same);
  text += space.unevenLayers ? ", uneven layers" : ", even layers";
  text += space.idleDevices ? ", devices may idle" : ", all devices";
  return text;
}

/// Lowers and simulates one solution.
struct Lowered {
  pb::Plan plan;
  SimulationResult simulation;
};

Result<Lowered> lowerAndSimulate(const PreparedProblem &prepared, const Solution &solution) {
  Result<pb::Plan> plan = buildPlan(prepared.problem, solution);
  if (!plan)
    return plan.error();
  *plan->mutable_decisions() = decisionsFromSolution(solution);
  plan->set_model_ir(prepared.model.importedText);
  plan->set_cluster_json(prepared.clusterText);
  Result<SimulationResult> simulation = simulate(*plan, prepared.problem.cluster);
  if (!simulation)
    return simulation.error();
  return Lowered{std::move(*plan), std::move(*simulation)};
}

void describe(pb::Plan &plan, const PreparedProblem &prepared, const CompileRequest &request, const SearchResult *search) {
  pb::Provenance *provenance = plan.mutable_provenance();
  provenance->set_tool("plait 0.1.0");
  provenance->add_input_digests(toHex(sha256(prepared.model.importedText)));
  provenance->add_input_digests(toHex(sha256(prepared.clusterText)));
  provenance->set_space(spaceText(request.space));
  provenance->set_solver(search ? request.solver : "given");
  provenance->set_objective("step time");
}

/// The exec dialect is what is written: the plan goes through its verifiers, and the file holds what the text shows.
Status throughExec(mlir::MLIRContext &context, pb::Plan &plan) {
  Result<mlir::OwningOpRef<mlir::ModuleOp>> module = execFromPlan(context, plan);
  if (!module)
    return Error{ExitCode::Internal, "the lowered plan is not well formed: " + module.error().message};
  Result<pb::Plan> back = planFromExec(**module);
  if (!back)
    return back.error();
  plan = std::move(*back);
  return verify(plan);
}

/// Why the runner-up is not the plan.
std::string losesBy(const Candidate &candidate, const Candidate &best) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f%% slower", 100 * (candidate.cost.seconds / best.cost.seconds - 1));
  return text;
}

uint64_t peakBytes(const Cost &cost) {
  return cost.peakBytes.empty() ? 0 : *std::max_element(cost.peakBytes.begin(), cost.peakBytes.end());
}

} // namespace

Result<CompiledPlan> priceSolution(mlir::MLIRContext &context, const PreparedProblem &prepared, const CompileRequest &request,
                                   const Solution &solution) {
  if (std::vector<Reason> reasons = verify(prepared.problem, solution); !reasons.empty())
    return infeasible("the layout is not legal", reasons);
  Result<std::unique_ptr<ModelCosts>> costs = ModelCosts::create(prepared.problem);
  if (!costs)
    return costs.error();
  Result<Lowered> lowered = lowerAndSimulate(prepared, solution);
  if (!lowered)
    return lowered.error();
  CompiledPlan compiled{std::move(lowered->plan), solution, evaluate(prepared.problem, solution, **costs), std::move(lowered->simulation), {}, true, {}};
  compiled.misfits = checkMemory(prepared.problem, solution, compiled.cost);
  compiled.fits = compiled.misfits.empty();
  describe(compiled.plan, prepared, request, nullptr);
  compiled.plan.mutable_estimate()->set_evaluate_s(compiled.cost.seconds);
  compiled.plan.mutable_estimate()->set_simulated_s(compiled.simulation.seconds);
  if (Status s = throughExec(context, compiled.plan); !s)
    return s.error();
  return compiled;
}

Result<CompiledPlan> compilePlan(mlir::MLIRContext &context, const PreparedProblem &prepared, const CompileRequest &request) {
  if (!request.planPath.empty() || prepared.given) {
    Result<Solution> solution = request.planPath.empty() ? Result<Solution>(*prepared.given) : readSolution(context, request.planPath);
    if (!solution)
      return solution.error();
    Result<CompiledPlan> compiled = priceSolution(context, prepared, request, *solution);
    if (compiled && !compiled->fits)
      return infeasible("the plan does not fit", compiled->misfits);
    return compiled;
  }
  Result<std::unique_ptr<Solver>> solver = makeSolver(request.solver);
  if (!solver)
    return solver.error();
  Result<std::unique_ptr<ModelCosts>> costs = ModelCosts::create(prepared.problem);
  if (!costs)
    return costs.error();
  SearchOptions options = request.search;
  options.keep = std::max(options.keep, request.simulate);
  SearchResult search = (*solver)->solve(prepared.problem, **costs, options);
  if (search.candidates == 0 && search.pruned.empty())
    return Error{ExitCode::Infeasible, "no plan: no tp x pp x dp of the space uses all " + std::to_string(prepared.problem.cluster.deviceCount()) +
                                           " devices; what works: degrees whose product divides that, or --allow-idle [F-20]"};
  if (search.best.empty()) {
    std::string head = "no plan: " + std::to_string(search.candidates) + " layouts, ruled out by";
    for (const auto &[rule, count] : search.pruned)
      head += " " + rule + " x" + std::to_string(count);
    return infeasible(head + "; the one that misses by least", search.closest);
  }
  CompiledPlan compiled;
  pb::Estimate estimate;
  for (size_t i = 0; i < search.best.size() && i < std::max(request.simulate, 1u); ++i) {
    const Candidate &candidate = search.best[i];
    Result<Lowered> lowered = lowerAndSimulate(prepared, candidate.solution);
    if (!lowered)
      return lowered.error();
    estimate.set_simulated(i + 1);
    if (i > 0) {
      pb::RunnerUp *runnerUp = estimate.add_runners_up();
      *runnerUp->mutable_decisions() = decisionsFromSolution(candidate.solution);
      runnerUp->set_evaluate_s(candidate.cost.seconds);
      runnerUp->set_simulated_s(lowered->simulation.seconds);
      runnerUp->set_peak_bytes(peakBytes(candidate.cost));
      runnerUp->set_loses(losesBy(candidate, search.best.front()));
      continue;
    }
    compiled.plan = std::move(lowered->plan);
    compiled.simulation = std::move(lowered->simulation);
    compiled.solution = candidate.solution;
    compiled.cost = candidate.cost;
    estimate.set_evaluate_s(candidate.cost.seconds);
    estimate.set_simulated_s(compiled.simulation.seconds);
  }
  estimate.set_bound_s(search.bound);
  estimate.set_candidates(search.candidates);
  for (const auto &[rule, count] : search.pruned) {
    pb::Pruned *pruned = estimate.add_pruned();
    pruned->set_rule(rule);
    pruned->set_count(count);
  }
  *compiled.plan.mutable_estimate() = std::move(estimate);
  describe(compiled.plan, prepared, request, &search);
  if (Status s = throughExec(context, compiled.plan); !s)
    return s.error();
  compiled.search = std::move(search);
  return compiled;
}

} // namespace plait
