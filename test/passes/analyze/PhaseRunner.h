// Runs one phase of a block summary on whole tensors in double, by the reference backend.
#ifndef PLAIT_TEST_PASSES_ANALYZE_PHASERUNNER_H
#define PLAIT_TEST_PASSES_ANALYZE_PHASERUNNER_H

#include "cost_model/workload/Summary.h"
#include "runtime/backends/Backend.h"
#include <map>

namespace plait::test {

/// Elements by value id; ids of tokens and labels are whole numbers.
using Tensors = std::map<Id, std::vector<double>>;

class PhaseRunner {
public:
  PhaseRunner(const BlockSummary &block, int64_t sequence, int64_t batch)
      : block(block), sequence(sequence), batch(batch), backend(makeReferenceBackend()) {}

  std::vector<int64_t> shapeOf(Id value) const;
  int64_t elementsOf(Id value) const;

  /// Values that the phase computes from `given`; fails the test if an operand is neither given nor computed.
  Tensors run(const PhaseGraph &graph, const Tensors &given);

private:
  void runOp(const OpTemplate &op, const Tensors &given, Tensors &computed);

  const BlockSummary &block;
  int64_t sequence, batch;
  std::unique_ptr<Backend> backend;
};

} // namespace plait::test

#endif
