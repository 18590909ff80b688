// exact: branch and bound over layouts and cuts.
//
// 1. Layouts in the order of their quick bound. For each, the bottleneck table gives the least bound of any partition
//    and a partition that reaches it; that partition is evaluated.
// 2. Every partition whose bound is below the incumbent is enumerated, pruned by the table on both sides, and evaluated,
//    until the budget ends. What remains is the proof: all plans left have a bound at or above the incumbent.
// Layouts are worked on in waves of fixed size; the incumbent changes between waves only, so the answer does not depend
// on the number of threads.
#include "compiler/search/Bounds.h"
#include "compiler/search/Solvers.h"
#include <atomic>
#include <thread>

namespace plait {

namespace {

constexpr size_t kWave = 16;
constexpr size_t kSeeds = 256; ///< layouts tried with even cuts for a first incumbent
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What one layout contributes; filled by one thread.
struct Work {
  Layout layout;
  double quick = 0, bound = 0;   ///< lower bounds, seconds
  bool fits = false, closed = false; ///< closed: no partition of this layout can beat the incumbent it was searched with
  uint64_t evaluated = 0;
  std::optional<Candidate> found;
  uint64_t miss = 0;
  std::vector<Reason> reasons;
};

/// Searches the partitions of one layout.
class PartitionSearch {
public:
  PartitionSearch(const Problem &problem, const CostSource &costs, Work &work, double incumbent, uint64_t budget)
      : problem(problem), costs(costs), work(work), incumbent(incumbent), budget(budget), layoutCosts(problem, work.layout, costs) {}

  void run() {
    if (!problem.space.unevenLayers)
      return runEven();
    // Sums of one plan in two orders differ in the last bits: a bound that equals the incumbent must not be cut.
    layoutCosts.setCap(incumbent * (1 + 1e-9));
    BottleneckTable table(layoutCosts);
    work.fits = incumbent < kInfinity || table.best() < kInfinity;
    work.bound = table.best();
    if (!work.fits)
      return explainMiss(evenCuts(problem, work.layout));
    if (work.bound > incumbent * (1 + 1e-9)) { // too slow or too large: which of the two is not asked
      work.closed = true;
      return;
    }
    attempt(table.bestCuts(layoutCosts));
    std::vector<Id> cuts;
    work.closed = descend(table, 0, 0, 0, cuts);
  }

private:
  void runEven() {
    std::vector<Id> cuts = evenCuts(problem, work.layout);
    work.bound = 0;
    for (uint32_t s = 0; s < work.layout.pp; ++s) {
      Id first = s == 0 ? 0 : cuts[s - 1], end = s + 1 == work.layout.pp ? layoutCosts.uses() : cuts[s];
      work.bound = std::max(work.bound, layoutCosts.stageBound(first, end, s));
    }
    work.fits = work.bound < kInfinity;
    work.closed = true;
    if (!work.fits)
      explainMiss(cuts);
    else if (work.bound <= incumbent * (1 + 1e-9))
      attempt(cuts);
  }

  void explainMiss(const std::vector<Id> &cuts) {
    Solution solution = solutionOf(problem, work.layout, cuts);
    Cost cost = evaluate(problem, solution, costs);
    ++work.evaluated;
    work.reasons = checkMemory(problem, solution, cost);
    work.miss = *std::max_element(cost.peakBytes.begin(), cost.peakBytes.end());
    work.closed = true;
  }

  void attempt(const std::vector<Id> &cuts) {
    Solution solution = solutionOf(problem, work.layout, cuts);
    if (!verify(problem, solution).empty())
      return;
    Cost cost = evaluate(problem, solution, costs);
    ++work.evaluated;
    if (!checkMemory(problem, solution, cost).empty())
      return;
    if (!work.found || cost.seconds < work.found->cost.seconds) {
      incumbent = std::min(incumbent, cost.seconds);
      work.found = Candidate{std::move(solution), std::move(cost), work.bound};
    }
  }

  /// False if the budget ended first.
  bool descend(const BottleneckTable &table, uint32_t stage, Id first, double sofar, std::vector<Id> &cuts) {
    if (stage == work.layout.pp) {
      if (work.evaluated >= budget)
        return false;
      attempt({cuts.begin(), cuts.end() - 1});
      return true;
    }
    for (Id end = first + 1; end <= layoutCosts.uses(); ++end) {
      double rest = table.rest(stage + 1, end);
      if (rest >= incumbent)
        continue;
      double bound = std::max(sofar, layoutCosts.stageBound(first, end, stage));
      if (std::max(bound, rest) >= incumbent)
        continue;
      cuts.push_back(end);
      bool done = descend(table, stage + 1, end, bound, cuts);
      cuts.pop_back();
      if (!done)
        return false;
    }
    return true;
  }

  const Problem &problem;
  const CostSource &costs;
  Work &work;
  double incumbent;
  uint64_t budget;
  LayoutCosts layoutCosts;
};

class ExactSolver final : public Solver {
public:
  std::string name() const override { return "exact"; }
  SearchResult solve(const Problem &problem, const CostSource &costs, const SearchOptions &options) const override;
};

/// Runs body(0) ... body(count - 1) on `threads` threads.
template <typename Body> void parallelFor(size_t count, unsigned threads, Body body) {
  if (threads <= 1 || count <= 1) {
    for (size_t i = 0; i < count; ++i)
      body(i);
    return;
  }
  std::atomic<size_t> next{0};
  std::vector<std::thread> pool;
  for (unsigned t = 0; t < threads; ++t)
    pool.emplace_back([&] {
      for (size_t i = next++; i < count; i = next++)
        body(i);
    });
  for (std::thread &thread : pool)
    thread.join();
}

std::vector<Work> orderedWork(const Problem &problem, const CostSource &costs, unsigned threads, SearchResult &result) {
  std::vector<Layout> layouts = layoutsOf(problem, result.pruned);
  result.candidates = layouts.size();
  std::vector<Work> work(layouts.size());
  parallelFor(layouts.size(), threads, [&](size_t i) {
    work[i].layout = layouts[i];
    work[i].bound = work[i].quick = LayoutCosts(problem, layouts[i], costs).quickBound();
  });
  std::stable_sort(work.begin(), work.end(), [](const Work &a, const Work &b) { return a.quick < b.quick; });
  return work;
}

/// Adds one finished layout to the result.
void settle(Work &work, Leaders &leaders, SearchResult &result, uint64_t &leastMiss) {
  result.evaluated += work.evaluated;
  if (!work.fits) {
    ++result.pruned["F-30"];
    if (!work.reasons.empty() && work.miss < leastMiss) {
      leastMiss = work.miss;
      result.closest = work.reasons;
    }
  } else if (!work.found) {
    ++result.pruned["bound"];
  } else {
    leaders.offer(std::move(*work.found));
  }
}

/// The best of the first layouts with even cuts, so that the search starts with an incumbent.
double seedSeconds(const Problem &problem, const CostSource &costs, std::vector<Work> &work, unsigned threads, SearchResult &result) {
  size_t count = std::min(kSeeds, work.size());
  parallelFor(count, threads, [&](size_t i) {
    Solution solution = solutionOf(problem, work[i].layout, evenCuts(problem, work[i].layout));
    if (!verify(problem, solution).empty())
      return;
    Cost cost = evaluate(problem, solution, costs);
    if (checkMemory(problem, solution, cost).empty())
      work[i].found = Candidate{std::move(solution), std::move(cost), work[i].bound};
  });
  result.evaluated += count;
  double best = kInfinity;
  for (size_t i = 0; i < count; ++i)
    if (work[i].found)
      best = std::min(best, work[i].found->cost.seconds);
  return best;
}

SearchResult ExactSolver::solve(const Problem &problem, const CostSource &costs, const SearchOptions &options) const {
  SearchResult result;
  std::vector<Work> work = orderedWork(problem, costs, options.threads, result);
  Leaders leaders{std::max(options.keep, 1u), {}};
  uint64_t leastMiss = ~uint64_t(0);
  double seed = seedSeconds(problem, costs, work, options.threads, result);
  double open = kInfinity; // least bound of what was not searched to the end
  bool stopped = false;
  size_t at = 0;
  for (; at < work.size() && !stopped; at += kWave) {
    size_t end = std::min(at + kWave, work.size());
    double incumbent = std::min(leaders.seconds(), seed);
    if (work[at].quick > incumbent * (1 + 1e-9)) {
      for (size_t i = at; i < work.size(); ++i)
        ++result.pruned["bound"];
      break;
    }
    uint64_t share = options.budget > result.evaluated ? std::max<uint64_t>((options.budget - result.evaluated) / (end - at), 1) : 1;
    parallelFor(end - at, options.threads, [&](size_t i) { PartitionSearch(problem, costs, work[at + i], incumbent, share).run(); });
    for (size_t i = at; i < end; ++i) {
      if (!work[i].closed)
        open = std::min(open, work[i].bound);
      settle(work[i], leaders, result, leastMiss);
    }
    stopped = options.interrupted && options.interrupted();
    if (options.progress)
      options.progress({leaders.seconds(), std::min(open, end < work.size() ? work[end].quick : open), end, work.size(), result.evaluated});
  }
  for (size_t i = at; stopped && i < work.size(); ++i)
    open = std::min(open, work[i].quick);
  result.best = std::move(leaders.best);
  result.proven = !stopped;
  if (!result.best.empty()) {
    result.bound = std::min(open, result.best.front().cost.seconds);
    result.proven = result.bound >= result.best.front().cost.seconds;
    result.closest.clear();
  }
  return result;
}

} // namespace

std::unique_ptr<Solver> makeExactSolver() { return std::make_unique<ExactSolver>(); }

} // namespace plait
