// buildPlan(): a Solution as an executable plan. It materialises decisions, and makes none: shapes and collectives are
// the projection's, the order of tasks is the pipeline's, layouts and transfers are those of runtime/plan/layout.
// Plain C++ so that the search can simulate its best candidates; the MLIR passes of partition, schedule and lower show
// the same result as exec dialect.
#ifndef PLAIT_PASSES_LOWER_BUILDPLAN_H
#define PLAIT_PASSES_LOWER_BUILDPLAN_H

#include "cost_model/problem/Problem.h"
#include "runtime/plan/plan.pb.h"

namespace plait {

/// Everything but provenance, model text, cluster text, decisions and estimate, which the driver adds.
/// Precondition: verify(problem, solution) is empty. Errors are those of project() and of the layouts.
Result<pb::Plan> buildPlan(const Problem &problem, const Solution &solution);

} // namespace plait

#endif
