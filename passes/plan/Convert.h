// Text form <-> structs: plan.solution <-> Solution and plan.problem <-> Problem (without the model, which is the
// business of the model dialect). Converting there and back gives the same op and the same struct.
#ifndef PLAIT_PASSES_PLAN_CONVERT_H
#define PLAIT_PASSES_PLAN_CONVERT_H

#include "cost_model/problem/Problem.h"
#include "cost_model/problem/TableCosts.h"
#include "dialects/plan/Plan.h"

namespace plait {

/// The decisions of a verified op.
Result<Solution> solutionFromOp(plan::SolutionOp op);
/// Inserts the op at the insertion point of `builder`.
plan::SolutionOp buildSolutionOp(mlir::OpBuilder &builder, const Solution &solution, llvm::StringRef name = "solution");

/// The problem of a verified op; Problem::model stays null. Fails if the precision is unknown.
Result<Problem> problemFromOp(plan::ProblemOp op);
/// Inserts the op at the insertion point of `builder`. Fails if the cluster cannot be written as text: domains or
/// classes that share a name, a parent that does not come first.
Result<plan::ProblemOp> buildProblemOp(mlir::OpBuilder &builder, const Problem &problem, llvm::StringRef name = "problem");

/// The cost table of a verified op, for `problem`, which has a model and outlives the table. Fails if a row names a block
/// kind that the model lacks.
Result<TableCosts> tableCostsFromOp(plan::CostsOp op, const Problem &problem);

} // namespace plait

#endif
