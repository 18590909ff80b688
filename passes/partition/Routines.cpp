#include "passes/partition/Routines.h"
#include <algorithm>

namespace plait {

// ---- Interning ----

template <typename Message, typename Field>
static uint32_t intern(std::map<std::string, uint32_t> &known, const Message &message, Field *field) {
  std::string key;
  message.SerializeToString(&key);
  auto [at, inserted] = known.emplace(std::move(key), field->size());
  if (inserted)
    *field->Add() = message;
  return at->second;
}

uint32_t PlanTables::work(const Work &work) {
  pb::Work message;
  message.set_kernel(uint32_t(work.kernel));
  for (int64_t dim : work.dims)
    message.add_dims(dim);
  message.set_dtype(pb::DType(work.dtype));
  message.set_flops(work.flops);
  message.set_bytes_read(work.bytesRead);
  message.set_bytes_written(work.bytesWritten);
  return intern(works, message, plan.mutable_works());
}

uint32_t PlanTables::pointwise(const PointwiseTemplate &program) {
  pb::PointwiseProgram message;
  message.set_name(program.name);
  for (bool row : program.rowInput)
    message.add_inputs()->set_kind(row ? pb::PointwiseInput::ROW : pb::PointwiseInput::ELEMENT);
  for (const PointwiseInstruction &instruction : program.instrs) {
    pb::PointwiseInstr *instr = message.add_instrs();
    instr->set_op(uint32_t(instruction.op));
    instr->mutable_operands()->Assign(instruction.operands.begin(), instruction.operands.end());
    instr->mutable_immediates()->Assign(instruction.immediates.begin(), instruction.immediates.end());
  }
  message.mutable_outputs()->Assign(program.outputs.begin(), program.outputs.end());
  return intern(programs, message, plan.mutable_pointwise());
}

uint32_t PlanTables::routine(pb::Routine routine) { return intern(routines, routine, plan.mutable_routines()); }

// ---- Routines ----

namespace {

std::string slotName(const UsedArea &area, const BlockSummary &block) {
  switch (area.kind) {
  case UsedArea::X: return "x";
  case UsedArea::Dy: return "dy";
  case UsedArea::Tokens: return "tokens";
  case UsedArea::Labels: return "labels";
  case UsedArea::LossScale: return "loss_scale";
  case UsedArea::Param: return "p:" + block.params[area.param].name;
  case UsedArea::ParamGrad: return "g:" + block.params[area.param].name;
  case UsedArea::Loss: return "loss";
  case UsedArea::Saved: return "saved";
  case UsedArea::Carried: return "carried";
  case UsedArea::Y: return "y";
  case UsedArea::Dx: return "dx";
  case UsedArea::Scratch: break;
  }
  return "scratch";
}

pb::Space spaceOf(UsedArea::Kind kind, pb::Space ySpace) {
  switch (kind) {
  case UsedArea::X: case UsedArea::Tokens: case UsedArea::Labels: case UsedArea::Saved: case UsedArea::Carried:
    return pb::SPACE_FRAME;
  case UsedArea::Dy: case UsedArea::Dx:
    return pb::SPACE_COMM;
  case UsedArea::LossScale: case UsedArea::Loss:
    return pb::SPACE_CONTROL;
  case UsedArea::Param:
    return pb::SPACE_PARAM;
  case UsedArea::ParamGrad:
    return pb::SPACE_GRAD;
  case UsedArea::Y:
    return ySpace;
  case UsedArea::Scratch:
    break;
  }
  return pb::SPACE_SCRATCH;
}

class RoutineBuilder {
public:
  RoutineBuilder(const BlockSummary &block, const std::vector<const PhaseProjection *> &coordinates,
                 const PhaseGraph &graph, const BlockFrame &frame, PlanTables &tables)
      : block(block), coordinates(coordinates), projection(*coordinates.front()), graph(graph), tables(tables),
        places(placesOf(projection, frame)) {}

  pb::Routine build(pb::Space ySpace);

private:
  pb::Ref refOf(Id local) const;
  void emitLaunch(const LocalLaunch &launch, size_t step);
  void emitCollective(const LocalCollective &collective);
  void emitCopies();

  const BlockSummary &block;
  const std::vector<const PhaseProjection *> &coordinates;
  const PhaseProjection &projection;
  const PhaseGraph &graph;
  PlanTables &tables;
  PhasePlaces places; // its areas are the slots
  pb::Routine routine;
};

pb::Ref RoutineBuilder::refOf(Id local) const {
  const LocalValue &value = projection.values[local];
  uint64_t offset = 0;
  Id root = local;
  for (; projection.values[root].viewOf != kNone; root = projection.values[root].viewOf)
    offset += uint64_t(projection.values[root].viewOffset) * bytesOf(value.dtype);
  pb::Ref ref;
  ref.set_slot(places.values[root].area);
  ref.set_offset(places.values[root].offset + offset);
  ref.mutable_shape()->Assign(value.shape.begin(), value.shape.end());
  ref.set_dtype(pb::DType(value.dtype));
  return ref;
}

void RoutineBuilder::emitLaunch(const LocalLaunch &local, size_t step) {
  const OpTemplate &op = graph.ops[local.op];
  pb::Instr *instr = routine.add_instrs();
  instr->set_origin(op.origin);
  pb::Launch *launch = instr->mutable_launch();
  launch->set_kernel(uint32_t(op.kernel));
  launch->set_work(tables.work(local.work));
  for (Id ref : local.refs)
    *launch->add_refs() = refOf(ref);
  launch->mutable_ints()->Assign(op.ints.begin(), op.ints.end());
  launch->mutable_doubles()->Assign(op.doubles.begin(), op.doubles.end());
  for (size_t i = 0; i < local.offsets.size(); ++i) {
    pb::Offset *offset = launch->add_offsets();
    offset->set_constant(local.offsets[i]);
    if (coordinates.size() > 1)
      offset->set_per_coord(coordinates[1]->steps[step].launch.offsets[i] - local.offsets[i]);
  }
  if (op.pointwise >= 0)
    launch->set_pointwise(tables.pointwise(block.pointwise[op.pointwise]));
}

void RoutineBuilder::emitCollective(const LocalCollective &local) {
  static constexpr pb::CollectiveKind kinds[] = {pb::COLLECTIVE_ALL_REDUCE, pb::COLLECTIVE_ALL_GATHER, pb::COLLECTIVE_REDUCE_SCATTER};
  pb::Instr *instr = routine.add_instrs();
  instr->set_origin(local.origin);
  pb::Collective *collective = instr->mutable_batch()->add_collectives();
  collective->set_kind(kinds[local.kind]);
  *collective->mutable_in() = refOf(local.in);
  *collective->mutable_out() = refOf(local.out);
  if (local.kind != LocalCollective::AllGather)
    collective->set_reduce(pb::ReduceKind(local.reduction));
  collective->mutable_counts()->Assign(local.counts.begin(), local.counts.end());
}

void RoutineBuilder::emitCopies() {
  for (const auto &[local, place] : places.copies) {
    pb::Copy *copy = routine.add_instrs()->mutable_copy();
    *copy->mutable_from() = refOf(local);
    *copy->mutable_to() = refOf(local);
    copy->mutable_to()->set_slot(place.area);
    copy->mutable_to()->set_offset(place.offset);
  }
}

pb::Routine RoutineBuilder::build(pb::Space ySpace) {
  routine.set_block(block.name);
  routine.set_phase(pb::Phase(projection.phase));
  for (const UsedArea &area : places.areas) {
    pb::Slot *slot = routine.add_slots();
    slot->set_name(slotName(area, block));
    slot->set_space(spaceOf(area.kind, ySpace));
    slot->set_bytes(area.bytes);
  }
  for (size_t step = 0; step < projection.steps.size(); ++step)
    if (projection.steps[step].kind == Step::Launch)
      emitLaunch(projection.steps[step].launch, step);
    else
      emitCollective(projection.steps[step].collective);
  emitCopies();
  return std::move(routine);
}

} // namespace

pb::Routine buildRoutine(const BlockSummary &block, const std::string &variant,
                         const std::vector<const BlockProjection *> &coordinates, Phase phase, pb::Space ySpace,
                         PlanTables &tables) {
  std::vector<const PhaseProjection *> phases;
  for (const BlockProjection *projection : coordinates)
    phases.push_back(projection->find(phase));
  BlockFrame frame = frameOf(*coordinates.front());
  pb::Routine routine = RoutineBuilder(block, phases, *block.find(phase, variant), frame, tables).build(ySpace);
  routine.set_variant(variant);
  static constexpr const char *names[] = {"", "forward", "backward", "backward_input", "backward_weight"};
  routine.set_name(block.name + "." + names[uint32_t(phase)] + "." + variant);
  return routine;
}

// ---- Merging coordinates ----

static bool sameShapes(const PhaseProjection &a, const PhaseProjection &b) {
  if (a.values.size() != b.values.size() || a.steps.size() != b.steps.size())
    return false;
  for (size_t i = 0; i < a.values.size(); ++i)
    if (a.values[i].shape != b.values[i].shape || a.values[i].viewOffset != b.values[i].viewOffset)
      return false;
  return true;
}

/// v[k] = v[0] + k * (v[1] - v[0]) for all k.
template <typename Get> static bool evenSteps(size_t count, Get get) {
  for (size_t k = 2; k < count; ++k)
    if (get(k) - get(k - 1) != get(1) - get(0))
      return false;
  return true;
}

bool mergeable(const std::vector<const BlockProjection *> &coordinates) {
  const BlockProjection &first = *coordinates.front();
  for (const BlockProjection *other : coordinates)
    for (size_t p = 0; p < first.phases.size(); ++p)
      if (!sameShapes(first.phases[p], other->phases[p]))
        return false;
  for (size_t p = 0; p < first.phases.size(); ++p)
    for (size_t s = 0; s < first.phases[p].steps.size(); ++s)
      for (size_t i = 0; i < first.phases[p].steps[s].launch.offsets.size(); ++i)
        if (!evenSteps(coordinates.size(), [&](size_t k) { return coordinates[k]->phases[p].steps[s].launch.offsets[i]; }))
          return false;
  for (size_t i = 0; i < first.params.size(); ++i)
    for (size_t d = 0; d < first.params[i].start.size(); ++d)
      if (!evenSteps(coordinates.size(), [&](size_t k) { return coordinates[k]->params[i].start[d]; }))
        return false;
  return true;
}

} // namespace plait
