// Bounds: a lower bound on evaluate() for every stage of every partition of the chain, and the partition that minimises
// their maximum. Source: strict 1F1B, proof sketch with the symbols below.
//
// Stage s of S, m micro-batches: f, b seconds of one forward and backward, tau = f + b, c seconds of the boundary behind
// it, w = S - s micro-batches in flight at most. head = sum of tau + 2c over the stages before s, D = 2c + sum of
// (tau + 2c) over the stages after s (c of the last stage is 0). Stage s starts behind the forwards of the stages before
// it, and its last backward is followed by theirs; its first backward needs f + D from its first forward; between warm-up
// and drain it computes m - w micro-batches; its forward i + w follows its backward i in its own order. Hence
//   seconds >= head + g,  g = max( m > w ? (m - w) tau + max(w f, f + D) + max(w b, b + D)
//                                        : max(w tau, tau + D + (m - 1) max(f, b)) with w = m for the first term,
//                                  ((m - 1) div w + 1) (tau + D) + ((m - 1) mod w) max(f, b) )
// GPipe: all forwards of the last stage precede its first backward, so seconds >= head + m tau + D.
// With weight gradients apart only the work is certain: seconds >= forwards of head + m tau.
// As tau is additive over blocks, head and D depend on where the stage begins and ends only: the bound of a stage is a
// function of (first use, end use, s), and the best partition is a shortest bottleneck path.
#ifndef PLAIT_COMPILER_SEARCH_BOUNDS_H
#define PLAIT_COMPILER_SEARCH_BOUNDS_H

#include "compiler/search/Layouts.h"
#include <limits>
#include <vector>

namespace plait {

/// Costs of one layout as functions of a stage's place in the chain.
class LayoutCosts {
public:
  LayoutCosts(const Problem &problem, const Layout &layout, const CostSource &costs);

  uint32_t uses() const { return forward.size() - 1; }
  const Layout &layout() const { return choices; }

  /// Lower bound of evaluate() from stage `stage` holding [first, end); infinite if it does not fit into memory, or if
  /// the bound is above the cap (memory is then not asked for).
  double stageBound(Id first, Id end, uint32_t stage);
  void setCap(double seconds) { cap = seconds; }
  /// Bytes by which the stage misses its device's memory; 0 if it fits.
  uint64_t excess(Id first, Id end, uint32_t stage);
  /// Lower bound over all partitions, from sums alone: cheap.
  double quickBound() const;

private:
  double flow(double f, double b, double head, double after, uint32_t window) const;
  const std::pair<double, uint64_t> &tailAndExcess(Id first, Id end, uint32_t stage);

  const Problem &problem;
  const Layout choices;
  const CostSource &costs;
  double cap = std::numeric_limits<double>::infinity();
  std::vector<double> forward, backward; ///< prefix sums over uses, seconds of one micro-batch
  std::vector<double> boundary;          ///< prefix sums over stages, seconds of one message
  std::vector<std::vector<Id>> kindCounts; ///< prefix counts per kind
  std::map<std::vector<Id>, std::pair<double, uint64_t>> cache; ///< (stage, counts by kind) -> tail seconds, excess bytes
};

/// Bottleneck tables: rest(stage, first) is the least maximum of stage bounds with which stages stage..pp-1 can hold
/// uses [first, end); before(stage, first) the same for stages 0..stage-1 and uses [0, first).
class BottleneckTable {
public:
  explicit BottleneckTable(LayoutCosts &costs);
  double rest(uint32_t stage, Id first) const { return suffix[stage][first]; }
  double before(uint32_t stage, Id first) const { return prefix[stage][first]; }
  double best() const { return suffix[0][0]; }
  /// Cuts of the first partition that reaches best(). Precondition: best() is finite.
  std::vector<Id> bestCuts(LayoutCosts &costs) const;

private:
  std::vector<std::vector<double>> suffix, prefix;
};

} // namespace plait

#endif
