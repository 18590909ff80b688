#include "passes/lower/Programs.h"
#include <algorithm>

namespace plait {

namespace {

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
  void layoutMemory();
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
  FrameLayout frame;
  BoundaryLayout comm;
  std::map<std::pair<Id, uint32_t>, uint32_t> routines; // (kind, phase; forward of the last block apart)
};

void ProgramBuilder::layoutMemory() {
  std::vector<BlockMemory> blocks;
  for (Id index = stage().firstUse; index < stage().endUse; ++index)
    blocks.push_back(memoryOf(projection(index)));
  std::vector<const BlockMemory *> pointers;
  for (const BlockMemory &block : blocks) {
    pointers.push_back(&block);
    memory.hasTokens |= block.tokens > 0;
    memory.hasLabels |= block.labels > 0;
    memory.scratchBytes = std::max(memory.scratchBytes, block.scratch);
  }
  memory.frameBytes = frameBytes(pointers, &frame);
  memory.tokensOffset = frame.tokens;
  memory.labelsOffset = frame.labels;
  memory.boundaryBytes = boundaryBytes(pointers, &comm);
  addPort("x", pb::SPACE_FRAME, frame.uses.front().x, blocks.front().x);
  addPort("y", pb::SPACE_COMM, comm.y, blocks.back().y);
  addPort("dy", pb::SPACE_COMM, comm.dy, blocks.back().y);
  addPort("dx", pb::SPACE_COMM, comm.dx, blocks.front().x);
}

void ProgramBuilder::addPort(const char *name, pb::Space space, uint64_t offset, uint64_t bytes) {
  pb::Port *port = role.add_ports();
  port->set_name(name);
  port->set_space(space);
  port->set_offset(offset);
  port->set_bytes(bytes);
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
  const FrameLayout::Use &own = frame.uses[index - stage().firstUse];
  const Precision &precision = table.problem->job.precision;
  bool last = index + 1 == stage().endUse, first = index == stage().firstUse;
  // Gradients alternate between two buffers on their way from the last block to the first.
  bool odd = (stage().endUse - 1 - index) % 2;
  if (name == "x")
    return own.x;
  if (name == "y")
    return last ? comm.y : frame.uses[index - stage().firstUse + 1].x;
  if (name == "dy")
    return odd ? comm.between : comm.dy;
  if (name == "dx")
    return first ? comm.dx : odd ? comm.dy : comm.between;
  if (name == "saved")
    return own.saved;
  if (name == "carried")
    return own.carried;
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
    for (const pb::Slot &slot : code.slots())
      call->add_bind(bind(slot, index));
  }
}

RoleMemory ProgramBuilder::build() {
  layoutMemory();
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
