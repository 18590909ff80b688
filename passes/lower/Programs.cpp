#include "passes/lower/Programs.h"
#include <algorithm>

namespace plait {

namespace {

/// Offsets of one block of the chunk inside the frame.
struct UseFrame {
  uint64_t x = 0, saved = 0, carried = 0;
};

class ProgramBuilder {
public:
  ProgramBuilder(const StageTable &table, const StageInstance &instance, const std::vector<uint32_t> &coordinates,
                 const ParamOffsets &params, PlanTables &tables, pb::Plan &plan, pb::Role &role)
      : table(table), instance(instance), coordinates(coordinates), params(params), tables(tables), plan(plan), role(role) {}

  RoleMemory build();

private:
  const Stage &stage() const { return *instance.decisions; }
  const BlockUse &use(Id index) const { return table.model().chain[index]; }
  const BlockSummary &kind(Id index) const { return table.model().kinds[use(index).kind]; }
  const BlockProjection &projection(Id index) const {
    return instance.projections.at(use(index).kind)[coordinates.front()];
  }
  std::vector<const BlockProjection *> projections(Id index) const {
    std::vector<const BlockProjection *> list;
    for (uint32_t k : coordinates)
      list.push_back(&instance.projections.at(use(index).kind)[k]);
    return list;
  }
  void layoutFrame();
  void layoutBoundaries();
  void addProgram(Phase phase);
  uint32_t routineOf(Id index, Phase phase);
  uint64_t bind(const pb::Slot &slot, Id index);
  uint64_t paramElement(const std::string &param, Id index) const;
  void addPort(const char *name, pb::Space space, uint64_t offset, uint64_t bytes);

  const StageTable &table;
  const StageInstance &instance;
  const std::vector<uint32_t> &coordinates;
  const ParamOffsets &params;
  PlanTables &tables;
  pb::Plan &plan;
  pb::Role &role;
  RoleMemory memory;
  std::vector<UseFrame> frames;
  uint64_t yOut = 0, dyIn = 0, between = 0, dxOut = 0; // COMM offsets
  std::map<std::pair<Id, uint32_t>, uint32_t> routines; // (kind, phase; forward of the last block apart)
};

static uint64_t localBytes(const PhaseProjection &phase, Id local) {
  return local == kNone ? 0 : phase.values[local].bytes();
}

void ProgramBuilder::layoutFrame() {
  uint64_t at = 0;
  auto take = [&](uint64_t bytes) {
    uint64_t offset = at;
    at += alignUp(bytes);
    return offset;
  };
  for (Id index = stage().firstUse; index < stage().endUse; ++index) {
    const PhaseProjection &forward = *projection(index).find(Phase::Forward);
    if (forward.tokens != kNone && !memory.hasTokens) {
      memory.hasTokens = true;
      memory.tokensOffset = take(localBytes(forward, forward.tokens));
    }
    if (forward.labels != kNone && !memory.hasLabels) {
      memory.hasLabels = true;
      memory.labelsOffset = take(localBytes(forward, forward.labels));
    }
  }
  for (Id index = stage().firstUse; index < stage().endUse; ++index) {
    const BlockProjection &block = projection(index);
    const PhaseProjection &forward = *block.find(Phase::Forward);
    BlockFrame frame = frameOf(block);
    UseFrame use;
    use.x = take(localBytes(forward, forward.x));
    use.saved = take(frame.saved.bytes);
    use.carried = take(frame.carried.bytes);
    frames.push_back(use);
  }
  memory.frameBytes = at;
}

void ProgramBuilder::addPort(const char *name, pb::Space space, uint64_t offset, uint64_t bytes) {
  pb::Port *port = role.add_ports();
  port->set_name(name);
  port->set_space(space);
  port->set_offset(offset);
  port->set_bytes(bytes);
}

void ProgramBuilder::layoutBoundaries() {
  Id first = stage().firstUse, last = stage().endUse - 1;
  const PhaseProjection &entry = *projection(first).find(Phase::Forward), &exit = *projection(last).find(Phase::Forward);
  uint64_t yBytes = localBytes(exit, exit.y), xBytes = localBytes(entry, entry.x), gradient = std::max(xBytes, yBytes);
  for (Id index = first; index <= last; ++index) {
    const PhaseProjection &forward = *projection(index).find(Phase::Forward);
    gradient = std::max({gradient, localBytes(forward, forward.x), localBytes(forward, forward.y)});
  }
  yOut = 0;
  dyIn = yOut + alignUp(yBytes);
  between = dyIn + alignUp(gradient);
  dxOut = between + (first == last ? 0 : alignUp(gradient));
  memory.boundaryBytes = dxOut + alignUp(xBytes);
  addPort("x", pb::SPACE_FRAME, frames.front().x, xBytes);
  addPort("y", pb::SPACE_COMM, yOut, yBytes);
  addPort("dy", pb::SPACE_COMM, dyIn, yBytes);
  addPort("dx", pb::SPACE_COMM, dxOut, xBytes);
}

uint32_t ProgramBuilder::routineOf(Id index, Phase phase) {
  bool leaves = phase == Phase::Forward && index + 1 == stage().endUse;
  auto [at, inserted] = routines.emplace(std::pair{use(index).kind, uint32_t(phase) + (leaves ? 16 : 0)}, 0);
  if (inserted)
    at->second = tables.routine(buildRoutine(kind(index), stage().recompute, projections(index), phase,
                                             leaves ? pb::SPACE_COMM : pb::SPACE_FRAME, tables));
  return at->second;
}

uint64_t ProgramBuilder::paramElement(const std::string &param, Id index) const {
  Id slot = indexOfName(kind(index).params, param);
  return params.at(use(index).params[slot]);
}

uint64_t ProgramBuilder::bind(const pb::Slot &slot, Id index) {
  const std::string &name = slot.name();
  const UseFrame &frame = frames[index - stage().firstUse];
  const Precision &precision = table.problem->job.precision;
  bool last = index + 1 == stage().endUse, first = index == stage().firstUse;
  // Gradients alternate between two buffers on their way from the last block to the first.
  bool odd = (stage().endUse - 1 - index) % 2;
  if (name == "x")
    return frame.x;
  if (name == "y")
    return last ? yOut : frames[index - stage().firstUse + 1].x;
  if (name == "dy")
    return odd ? between : dyIn;
  if (name == "dx")
    return first ? dxOut : odd ? dyIn : between;
  if (name == "saved")
    return frame.saved;
  if (name == "carried")
    return frame.carried;
  if (name == "tokens")
    return memory.tokensOffset;
  if (name == "labels")
    return memory.labelsOffset;
  if (name == "loss")
    return kLossOffset;
  if (name == "loss_scale")
    return kLossScaleOffset;
  if (name.starts_with("p:"))
    return paramElement(name.substr(2), index) * bytesOf(precision.param);
  if (name.starts_with("g:"))
    return paramElement(name.substr(2), index) * bytesOf(precision.grad);
  return 0; // scratch
}

void ProgramBuilder::addProgram(Phase phase) {
  pb::Program *program = plan.add_programs();
  program->set_phase(pb::Phase(phase));
  static constexpr const char *names[] = {"", "forward", "backward", "backward_input", "backward_weight"};
  program->set_name("r" + std::to_string(instance.replica) + ".s" + std::to_string(instance.stage) + "." + names[uint32_t(phase)]);
  role.add_programs(plan.programs_size() - 1);
  Id count = stage().endUse - stage().firstUse;
  for (Id i = 0; i < count; ++i) {
    Id index = phase == Phase::Forward ? stage().firstUse + i : stage().endUse - 1 - i;
    uint32_t routine = routineOf(index, phase);
    const pb::Routine &code = plan.routines(routine);
    if (code.instrs_size() == 0)
      continue;
    pb::Call *call = program->add_calls();
    call->set_routine(routine);
    call->set_layer(use(index).layer);
    for (const pb::Slot &slot : code.slots()) {
      call->add_bind(bind(slot, index));
      if (slot.space() == pb::SPACE_SCRATCH)
        memory.scratchBytes = std::max<uint64_t>(memory.scratchBytes, slot.bytes());
    }
  }
}

RoleMemory ProgramBuilder::build() {
  layoutFrame();
  layoutBoundaries();
  addProgram(Phase::Forward);
  if (stage().splitWeightGrad) {
    addProgram(Phase::BackwardInput);
    addProgram(Phase::BackwardWeight);
  } else {
    addProgram(Phase::Backward);
  }
  return memory;
}

} // namespace

RoleMemory buildPrograms(const StageTable &table, const StageInstance &instance, const std::vector<uint32_t> &coordinates,
                         const ParamOffsets &params, PlanTables &tables, pb::Plan &plan, pb::Role &role) {
  return ProgramBuilder(table, instance, coordinates, params, tables, plan, role).build();
}

} // namespace plait
