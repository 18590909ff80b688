#include "compiler/search/Solvers.h"

namespace plait {

Result<std::unique_ptr<Solver>> makeSolver(const std::string &name) {
  if (name == "exact")
    return makeExactSolver();
  if (name == "exhaustive")
    return makeExhaustiveSolver();
  return usageError("solver '" + name + "' is not known; what works: exact, exhaustive");
}

bool Leaders::offer(Candidate candidate) {
  auto better = [](const Candidate &a, const Candidate &b) { return a.cost.seconds < b.cost.seconds; };
  auto at = std::upper_bound(best.begin(), best.end(), candidate, better);
  if (at == best.end() && best.size() >= keep)
    return false;
  bool first = at == best.begin();
  best.insert(at, std::move(candidate));
  if (best.size() > keep)
    best.pop_back();
  return first;
}

} // namespace plait
