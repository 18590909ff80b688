#include "compiler/search/Layouts.h"
#include "compiler/search/Solvers.h"

namespace plait {

namespace {

/// Next ascending list of cuts inside (0, uses), in lexicographic order; false after the last.
bool nextCuts(std::vector<Id> &cuts, uint32_t uses) {
  for (size_t i = cuts.size(); i-- > 0;) {
    if (cuts[i] + (cuts.size() - i) >= uses)
      continue;
    ++cuts[i];
    for (size_t j = i + 1; j < cuts.size(); ++j)
      cuts[j] = cuts[j - 1] + 1;
    return true;
  }
  return false;
}

class ExhaustiveSolver final : public Solver {
public:
  std::string name() const override { return "exhaustive"; }

  SearchResult solve(const Problem &problem, const CostSource &costs, const SearchOptions &options) const override {
    SearchResult result;
    std::vector<Layout> layouts = layoutsOf(problem, result.pruned);
    result.candidates = layouts.size();
    Leaders leaders{options.keep, {}};
    uint64_t leastMiss = ~uint64_t(0);
    for (const Layout &layout : layouts) {
      std::optional<Candidate> best;
      bool fits = false;
      std::vector<Id> cuts;
      for (uint32_t s = 1; s < layout.pp; ++s)
        cuts.push_back(s);
      if (!problem.space.unevenLayers)
        cuts = evenCuts(problem, layout);
      do {
        Solution solution = solutionOf(problem, layout, cuts);
        if (!verify(problem, solution).empty())
          continue;
        Cost cost = evaluate(problem, solution, costs);
        ++result.evaluated;
        std::vector<Reason> reasons = checkMemory(problem, solution, cost);
        uint64_t peak = *std::max_element(cost.peakBytes.begin(), cost.peakBytes.end());
        if (!reasons.empty() && peak < leastMiss) {
          leastMiss = peak;
          result.closest = reasons;
        }
        fits |= reasons.empty();
        if (reasons.empty() && (!best || cost.seconds < best->cost.seconds))
          best = Candidate{std::move(solution), std::move(cost), 0};
      } while (problem.space.unevenLayers && nextCuts(cuts, problem.model->chain.size()));
      if (!fits)
        ++result.pruned["F-30"];
      if (best) {
        best->bound = best->cost.seconds;
        leaders.offer(std::move(*best));
      }
    }
    result.best = std::move(leaders.best);
    result.bound = result.best.empty() ? 0 : result.best.front().cost.seconds;
    result.proven = true;
    return result;
  }
};

} // namespace

std::unique_ptr<Solver> makeExhaustiveSolver() { return std::make_unique<ExhaustiveSolver>(); }

} // namespace plait
