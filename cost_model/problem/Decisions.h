// Solution <-> pb::Decisions, field for field. No MLIR: tools and reports use it too.
#ifndef PLAIT_COST_MODEL_PROBLEM_DECISIONS_H
#define PLAIT_COST_MODEL_PROBLEM_DECISIONS_H

#include "cost_model/problem/Solution.h"
#include "runtime/plan/plan.pb.h"

namespace plait {

pb::Decisions decisionsFromSolution(const Solution &solution);
Solution solutionFromDecisions(const pb::Decisions &decisions);

} // namespace plait

#endif
