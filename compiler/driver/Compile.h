// The driver: from files and flags to a plan. Phases.h names the phases; here they run through.
#ifndef PLAIT_COMPILER_DRIVER_COMPILE_H
#define PLAIT_COMPILER_DRIVER_COMPILE_H

#include "compiler/driver/LoadModel.h"
#include "compiler/search/Search.h"
#include "cost_model/simulate/Simulate.h"
#include "runtime/plan/plan.pb.h"
#include <optional>

namespace plait {

struct CompileRequest {
  std::string modelPath, clusterPath;
  std::string checkpointFolder;   ///< compare the model with the safetensors there; empty: do not
  std::string planPath;           ///< text form of a solution (plan dialect); empty: search
  JobSpec job;
  Space space;
  std::string target = "plait", solver = "exact";
  SearchOptions search;
  unsigned simulate = 3;          ///< best candidates that are lowered and simulated
};

/// A problem with everything that it was made of.
struct PreparedProblem {
  LoadedModel model;
  std::string clusterText;
  Problem problem;
  std::optional<Solution> given; ///< read with the problem (see Phases.h); then nothing is searched
};

/// Error Infeasible: the head, and a line for each reason.
Error infeasible(const std::string &head, const std::vector<Reason> &reasons);

/// Reads model and cluster and checks the problem. Errors: those of the readers; Infeasible with all reasons of check().
Result<PreparedProblem> prepareProblem(mlir::MLIRContext &context, const CompileRequest &request);
/// The same with a model that is loaded already.
Result<PreparedProblem> prepareProblem(LoadedModel model, const CompileRequest &request);

struct CompiledPlan {
  pb::Plan plan;
  Solution solution;
  Cost cost;
  SimulationResult simulation;
  std::optional<SearchResult> search; ///< nothing where the solution was given
  bool fits = true;
  std::vector<Reason> misfits;        ///< memory reasons if it does not fit (estimate only)
};

/// Searches (or takes the given solution), lowers, verifies and simulates. Error Infeasible: no plan, with the reasons and
/// what would fit.
Result<CompiledPlan> compilePlan(mlir::MLIRContext &context, const PreparedProblem &prepared, const CompileRequest &request);

/// Prices one solution without a search; one that does not fit is priced all the same.
Result<CompiledPlan> priceSolution(mlir::MLIRContext &context, const PreparedProblem &prepared, const CompileRequest &request,
                                   const Solution &solution);

/// The solution in a text file of the plan dialect (one plan.solution).
Result<Solution> readSolution(mlir::MLIRContext &context, const std::string &path);

} // namespace plait

#endif
