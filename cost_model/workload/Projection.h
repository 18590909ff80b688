// project(): the one place that splits a block. Given a BlockSummary and the axis maps of a stage it derives, for one
// coordinate of the tensor axis, every local shape, every launch with its work, every collective, and what is saved.
// The search prices this; passes/partition only materialises it; so the plan holds exactly what was priced.
//
// Each op runs split along the factors that its segment maps. A value that an op needs in another layout than it has
// gets a collective in front of the op: split -> whole is an all-gather, partial -> whole an all-reduce, partial ->
// split a reduce-scatter, whole -> split a view. Partial sums pass through additive ops unreduced.
#ifndef PLAIT_COST_MODEL_WORKLOAD_PROJECTION_H
#define PLAIT_COST_MODEL_WORKLOAD_PROJECTION_H

#include "cost_model/problem/Problem.h"
#include "cost_model/workload/Work.h"

namespace plait {

/// Values of the factors whose size is not fixed by the model.
struct TaskParams {
  int64_t sequence = 1, batch = 1; ///< tokens per sequence, sequences per micro-batch
};

/// Range [begin, end) of factor units.
struct UnitRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const UnitRange &) const = default;
};

/// Shard `coordinate` of `shards` of a factor with `size` units; cuts as in AxisUse.
UnitRange shardRange(int64_t size, const std::vector<int64_t> &cuts, uint32_t shards, uint32_t coordinate);

enum class LayoutState { Whole, Split, Partial };
/// How a value lies over the tensor axis.
struct ValueLayout {
  LayoutState state = LayoutState::Whole;
  Id factor = kNone;                     ///< Split: the factor; Partial: the reduced factor
  Reduction reduction = Reduction::None; ///< Partial
  bool operator==(const ValueLayout &) const = default;
};

/// A value as this coordinate holds it. The same Value may appear in several layouts (before and after a collective).
struct LocalValue {
  Id value = kNone;
  ValueLayout layout;
  std::vector<int64_t> shape; ///< elements
  DType dtype = DType::F32;
  Id viewOf = kNone;          ///< local value that this one is a part of, else kNone
  int64_t viewOffset = 0;     ///< elements
  int64_t elements() const;
  int64_t bytes() const { return elements() * bytesOf(dtype); }
};

struct LocalLaunch {
  Id op = 0;                       ///< index into the PhaseGraph's ops
  std::vector<Id> refs;            ///< local values: operands, then results
  std::vector<int64_t> offsets;    ///< this coordinate's values of the launch offsets
  Work work;
};
struct LocalCollective {
  enum Kind { AllReduce, AllGather, ReduceScatter } kind = AllReduce;
  Id in = kNone, out = kNone;      ///< local values; equal for AllReduce
  Reduction reduction = Reduction::Sum;
  std::vector<int64_t> counts;     ///< elements per coordinate if they differ, else empty
  uint32_t members = 1;            ///< size of the tensor axis
  int64_t bytes = 0;               ///< of the whole tensor
  std::string origin;
};
struct Step {
  enum Kind { Launch, Collective } kind = Launch;
  LocalLaunch launch;
  LocalCollective collective;
};

/// One phase at one coordinate.
struct PhaseProjection {
  Phase phase = Phase::None;
  std::vector<LocalValue> values;
  std::vector<Step> steps;
  Id x = kNone, y = kNone, dx = kNone, dy = kNone, tokens = kNone, labels = kNone, loss = kNone, lossScale = kNone; ///< local values
  std::vector<Id> saved, carried;      ///< local values, order of the PhaseGraph
  std::vector<Id> params, paramGrads;  ///< local values per BlockSummary::params; kNone where unused
};

/// How this coordinate holds a parameter: per dimension the element range; whether its gradient is a partial sum.
struct LocalParam {
  std::vector<int64_t> start, size;
  bool gradPartial = false; ///< holders of the same elements along the tensor axis hold addends; else equal copies
};

struct BlockProjection {
  std::vector<PhaseProjection> phases; ///< Forward, and Backward or BackwardInput + BackwardWeight
  std::vector<LocalParam> params;
  const PhaseProjection *find(Phase phase) const;
};

/// Projects all phases of `block` that `stage` runs, at `coordinate` of the stage's tensor axis.
/// Errors: unknown segment or factor, a split of a whole factor, more shards than units (each names its F-rule).
Result<BlockProjection> project(const BlockSummary &block, const Stage &stage, uint32_t coordinate,
                                const TaskParams &params, const Precision &precision);

/// Local units of every split factor, and of those that follow one, at a coordinate. Coordinates with equal sizes have
/// equal projections but for offsets and the starts of their parameters.
Result<std::vector<int64_t>> shardSizes(const BlockSummary &block, const Stage &stage, uint32_t coordinate, const TaskParams &params);

/// How a coordinate holds the block's parameters; gradPartial is taken from `like`, a coordinate with equal shardSizes.
Result<std::vector<LocalParam>> projectParams(const BlockSummary &block, const Stage &stage, uint32_t coordinate,
                                              const TaskParams &params, const std::vector<LocalParam> &like);

/// Megatron's maps for a tensor-parallel degree: attention [h], mlp [i], embedding and head [v]; stream [s] if
/// sequenceParallel. Empty for tp 1.
std::vector<SegmentMap> megatronMaps(uint32_t tp, bool sequenceParallel);

} // namespace plait

#endif
