// Hand-built plans of the tiny model: any mix of tensor parallelism over the hidden width, two pipeline stages and
// replicas with unlike numbers of micro-batches.
#ifndef PLAIT_TEST_RUNTIME_EXECUTOR_TINYPLAN_H
#define PLAIT_TEST_RUNTIME_EXECUTOR_TINYPLAN_H

#include "TinyModel.h"
#include "runtime/plan/plan.pb.h"
#include <string>

namespace plait::test {

struct TinyLayout {
  std::string name;
  uint32_t tp = 1, pp = 1;
  std::vector<uint32_t> microbatches = {4}; ///< of each replica
  bool sharded = false;                     ///< optimizer state over the members of each sync, unevenly
  bool columnPieces = false;                ///< the embedding's sync lists two column blocks instead of whole rows
  DType paramType = DType::F32;
  std::string optimizer = "adamw";
  bool mergedCopies = false;                ///< replicas with equal shares are copies of one role

  uint32_t worldSize() const { return tp * pp * uint32_t(microbatches.size()); }
};

/// Rank = (replica * pp + stage) * tp + coordinate. Embedding and up are on the first stage, down on the last.
pb::Plan tinyPlan(const TinyShape &shape, const TinyLayout &layout);
/// Which tensors the plan lets decay.
constexpr std::array<bool, TinyTensors> kTinyDecays = {false, true, true};

} // namespace plait::test

#endif
