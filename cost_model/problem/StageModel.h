// What ModelCosts keeps about a block in one layout, and about where a stage's devices are.
#ifndef PLAIT_COST_MODEL_PROBLEM_STAGEMODEL_H
#define PLAIT_COST_MODEL_PROBLEM_STAGEMODEL_H

#include "cost_model/comm/Collectives.h"
#include "cost_model/memory/BlockMemory.h"
#include "cost_model/workload/Projection.h"
#include <map>

namespace plait {

struct PricedCollective {
  CommKind kind;
  double bytes;
  bool operator==(const PricedCollective &) const = default;
};

/// One coordinate of a block: what it computes and exchanges per phase, and what it holds.
struct CoordinateModel {
  std::map<Phase, std::vector<Work>> works;
  std::map<Phase, std::vector<PricedCollective>> collectives;
  BlockMemory memory;
  std::vector<uint64_t> paramElements; ///< per BlockSummary::params
  std::vector<uint32_t> sharers;       ///< per BlockSummary::params: coordinates that hold the same elements
  bool operator==(const CoordinateModel &) const = default;
};

/// A block in one layout; one entry per coordinate of the tensor axis.
struct BlockModel {
  std::vector<CoordinateModel> coordinates;
  std::vector<uint32_t> distinct; ///< first coordinate of each group of equal ones
};

/// Error: that of project().
Result<BlockModel> modelBlock(const BlockSummary &block, const Stage &stage, const TaskParams &params,
                              const Precision &precision);

/// Text that is equal for stages that split, recompute and run their blocks in the same way.
std::string layoutKey(const Stage &stage);
/// Does the stage keep the residual stream split along the sequence?
bool splitsStream(const Stage &stage);

} // namespace plait

#endif
