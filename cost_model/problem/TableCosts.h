// TableCosts: costs written down by hand, for tests of solvers and of evaluate().
#ifndef PLAIT_COST_MODEL_PROBLEM_TABLECOSTS_H
#define PLAIT_COST_MODEL_PROBLEM_TABLECOSTS_H

#include "cost_model/problem/Problem.h"
#include <map>
#include <tuple>

namespace plait {

/// Cost of one block for one sequence (seconds) and of its storage on one device (bytes).
struct TableRow {
  double forward = 0, backwardInput = 0,
         backwardWeight = 0;                ///< seconds per sequence; Backward is the sum of the latter two
  uint64_t staticBytes = 0, savedBytes = 0; ///< per block; per block and sequence in flight
};

/// A stage whose (kind, degree, variant) has no row costs infinitely many seconds.
class TableCosts final : public CostSource {
public:
  /// Does not own the problem.
  explicit TableCosts(const Problem &problem) : problem(problem) {}

  std::map<std::tuple<Id, uint32_t, std::string>, TableRow> rows; ///< by (kind, tensor-parallel degree, recompute variant)
  std::vector<double> classSlowdown;                              ///< per device class, a factor of all seconds; empty: 1
  double boundaryPerSequence = 0, boundaryLatency = 0;            ///< seconds
  double tail = 0;                                                ///< seconds

  double phaseSeconds(Id kind, const Stage &stage, Phase phase, int64_t microBatch) const override;
  double boundarySeconds(const Stage &from, const Stage &to, int64_t microBatch) const override;
  double stepTailSeconds(const Solution &, Id replica, Id stage) const override;
  std::vector<std::pair<std::string, uint64_t>> memory(const Solution &, Id replica, Id stage,
                                                       uint32_t inFlight) const override;

private:
  const TableRow *find(Id kind, const Stage &stage) const;

  const Problem &problem;
};

} // namespace plait

#endif
