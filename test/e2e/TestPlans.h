// Plans for end-to-end tests: models from test/data, layouts written down by hand.
#ifndef PLAIT_TEST_E2E_TESTPLANS_H
#define PLAIT_TEST_E2E_TESTPLANS_H

#include "cost_model/problem/Problem.h"
#include "runtime/plan/plan.pb.h"

namespace plait::test {

/// A problem with the model test/data/models/<name> on `devices` CPU devices; fp32, sequence 24 unless set otherwise.
Problem problemFor(const std::string &name, uint32_t devices, int64_t globalBatch);

/// A stage that holds uses [first, end) on devices [device, device + tp), with Megatron's maps.
Stage stage(uint32_t device, uint32_t tp, Id first, Id end, bool sequenceParallel = false);

/// One pipeline: `ends` are the end uses of its stages, each on tp devices from `device` on.
Replica pipeline(uint32_t device, uint32_t tp, const std::vector<Id> &ends, uint32_t microbatches, bool sequenceParallel = false);

/// verify() and buildPlan(); fails the running test with the reasons.
pb::Plan planFor(const Problem &problem, const Solution &solution);

} // namespace plait::test

#endif
