// Geometry: how one block lies over the tensor axis at one coordinate: ranges of split factors, layouts of values as the
// ops of a segment see them, local shapes. The arithmetic under project(); nothing here knows ops.
#ifndef PLAIT_COST_MODEL_WORKLOAD_GEOMETRY_H
#define PLAIT_COST_MODEL_WORKLOAD_GEOMETRY_H

#include "cost_model/workload/Projection.h"
#include <algorithm>
#include <map>

namespace plait {

/// Sizes, ranges and layouts of one block at one coordinate.
class Geometry {
public:
  Geometry(const BlockSummary &block, const Stage &stage, uint32_t coordinate, const TaskParams &params,
           const Precision &precision)
      : block(block), shards(stage.devices.count), coordinate(coordinate), params(params), precision(precision) {}

  /// Resolves the stage's maps against the block. Error: a name or a split that the block does not allow.
  Status bind(const Stage &stage);

  int64_t units(Id factor) const {
    const Factor &f = block.factors[factor];
    if (f.size)
      return f.size;
    return f.name == "b" ? params.batch : params.sequence;
  }
  /// The segment whose map lays out what enters and leaves the block.
  Id stream() const {
    return std::find(block.segments.begin(), block.segments.end(), "stream") - block.segments.begin();
  }
  /// The mapped factor that decides the cuts of `factor` (itself or the one it follows) in a segment; kNone: not split.
  Id splitter(Id segment, Id factor) const {
    if (factor == kNone || segment == kNone)
      return kNone;
    Id leader = block.factors[factor].follows == kNone ? factor : block.factors[factor].follows;
    auto found = splits[segment].find(leader);
    return found == splits[segment].end() ? kNone : leader;
  }
  UnitRange range(Id factor, uint32_t at) const {
    const Factor &f = block.factors[factor];
    if (f.follows == kNone)
      return shardRange(units(factor), cuts.at(factor), shards, at);
    UnitRange lead = range(f.follows, at);
    return {lead.begin / f.ratio, (lead.end + f.ratio - 1) / f.ratio};
  }
  UnitRange range(Id factor) const { return range(factor, coordinate); }

  /// Layout of a value as ops of `segment` see it. Error when two of its dimensions are split.
  Result<ValueLayout> layoutIn(Id segment, Id value) const;
  std::vector<int64_t> shapeOf(Id value, const ValueLayout &layout, uint32_t at) const;
  /// First element of each dimension at this coordinate.
  std::vector<int64_t> startOf(Id value, const ValueLayout &layout) const;
  std::vector<int64_t> shardSizes() const;
  DType dtypeOf(ElementKind kind) const;
  Error error(const std::string &where, const std::string &what, const char *rule) const {
    return {ExitCode::Infeasible, "block '" + block.name + "', " + where + ": " + what + " [" + rule + "]"};
  }

  const BlockSummary &block;
  uint32_t shards, coordinate;
  TaskParams params;
  Precision precision;

private:
  std::vector<std::map<Id, bool>> splits;          // per segment, and the stream if no op is in it: split factors
  std::map<Id, std::vector<int64_t>> cuts;         // per split factor; one set of cuts in a block
};

} // namespace plait

#endif
