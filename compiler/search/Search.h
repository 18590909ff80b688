// The search: from a Problem to a Solution. Solvers share one interface, know nothing of MLIR, and see costs only through
// a CostSource. Whatever a solver returns has passed verify() and checkMemory().
//
// A result says: optimal for evaluate() within the printed space (or the gap to a lower bound that no plan of the space
// can beat), and how many candidates were dropped for which reason. Budgets count evaluations, never seconds, and all
// orders are fixed, so that the same inputs give the same answer for any number of threads.
#ifndef PLAIT_COMPILER_SEARCH_SEARCH_H
#define PLAIT_COMPILER_SEARCH_SEARCH_H

#include "cost_model/problem/Problem.h"
#include <functional>
#include <map>
#include <memory>

namespace plait {

struct SearchProgress {
  double best = 0, bound = 0; ///< seconds; best is infinite before the first plan
  uint64_t done = 0, total = 0, evaluated = 0;
};

struct SearchOptions {
  uint64_t budget = 500;  ///< evaluations
  unsigned threads = 1;
  unsigned keep = 5;        ///< best layouts kept, the first being the answer
  std::function<void(const SearchProgress &)> progress;   ///< called from the calling thread
  std::function<bool()> interrupted;                      ///< polled; true ends the search with the best so far
};

/// A layout with the best cuts that were found for it.
struct Candidate {
  Solution solution;
  Cost cost;
  double bound = 0; ///< seconds; no plan of this layout is faster
};

struct SearchResult {
  std::vector<Candidate> best;              ///< fastest first; empty if nothing fits
  double bound = 0;                         ///< seconds; no plan of the space is faster
  bool proven = false;                      ///< best.front() is optimal for evaluate()
  uint64_t candidates = 0, evaluated = 0;   ///< layouts in the space; calls of evaluate()
  std::map<std::string, uint64_t> pruned;   ///< layouts by the rule that forbids them, or "bound"
  std::vector<Reason> closest;              ///< when nothing fits: what forbids the layout that misses by least
  double gap() const { return best.empty() || best.front().cost.seconds <= 0 ? 0 : 1 - bound / best.front().cost.seconds; }
};

class Solver {
public:
  virtual ~Solver() = default;
  virtual std::string name() const = 0;
  /// Precondition: check(problem) is empty.
  virtual SearchResult solve(const Problem &problem, const CostSource &costs, const SearchOptions &options) const = 0;
};

/// "exhaustive" (evaluates every plan: the oracle of small cases) or "exact". Error Usage: unknown name.
Result<std::unique_ptr<Solver>> makeSolver(const std::string &name);

} // namespace plait

#endif
