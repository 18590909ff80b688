// The phases of a compilation in their order. A caller may stop behind any of them and look at the IR (--compile-to), or
// start from such text (--compile-from), edited or not. Text drops locations: instructions of a plan that starts from text
// are named after their op alone (pb::Instr::origin), all else is the same.
#ifndef PLAIT_COMPILER_DRIVER_PHASES_H
#define PLAIT_COMPILER_DRIVER_PHASES_H

#include "compiler/driver/Compile.h"

namespace plait {

enum class CompilePhase { Import, Differentiate, Plan, Partition, Schedule, Lower, Emit };

struct CompilePhaseInfo {
  CompilePhase phase;
  const char *name, *holds; ///< one line: what stands in the module behind the phase
};
const std::vector<CompilePhaseInfo> &compilePhases();
/// Error Usage with the nearest names.
Result<CompilePhase> compilePhaseByName(const std::string &name);

/// The model of a text of phase Differentiate as it stands: nothing is differentiated again, so that edits count.
Result<LoadedModel> loadDifferentiated(mlir::MLIRContext &context, const std::string &path);

/// The problem of a text of phase `from`, Import to Schedule. Up to Differentiate cluster and job are the request's; from
/// Plan on everything stands in the text, the solution too. Errors: those of parser, passes and rules; Usage: a text that
/// lacks what its phase holds.
Result<PreparedProblem> prepareFrom(mlir::MLIRContext &context, const CompileRequest &request, CompilePhase from,
                                    const std::string &path);

/// The plan of a text of phase Lower: verified, with a digest of its own.
Result<pb::Plan> planFromLowered(mlir::MLIRContext &context, const std::string &path);

/// The module of a phase as text, Import to Schedule; `solution` from Plan on.
Result<std::string> textOfPhase(mlir::MLIRContext &context, const PreparedProblem &prepared, const Solution *solution, CompilePhase to);
/// The exec dialect text of a plan: phase Lower.
Result<std::string> textOfPlan(mlir::MLIRContext &context, const pb::Plan &plan);
/// plan.solution as text: what --plan reads.
std::string textOfSolution(mlir::MLIRContext &context, const Solution &solution);

} // namespace plait

#endif
