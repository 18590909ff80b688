#include "cost_model/workload/Geometry.h"

namespace plait {

UnitRange shardRange(int64_t size, const std::vector<int64_t> &cuts, uint32_t shards, uint32_t coordinate) {
  if (!cuts.empty()) {
    int64_t begin = coordinate == 0 ? 0 : cuts[coordinate - 1];
    int64_t end = coordinate + 1 == shards ? size : cuts[coordinate];
    return {begin, end};
  }
  int64_t base = size / shards, extra = size % shards;
  auto at = [&](int64_t i) { return i * base + std::min(i, extra); };
  return {at(coordinate), at(coordinate + 1)};
}

std::vector<SegmentMap> megatronMaps(uint32_t tp, bool sequenceParallel) {
  if (tp <= 1)
    return {};
  std::vector<SegmentMap> maps = {{"attention", {{"h", {}}}}, {"mlp", {{"i", {}}}}, {"embedding", {{"v", {}}}}, {"head", {{"v", {}}}}};
  if (sequenceParallel)
    maps.push_back({"stream", {{"s", {}}}});
  return maps;
}

static std::string joinNames(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

Status Geometry::bind(const Stage &stage) {
  splits.assign(block.segments.size() + 1, {});
  if (shards == 1)
    return success();
  for (const SegmentMap &map : stage.maps) {
    size_t segment = std::find(block.segments.begin(), block.segments.end(), map.segment) - block.segments.begin();
    if (segment == block.segments.size() && map.segment != "stream")
      continue; // the map speaks of a segment that other blocks of the stage have
    for (const AxisUse &use : map.uses) {
      Id factor = indexOfName(block.factors, use.factor);
      if (factor == kNone) {
        std::vector<std::string> known;
        for (const Factor &f : block.factors)
          known.push_back(f.name);
        return error("segment '" + map.segment + "'", "factor '" + use.factor + "' is not one of " + joinNames(known), "F-10");
      }
      if (units(factor) < int64_t(shards))
        return error("segment '" + map.segment + "'",
                     "tensor parallel " + std::to_string(shards) + " splits factor '" + use.factor + "' of " +
                         std::to_string(units(factor)) + " units; what works: 1 to " + std::to_string(units(factor)),
                     "F-07");
      auto [at, inserted] = cuts.emplace(factor, use.cuts);
      if (!inserted && at->second != use.cuts)
        return error("segment '" + map.segment + "'", "factor '" + use.factor + "' has other cuts in another segment", "F-11");
      splits[segment][factor] = true;
    }
  }
  return success();
}

Result<ValueLayout> Geometry::layoutIn(Id segment, Id value) const {
  ValueLayout layout;
  for (const Dim &dim : block.values[value].dims) {
    if (splitter(segment, dim.factor) == kNone)
      continue;
    if (layout.state == LayoutState::Split)
      return error("value '" + block.values[value].name + "'", "two of its dimensions are split over one axis", "F-12");
    layout = {LayoutState::Split, dim.factor, Reduction::None};
  }
  return layout;
}

std::vector<int64_t> Geometry::shapeOf(Id value, const ValueLayout &layout, uint32_t at) const {
  std::vector<int64_t> shape;
  for (const Dim &dim : block.values[value].dims) {
    if (dim.factor == kNone)
      shape.push_back(dim.unit);
    else if (layout.state == LayoutState::Split && layout.factor == dim.factor)
      shape.push_back(range(dim.factor, at).size() * dim.unit);
    else
      shape.push_back(units(dim.factor) * dim.unit);
  }
  return shape;
}

std::vector<int64_t> Geometry::startOf(Id value, const ValueLayout &layout) const {
  std::vector<int64_t> start;
  for (const Dim &dim : block.values[value].dims) {
    bool split = layout.state == LayoutState::Split && layout.factor == dim.factor;
    start.push_back(split ? range(dim.factor).begin * dim.unit : 0);
  }
  return start;
}

std::vector<int64_t> Geometry::shardSizes() const {
  std::vector<int64_t> sizes;
  for (Id factor = 0; factor < block.factors.size(); ++factor) {
    Id leader = block.factors[factor].follows == kNone ? factor : block.factors[factor].follows;
    if (cuts.count(leader))
      sizes.push_back(range(factor).size());
  }
  return sizes;
}

DType Geometry::dtypeOf(ElementKind kind) const {
  switch (kind) {
  case ElementKind::Activation: return precision.compute;
  case ElementKind::Param: return precision.param;
  case ElementKind::ParamGrad: return precision.grad;
  case ElementKind::Index: return DType::I32;
  case ElementKind::Statistic:
  case ElementKind::Scalar: break;
  }
  return DType::F32;
}

Result<std::vector<int64_t>> shardSizes(const BlockSummary &block, const Stage &stage, uint32_t coordinate, const TaskParams &params) {
  Geometry geometry(block, stage, coordinate, params, Precision());
  if (Status s = geometry.bind(stage); !s)
    return s.error();
  return geometry.shardSizes();
}

/// Segment of the first op that reads the value; kNone if none does.
static Id readerSegment(const BlockSummary &block, Id value) {
  for (const PhaseGraph &graph : block.phases)
    for (const OpTemplate &op : graph.ops)
      if (std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end())
        return op.segment;
  return kNone;
}

Result<std::vector<LocalParam>> projectParams(const BlockSummary &block, const Stage &stage, uint32_t coordinate,
                                              const TaskParams &params, const std::vector<LocalParam> &like) {
  Geometry geometry(block, stage, coordinate, params, Precision());
  if (Status s = geometry.bind(stage); !s)
    return s.error();
  std::vector<LocalParam> held = like;
  for (Id index = 0; index < block.params.size(); ++index) {
    Id value = block.params[index].value;
    Result<ValueLayout> layout = geometry.layoutIn(readerSegment(block, value), value);
    if (!layout)
      return layout.error();
    held[index].start = geometry.startOf(value, *layout);
    held[index].size = geometry.shapeOf(value, *layout, coordinate);
  }
  return held;
}

} // namespace plait
