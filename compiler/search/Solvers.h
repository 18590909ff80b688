// What the solvers share.
#ifndef PLAIT_COMPILER_SEARCH_SOLVERS_H
#define PLAIT_COMPILER_SEARCH_SOLVERS_H

#include "compiler/search/Search.h"
#include <algorithm>
#include <limits>

namespace plait {

std::unique_ptr<Solver> makeExactSolver();
std::unique_ptr<Solver> makeExhaustiveSolver();

/// The `keep` fastest candidates, earliest first among equals.
struct Leaders {
  unsigned keep = 1;
  std::vector<Candidate> best;
  /// True if the candidate became the fastest.
  bool offer(Candidate candidate);
  double seconds() const { return best.empty() ? std::numeric_limits<double>::infinity() : best.front().cost.seconds; }
};

} // namespace plait

#endif
