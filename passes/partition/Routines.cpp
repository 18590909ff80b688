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

// ---- Frames ----

static Id rootOf(const PhaseProjection &projection, Id local) {
  while (projection.values[local].viewOf != kNone)
    local = projection.values[local].viewOf;
  return local;
}

static bool isInput(const PhaseProjection &p, Id root) {
  return root == p.x || root == p.dy || root == p.tokens || root == p.labels || root == p.lossScale;
}

/// `stored(local)`: the value needs room of its own; else a later phase finds it where it already is.
template <typename Stored>
static CrossingArea areaOf(const PhaseProjection &producer, const std::vector<Id> &locals, Stored stored) {
  CrossingArea area;
  for (Id local : locals) {
    bool byReference = local == kNone || !stored(local);
    area.offsets.push_back(byReference ? kByReference : area.bytes);
    if (!byReference)
      area.bytes += alignUp(producer.values[local].bytes());
  }
  return area;
}

BlockFrame frameOf(const BlockProjection &projection) {
  BlockFrame frame;
  const PhaseProjection &forward = *projection.find(Phase::Forward);
  frame.saved = areaOf(forward, forward.saved, [&](Id local) { return !isInput(forward, local); });
  if (const PhaseProjection *input = projection.find(Phase::BackwardInput))
    // dy stands in a buffer that the next block's backward reuses, so a later weight gradient needs its own copy.
    frame.carried = areaOf(*input, input->carried, [&](Id local) {
      bool saved = std::find(input->saved.begin(), input->saved.end(), local) != input->saved.end();
      return local == input->dy || !(saved || isInput(*input, local));
    });
  return frame;
}

// ---- Routines ----

namespace {

struct Place {
  uint32_t slot = 0;
  uint64_t offset = 0;
  bool set = false;
};

class RoutineBuilder {
public:
  RoutineBuilder(const BlockSummary &block, const std::vector<const PhaseProjection *> &coordinates,
                 const PhaseGraph &graph, const BlockFrame &frame, PlanTables &tables)
      : block(block), coordinates(coordinates), projection(*coordinates.front()), graph(graph), frame(frame), tables(tables),
        places(projection.values.size()) {}

  pb::Routine build(pb::Space ySpace);

private:
  uint32_t slot(const std::string &name, pb::Space space, uint64_t bytes);
  void place(Id local, uint32_t slot, uint64_t offset) { places[local] = {slot, offset, true}; }
  void placeInput(Id local, const char *name, pb::Space space);
  void placeParams();
  void placeCrossing(const std::vector<Id> &locals, const CrossingArea &area, const char *name, bool produced);
  void placeResult(Id local, const char *name, pb::Space space);
  void placeScratch();
  pb::Ref refOf(Id local) const;
  void emitLaunch(const LocalLaunch &launch, size_t step);
  void emitCollective(const LocalCollective &collective);
  void emitCopies();

  const BlockSummary &block;
  const std::vector<const PhaseProjection *> &coordinates;
  const PhaseProjection &projection;
  const PhaseGraph &graph;
  const BlockFrame &frame;
  PlanTables &tables;
  std::vector<Place> places; // of roots; views add their offset
  std::vector<std::pair<Id, Place>> copies; // values that must also stand elsewhere when the routine ends
  pb::Routine routine;
};

uint32_t RoutineBuilder::slot(const std::string &name, pb::Space space, uint64_t bytes) {
  for (int i = 0; i < routine.slots_size(); ++i)
    if (routine.slots(i).name() == name)
      return i;
  pb::Slot *added = routine.add_slots();
  added->set_name(name);
  added->set_space(space);
  added->set_bytes(bytes);
  return routine.slots_size() - 1;
}

void RoutineBuilder::placeInput(Id local, const char *name, pb::Space space) {
  if (local != kNone)
    place(local, slot(name, space, projection.values[local].bytes()), 0);
}

void RoutineBuilder::placeParams() {
  for (Id index = 0; index < block.params.size(); ++index) {
    if (Id local = projection.params[index]; local != kNone)
      place(local, slot("p:" + block.params[index].name, pb::SPACE_PARAM, projection.values[local].bytes()), 0);
    if (Id local = projection.paramGrads[index]; local != kNone)
      place(local, slot("g:" + block.params[index].name, pb::SPACE_GRAD, projection.values[local].bytes()), 0);
  }
}

void RoutineBuilder::placeCrossing(const std::vector<Id> &locals, const CrossingArea &area, const char *name, bool produced) {
  for (size_t i = 0; i < locals.size(); ++i) {
    if (locals[i] == kNone || area.offsets[i] == kByReference)
      continue;
    uint32_t at = slot(name, pb::SPACE_FRAME, area.bytes);
    Id root = produced ? rootOf(projection, locals[i]) : locals[i];
    if (places[root].set || projection.values[locals[i]].viewOffset != 0)
      copies.push_back({locals[i], {at, area.offsets[i], true}});
    else
      place(root, at, area.offsets[i]);
  }
}

void RoutineBuilder::placeResult(Id local, const char *name, pb::Space space) {
  if (local == kNone)
    return;
  uint32_t at = slot(name, space, projection.values[local].bytes());
  Id root = rootOf(projection, local);
  if (places[root].set)
    copies.push_back({local, {at, 0, true}});
  else
    place(root, at, 0);
}

/// First-fit by lifetime: a value lives from the step that makes it to the last step that reads it or a view of it.
void RoutineBuilder::placeScratch() {
  struct Life {
    size_t first = ~size_t(0), last = 0;
  };
  std::vector<Life> lives(projection.values.size());
  auto touch = [&](Id local, size_t step) {
    Life &life = lives[rootOf(projection, local)];
    life.first = std::min(life.first, step);
    life.last = std::max(life.last, step);
  };
  for (size_t step = 0; step < projection.steps.size(); ++step) {
    const Step &s = projection.steps[step];
    if (s.kind == Step::Launch)
      for (Id ref : s.launch.refs)
        touch(ref, step);
    else
      for (Id ref : {s.collective.in, s.collective.out})
        touch(ref, step);
  }
  for (auto &[local, place] : copies)
    touch(local, projection.steps.size());
  struct Block {
    uint64_t begin, end;
    size_t last;
  };
  std::vector<Block> live; // ordered by begin
  uint64_t total = 0;
  std::vector<std::pair<Id, uint64_t>> placed;
  for (size_t step = 0; step < projection.steps.size(); ++step)
    for (Id root = 0; root < projection.values.size(); ++root) {
      if (places[root].set || projection.values[root].viewOf != kNone || lives[root].first != step)
        continue;
      std::erase_if(live, [&](const Block &b) { return b.last < step; });
      uint64_t bytes = alignUp(projection.values[root].bytes()), begin = 0;
      auto at = live.begin();
      for (; at != live.end() && at->begin < begin + bytes; ++at)
        begin = std::max(begin, at->end);
      live.insert(at, {begin, begin + bytes, lives[root].last});
      std::sort(live.begin(), live.end(), [](const Block &a, const Block &b) { return a.begin < b.begin; });
      total = std::max(total, begin + bytes);
      placed.push_back({root, begin});
    }
  if (placed.empty())
    return;
  uint32_t scratch = slot("scratch", pb::SPACE_SCRATCH, total);
  for (auto [root, begin] : placed)
    place(root, scratch, begin);
}

pb::Ref RoutineBuilder::refOf(Id local) const {
  const LocalValue &value = projection.values[local];
  uint64_t offset = 0;
  Id root = local;
  for (; projection.values[root].viewOf != kNone; root = projection.values[root].viewOf)
    offset += uint64_t(projection.values[root].viewOffset) * bytesOf(value.dtype);
  pb::Ref ref;
  ref.set_slot(places[root].slot);
  ref.set_offset(places[root].offset + offset);
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
  for (auto &[local, place] : copies) {
    pb::Copy *copy = routine.add_instrs()->mutable_copy();
    *copy->mutable_from() = refOf(local);
    *copy->mutable_to() = refOf(local);
    copy->mutable_to()->set_slot(place.slot);
    copy->mutable_to()->set_offset(place.offset);
  }
}

pb::Routine RoutineBuilder::build(pb::Space ySpace) {
  bool forward = projection.phase == Phase::Forward;
  routine.set_block(block.name);
  routine.set_phase(pb::Phase(projection.phase));
  placeInput(projection.x, "x", pb::SPACE_FRAME);
  bool heldGradient = projection.phase == Phase::BackwardWeight;
  if (!heldGradient)
    placeInput(projection.dy, "dy", pb::SPACE_COMM);
  placeInput(projection.tokens, "tokens", pb::SPACE_FRAME);
  placeInput(projection.labels, "labels", pb::SPACE_FRAME);
  placeInput(projection.lossScale, "loss_scale", pb::SPACE_CONTROL);
  placeParams();
  if (projection.loss != kNone)
    placeResult(projection.loss, "loss", pb::SPACE_CONTROL);
  placeCrossing(projection.saved, frame.saved, "saved", forward);
  if (!forward)
    placeCrossing(projection.carried, frame.carried, "carried", projection.phase == Phase::BackwardInput);
  placeResult(projection.y, "y", ySpace);
  placeResult(projection.dx, "dx", pb::SPACE_COMM);
  placeScratch();
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
