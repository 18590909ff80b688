#include "cost_model/workload/Geometry.h"
#include <numeric>

namespace plait {

int64_t LocalValue::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

const PhaseProjection *BlockProjection::find(Phase phase) const {
  for (const PhaseProjection &projection : phases)
    if (projection.phase == phase)
      return &projection;
  return nullptr;
}

namespace {

/// Layouts in which values cross from one phase to the next (saved, carried).
using CrossingLayouts = std::map<Id, ValueLayout>;

/// Projects one phase.
class PhaseProjector {
public:
  PhaseProjector(const Geometry &geometry, const PhaseGraph &graph, CrossingLayouts &crossing, std::vector<LocalParam> &params)
      : geometry(geometry), block(geometry.block), graph(graph), crossing(crossing), params(params), stream(geometry.stream()) {}
  Result<PhaseProjection> run();

private:
  using Status = plait::Status;
  Status addInputs();
  Status addOp(Id opIndex);
  Status finish();
  Result<Id> param(Id value, Id segment);
  /// Local value of `value` in `want`, behind a collective or as a view if need be.
  Result<Id> as(Id value, const ValueLayout &want, const std::string &origin);
  Result<Id> convert(Id value, Id from, const ValueLayout &want, const std::string &origin);
  Result<Id> operand(const OpTemplate &op, Id value, bool passPartial);
  Status addResult(const OpTemplate &op, Id value, bool passPartial, LocalLaunch &launch);
  void noteParamGrad(Id value, Id local, const ValueLayout &layout);
  bool allPartial(const OpTemplate &op) const;
  Id add(Id value, const ValueLayout &layout);
  std::vector<int64_t> offsetsOf(const OpTemplate &op) const;
  Id outermostFactor(Id value) const {
    const auto &dims = block.values[value].dims;
    return dims.empty() ? kNone : dims[0].factor;
  }

  const Geometry &geometry;
  const BlockSummary &block;
  const PhaseGraph &graph;
  CrossingLayouts &crossing;
  std::vector<LocalParam> &params;
  Id stream;
  PhaseProjection out;
  std::map<Id, std::vector<Id>> forms; // value -> its local values; the last resolved or produced one is current
};

Id PhaseProjector::add(Id value, const ValueLayout &layout) {
  LocalValue local;
  local.value = value;
  local.layout = layout;
  local.shape = geometry.shapeOf(value, layout, geometry.coordinate);
  local.dtype = geometry.dtypeOf(block.values[value].kind);
  out.values.push_back(std::move(local));
  Id id = out.values.size() - 1;
  forms[value].push_back(id);
  return id;
}

static bool contains(const std::vector<Id> &ids, Id id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

Status PhaseProjector::addInputs() {
  bool forward = graph.phase == Phase::Forward;
  auto used = [&](Id value) {
    return std::any_of(graph.ops.begin(), graph.ops.end(), [&](const OpTemplate &op) { return contains(op.operands, value); });
  };
  auto streamInput = [&](Id value, Id &slot) -> Status {
    if (value == kNone || !(forward || used(value) || contains(graph.saved, value) || contains(graph.carried, value)))
      return success();
    Result<ValueLayout> layout = geometry.layoutIn(stream, value);
    if (!layout)
      return layout.error();
    slot = add(value, *layout);
    return success();
  };
  if (Status s = streamInput(block.x, out.x); !s)
    return s;
  if (!forward)
    if (Status s = streamInput(block.dy, out.dy); !s)
      return s;
  for (auto [value, slot] : {std::pair{block.tokens, &out.tokens}, {block.labels, &out.labels}, {block.lossScale, &out.lossScale}})
    if (value != kNone && (used(value) || contains(graph.saved, value)))
      *slot = add(value, {});
  if (!forward)
    for (const std::vector<Id> *list : {&graph.saved, &graph.carried})
      for (Id value : *list)
        if (!forms.count(value) && (list == &graph.saved || graph.phase == Phase::BackwardWeight))
          add(value, crossing[value]);
  return success();
}

Result<Id> PhaseProjector::param(Id value, Id segment) {
  Id index = 0;
  while (block.params[index].value != value)
    ++index;
  Result<ValueLayout> layout = geometry.layoutIn(segment, value);
  if (!layout)
    return layout.error();
  if (out.params[index] != kNone) {
    if (!(out.values[out.params[index]].layout == *layout))
      return geometry.error("parameter '" + block.params[index].name + "'", "two segments split it differently", "F-13");
    return out.params[index];
  }
  Id local = add(value, *layout);
  out.params[index] = local;
  LocalParam &held = params[index];
  held.start = geometry.startOf(value, *layout);
  held.size = out.values[local].shape;
  return local;
}

Result<Id> PhaseProjector::convert(Id value, Id from, const ValueLayout &want, const std::string &origin) {
  const ValueLayout have = out.values[from].layout;
  LocalCollective collective;
  collective.in = from;
  collective.members = geometry.shards;
  collective.origin = origin;
  bool outermost = outermostFactor(value) != kNone &&
                   (want.state != LayoutState::Split || want.factor == outermostFactor(value)) &&
                   (have.state != LayoutState::Split || have.factor == outermostFactor(value));
  if (have.state == LayoutState::Whole && want.state == LayoutState::Split && outermost) {
    Id id = add(value, want);
    int64_t row = out.values[from].elements() / std::max<int64_t>(out.values[from].shape[0], 1);
    out.values[id].viewOf = from;
    out.values[id].viewOffset = geometry.range(want.factor).begin * block.values[value].dims[0].unit * row;
    return id;
  }
  if (have.state == LayoutState::Split && want.state == LayoutState::Split) {
    Result<Id> whole = as(value, ValueLayout{}, origin);
    return whole ? convert(value, *whole, want, origin) : whole;
  }
  if (!(outermost || (have.state == LayoutState::Partial && want.state == LayoutState::Whole)))
    return geometry.error("value '" + block.values[value].name + "', op '" + origin + "'",
                          "a layout change along an inner dimension is not a collective of contiguous parts", "F-14");
  if (have.state == LayoutState::Partial) {
    collective.reduction = have.reduction;
    collective.kind = want.state == LayoutState::Whole ? LocalCollective::AllReduce : LocalCollective::ReduceScatter;
  } else {
    collective.kind = LocalCollective::AllGather;
  }
  Id id = add(value, want);
  collective.out = id;
  if (collective.kind == LocalCollective::AllReduce)
    out.values[id].viewOf = from; // reduced in place
  const LocalValue &part = out.values[collective.kind == LocalCollective::AllGather ? from : id];
  if (collective.kind != LocalCollective::AllReduce) {
    for (uint32_t at = 0; at < geometry.shards; ++at) {
      std::vector<int64_t> shape = geometry.shapeOf(value, part.layout, at);
      collective.counts.push_back(std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>()));
    }
    if (std::adjacent_find(collective.counts.begin(), collective.counts.end(), std::not_equal_to<>()) == collective.counts.end())
      collective.counts.clear();
  }
  collective.bytes = out.values[collective.kind == LocalCollective::AllGather ? id : from].bytes();
  Step step;
  step.kind = Step::Collective;
  step.collective = std::move(collective);
  out.steps.push_back(std::move(step));
  return id;
}

Result<Id> PhaseProjector::as(Id value, const ValueLayout &want, const std::string &origin) {
  auto found = forms.find(value);
  if (found == forms.end())
    return geometry.error("op '" + origin + "'", "value '" + block.values[value].name + "' is used before it is made", "F-00");
  for (Id form : found->second)
    if (out.values[form].layout == want)
      return form;
  Id current = found->second.back();
  for (Id form : found->second) // a whole form costs nothing to cut; prefer it to another collective
    if (out.values[form].layout.state == LayoutState::Whole)
      current = form;
  return convert(value, current, want, origin);
}

/// Sums over one axis add up, whichever factors they run over.
bool PhaseProjector::allPartial(const OpTemplate &op) const {
  return op.additive && std::all_of(op.operands.begin(), op.operands.end(), [&](Id value) {
    const ValueLayout &layout = out.values[forms.at(value).back()].layout;
    return layout.state == LayoutState::Partial && layout.reduction == Reduction::Sum;
  });
}

Result<Id> PhaseProjector::operand(const OpTemplate &op, Id value, bool passPartial) {
  if (block.values[value].kind == ElementKind::Param)
    return param(value, op.segment);
  if (passPartial)
    return forms.at(value).back();
  Result<ValueLayout> want = geometry.layoutIn(op.segment, value);
  if (!want)
    return want.error();
  return as(value, *want, op.origin);
}

void PhaseProjector::noteParamGrad(Id value, Id local, const ValueLayout &layout) {
  for (Id index = 0; index < block.params.size(); ++index) {
    if (block.params[index].grad != value)
      continue;
    out.paramGrads[index] = local;
    bool overlapping = layout.state == LayoutState::Split && block.factors[layout.factor].follows != kNone;
    params[index].gradPartial = layout.state == LayoutState::Partial || overlapping;
  }
}

Status PhaseProjector::addResult(const OpTemplate &op, Id value, bool passPartial, LocalLaunch &launch) {
  Result<ValueLayout> layout = geometry.layoutIn(op.segment, value);
  if (!layout)
    return layout.error();
  if (passPartial)
    layout = out.values[launch.refs[0]].layout;
  for (const ReducedFactor &reduced : op.reduces) {
    if (geometry.splitter(op.segment, reduced.factor) == kNone)
      continue;
    if (layout->state != LayoutState::Whole)
      return geometry.error("op '" + op.origin + "'", "its result is both split and a partial " +
                                                          std::string(reduced.reduction == Reduction::Max ? "maximum" : "sum"), "F-12");
    Id leader = geometry.splitter(op.segment, reduced.factor);
    layout = ValueLayout{LayoutState::Partial, leader, reduced.reduction};
  }
  Id id = add(value, *layout);
  launch.refs.push_back(id);
  if (block.values[value].kind == ElementKind::ParamGrad)
    noteParamGrad(value, id, *layout);
  return success();
}

std::vector<int64_t> PhaseProjector::offsetsOf(const OpTemplate &op) const {
  if (op.kernel == Kernel::Attention || op.kernel == Kernel::AttentionGrad) {
    Id q = op.operands[op.kernel == Kernel::Attention ? 0 : 1], k = op.operands[op.kernel == Kernel::Attention ? 1 : 2];
    Id heads = block.values[q].dims.back().factor, groups = block.values[k].dims.back().factor;
    if (geometry.splitter(op.segment, heads) == kNone)
      return {0};
    return {geometry.range(heads).begin - geometry.range(groups).begin * block.factors[groups].ratio};
  }
  std::vector<int64_t> offsets;
  for (Id factor : op.offsetFactors)
    offsets.push_back(geometry.splitter(op.segment, factor) == kNone ? 0 : geometry.range(factor).begin);
  return offsets;
}

Status PhaseProjector::addOp(Id opIndex) {
  const OpTemplate &op = graph.ops[opIndex];
  for (Id factor : op.whole)
    if (geometry.splitter(op.segment, factor) != kNone)
      return geometry.error("op '" + op.origin + "'", "factor '" + block.factors[factor].name + "' cannot be split here", "F-15");
  bool passPartial = allPartial(op);
  LocalLaunch launch;
  launch.op = opIndex;
  for (Id value : op.operands) {
    Result<Id> local = operand(op, value, passPartial);
    if (!local)
      return local.error();
    launch.refs.push_back(*local);
  }
  for (Id value : op.results)
    if (Status s = addResult(op, value, passPartial, launch); !s)
      return s;
  launch.offsets = offsetsOf(op);
  std::vector<WorkRef> refs;
  for (Id ref : launch.refs)
    refs.push_back({out.values[ref].shape, out.values[ref].dtype});
  int64_t instrs = op.pointwise >= 0 ? int64_t(block.pointwise[op.pointwise].instrs.size()) : 0;
  launch.work = workOf(op.kernel, refs, op.ints, instrs);
  Step step;
  step.launch = std::move(launch);
  out.steps.push_back(std::move(step));
  return success();
}

Status PhaseProjector::finish() {
  auto leave = [&](Id value, Id &slot) -> Status {
    if (value == kNone || !forms.count(value))
      return success();
    Result<ValueLayout> want = geometry.layoutIn(stream, value);
    if (!want)
      return want.error();
    Result<Id> local = as(value, *want, block.values[value].name);
    if (!local)
      return local.error();
    slot = *local;
    return success();
  };
  if (graph.phase == Phase::Forward) {
    if (Status s = leave(block.y, out.y); !s)
      return s;
    if (block.loss != kNone && forms.count(block.loss))
      out.loss = forms[block.loss].back();
  } else if (Status s = leave(block.dx, out.dx); !s) {
    return s;
  }
  // A value crosses phases as it was made; a partial sum crosses as it was first resolved.
  auto cross = [&](Id value) -> Result<Id> {
    for (Id form : forms[value])
      if (out.values[form].layout.state != LayoutState::Partial) {
        crossing[value] = out.values[form].layout;
        return form;
      }
    crossing[value] = {};
    return as(value, {}, block.values[value].name);
  };
  for (auto [list, target, produced] : {std::tuple{&graph.saved, &out.saved, graph.phase == Phase::Forward},
                                        {&graph.carried, &out.carried, graph.phase == Phase::BackwardInput}})
    for (Id value : *list) {
      if (!forms.count(value)) { // consumed by another phase only
        target->push_back(kNone);
        continue;
      }
      Result<Id> local = produced ? cross(value) : Result<Id>(forms[value].front());
      if (!local)
        return local.error();
      target->push_back(*local);
    }
  return success();
}

Result<PhaseProjection> PhaseProjector::run() {
  out.phase = graph.phase;
  out.params.assign(block.params.size(), kNone);
  out.paramGrads.assign(block.params.size(), kNone);
  if (Status s = addInputs(); !s)
    return s.error();
  for (Id op = 0; op < graph.ops.size(); ++op)
    if (Status s = addOp(op); !s)
      return s.error();
  if (Status s = finish(); !s)
    return s.error();
  return std::move(out);
}

} // namespace

Result<BlockProjection> project(const BlockSummary &block, const Stage &stage, uint32_t coordinate,
                                const TaskParams &params, const Precision &precision) {
  Geometry geometry(block, stage, coordinate, params, precision);
  if (Status s = geometry.bind(stage); !s)
    return s.error();
  BlockProjection projection;
  projection.params.resize(block.params.size());
  CrossingLayouts crossing;
  std::vector<Phase> phases = {Phase::Forward};
  if (stage.splitWeightGrad)
    phases.insert(phases.end(), {Phase::BackwardInput, Phase::BackwardWeight});
  else
    phases.push_back(Phase::Backward);
  for (Phase phase : phases) {
    const PhaseGraph *graph = block.find(phase, stage.recompute);
    if (!graph)
      return Error{ExitCode::Infeasible, "block '" + block.name + "' has no recompute variant '" + stage.recompute + "' [F-16]"};
    Result<PhaseProjection> projected = PhaseProjector(geometry, *graph, crossing, projection.params).run();
    if (!projected)
      return projected.error();
    projection.phases.push_back(std::move(*projected));
  }
  return projection;
}

} // namespace plait
