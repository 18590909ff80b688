#include "cost_model/problem/StageModel.h"
#include <algorithm>

namespace plait {

static CommKind kindOf(LocalCollective::Kind kind) {
  switch (kind) {
  case LocalCollective::AllReduce: return CommKind::AllReduce;
  case LocalCollective::AllGather: return CommKind::AllGather;
  case LocalCollective::ReduceScatter: return CommKind::ReduceScatter;
  }
  return CommKind::AllReduce;
}

static bool overlap(const LocalParam &a, const LocalParam &b) {
  for (size_t d = 0; d < a.size.size(); ++d)
    if (a.start[d] + a.size[d] <= b.start[d] || b.start[d] + b.size[d] <= a.start[d])
      return false;
  return true;
}

/// Coordinates that hold elements of parameter `index` that `coordinate` holds too, as addends or as equal copies.
static uint32_t sharersOf(const std::vector<std::vector<LocalParam>> &params, size_t coordinate, size_t index) {
  const LocalParam &own = params[coordinate][index];
  uint32_t count = 0;
  for (const std::vector<LocalParam> &other : params)
    count += overlap(own, other[index]);
  return count;
}

static CoordinateModel coordinateOf(const BlockProjection &projection) {
  CoordinateModel at;
  for (const PhaseProjection &phase : projection.phases)
    for (const Step &step : phase.steps)
      if (step.kind == Step::Launch)
        at.works[phase.phase].push_back(step.launch.work);
      else
        at.collectives[phase.phase].push_back({kindOf(step.collective.kind), double(step.collective.bytes)});
  at.memory = memoryOf(projection);
  for (const LocalParam &param : projection.params) {
    uint64_t elements = 1;
    for (int64_t extent : param.size)
      elements *= uint64_t(extent);
    at.paramElements.push_back(elements);
  }
  return at;
}

Result<BlockModel> modelBlock(const BlockSummary &block, const Stage &stage, const TaskParams &params,
                              const Precision &precision) {
  BlockModel model;
  std::vector<std::vector<LocalParam>> held; // by coordinate
  std::map<std::vector<int64_t>, uint32_t> first; // coordinate by its shard sizes
  for (uint32_t coordinate = 0; coordinate < stage.devices.count; ++coordinate) {
    Result<std::vector<int64_t>> sizes = shardSizes(block, stage, coordinate, params);
    if (!sizes)
      return sizes.error();
    auto [at, fresh] = first.try_emplace(std::move(*sizes), coordinate);
    if (fresh) {
      Result<BlockProjection> projection = project(block, stage, coordinate, params, precision);
      if (!projection)
        return projection.error();
      model.coordinates.push_back(coordinateOf(*projection));
      held.push_back(std::move(projection->params));
      continue;
    }
    Result<std::vector<LocalParam>> like = projectParams(block, stage, coordinate, params, held[at->second]);
    if (!like)
      return like.error();
    model.coordinates.push_back(model.coordinates[at->second]);
    held.push_back(std::move(*like));
  }
  for (uint32_t coordinate = 0; coordinate < stage.devices.count; ++coordinate) {
    CoordinateModel &at = model.coordinates[coordinate];
    for (size_t param = 0; param < at.paramElements.size(); ++param)
      at.sharers.push_back(sharersOf(held, coordinate, param));
    if (std::find(model.coordinates.begin(), model.coordinates.begin() + coordinate, at) ==
        model.coordinates.begin() + coordinate)
      model.distinct.push_back(coordinate);
  }
  return model;
}

std::string layoutKey(const Stage &stage) {
  std::string key = std::to_string(stage.devices.count) + (stage.splitWeightGrad ? "w" : "") + "," + stage.recompute;
  for (const SegmentMap &map : stage.maps) {
    key += ";" + map.segment;
    for (const AxisUse &use : map.uses) {
      key += ":" + use.factor;
      for (int64_t cut : use.cuts)
        key += "." + std::to_string(cut);
    }
  }
  return key;
}

bool splitsStream(const Stage &stage) {
  for (const SegmentMap &map : stage.maps)
    if (map.segment == "stream" && !map.uses.empty())
      return stage.devices.count > 1;
  return false;
}

} // namespace plait
