#include "runtime/executor/Program.h"
#include <algorithm>

namespace plait {

namespace {

uint64_t elementsOf(const TensorDesc &desc) {
  uint64_t elements = 1;
  for (int64_t size : desc.shape)
    elements *= uint64_t(size);
  return elements;
}

bool isDense(const TensorDesc &desc) {
  int64_t expected = 1;
  for (size_t d = desc.shape.size(); d-- > 0; expected *= desc.shape[d])
    if (desc.shape[d] != 1 && desc.stride[d] != expected)
      return false;
  return true;
}

Instruction::Address addressOf(const pb::Ref &ref) { return {ref.slot(), ref.offset()}; }

/// Clears a strided region dimension by dimension; a dense one at once.
void zeroRegion(Backend &backend, const TensorDesc &desc, size_t dimension, std::byte *data) {
  if (dimension == desc.shape.size() || (dimension == 0 && isDense(desc))) {
    backend.zero(data, (dimension == 0 ? elementsOf(desc) : 1) * uint64_t(bytesOf(desc.dtype)));
    return;
  }
  const bool last = dimension + 1 == desc.shape.size();
  if (last && desc.stride[dimension] == 1) {
    backend.zero(data, uint64_t(desc.shape[dimension] * bytesOf(desc.dtype)));
    return;
  }
  for (int64_t i = 0; i < desc.shape[dimension]; ++i)
    zeroRegion(backend, desc, dimension + 1, data + i * desc.stride[dimension] * bytesOf(desc.dtype));
}

} // namespace

TensorDesc describe(const pb::Ref &ref) {
  TensorDesc desc;
  desc.shape.assign(ref.shape().begin(), ref.shape().end());
  desc.stride.assign(ref.stride().begin(), ref.stride().end());
  if (desc.stride.empty()) {
    desc.stride.assign(desc.shape.size(), 1);
    for (size_t d = desc.shape.size(); d-- > 1;)
      desc.stride[d - 1] = desc.stride[d] * desc.shape[d];
  }
  desc.dtype = DType(ref.dtype());
  return desc;
}

Status ProgramRunner::compileLaunch(const pb::Launch &launch, Instruction &result) {
  LaunchDesc desc;
  desc.kernel = Kernel(launch.kernel());
  for (const pb::Ref &ref : launch.refs()) {
    desc.refs.push_back(describe(ref));
    result.refs.push_back(addressOf(ref));
  }
  desc.ints.assign(launch.ints().begin(), launch.ints().end());
  desc.doubles.assign(launch.doubles().begin(), launch.doubles().end());
  for (const pb::Offset &offset : launch.offsets())
    desc.offsets.push_back(place.evaluate(offset));
  if (desc.kernel == Kernel::Pointwise)
    desc.pointwise = &plan.pointwise(int(launch.pointwise()));
  Result<std::unique_ptr<CompiledLaunch>> compiled = backend.compile(desc);
  if (!compiled)
    return compiled.error();
  result.launch = std::move(*compiled);
  return success();
}

Status ProgramRunner::compileBatch(const pb::Batch &batch, Instruction &result) {
  for (const pb::Collective &collective : batch.collectives()) {
    auto group = groups.find(collective.axis());
    if (group == groups.end())
      return Error{ExitCode::CheckFailed, "a collective names axis " + std::to_string(collective.axis()) +
                                              ", its role has " + std::to_string(groups.size())};
    const TensorDesc in = describe(collective.in()), out = describe(collective.out());
    if (!isDense(in) || !isDense(out))
      return Error{ExitCode::CheckFailed, "an operand of a collective is not dense"};
    CollectiveCall call;
    call.kind = collective.kind();
    call.group = &group->second;
    call.elements = elementsOf(collective.kind() == pb::COLLECTIVE_ALL_GATHER ? out : in);
    call.dtype = in.dtype;
    call.reduce = collective.reduce();
    call.counts = {collective.counts().data(), size_t(collective.counts_size())};
    call.root = collective.root();
    call.origin = result.origin.data();
    result.bytes += call.elements * uint64_t(bytesOf(call.dtype));
    result.collectives.push_back(call);
    result.refs.push_back(addressOf(collective.in()));
    result.refs.push_back(addressOf(collective.out()));
  }
  return success();
}

Result<Instruction> ProgramRunner::compile(const pb::Instr &instr) {
  Instruction result;
  result.origin = instr.origin();
  switch (instr.what_case()) {
  case pb::Instr::kLaunch:
    if (Status compiled = compileLaunch(instr.launch(), result); !compiled)
      return compiled.error();
    break;
  case pb::Instr::kBatch:
    result.kind = Instruction::Kind::Batch;
    if (Status compiled = compileBatch(instr.batch(), result); !compiled)
      return compiled.error();
    break;
  case pb::Instr::kZero:
    result.kind = Instruction::Kind::Zero;
    result.to = describe(instr.zero());
    result.refs = {addressOf(instr.zero())};
    break;
  case pb::Instr::kCopy:
    result.kind = Instruction::Kind::Copy;
    result.from = describe(instr.copy().from());
    result.to = describe(instr.copy().to());
    result.refs = {addressOf(instr.copy().from()), addressOf(instr.copy().to())};
    break;
  case pb::Instr::WHAT_NOT_SET: return Error{ExitCode::CheckFailed, "the instruction is empty"};
  }
  return result;
}

Status ProgramRunner::compileRoutine(uint32_t index) {
  Routine &routine = routines[index];
  if (routine.plan)
    return success();
  routine.plan = &plan.routines(int(index));
  for (const pb::Instr &instr : routine.plan->instrs()) {
    Result<Instruction> instruction = compile(instr);
    if (!instruction)
      return Error{instruction.error().code, "routine '" + routine.plan->name() + "', instruction " +
                                                 std::to_string(routine.instructions.size()) + " (" + instr.origin() +
                                                 "): " + instruction.error().message};
    addresses.resize(std::max(addresses.size(), instruction->refs.size()));
    routine.instructions.push_back(std::move(*instruction));
  }
  slotBase.resize(std::max(slotBase.size(), size_t(routine.plan->slots_size())));
  return success();
}

Result<std::unique_ptr<ProgramRunner>> ProgramRunner::create(const pb::Plan &plan, const RankPlace &place,
                                                             Backend &backend, const Arenas &arenas) {
  std::unique_ptr<ProgramRunner> runner(new ProgramRunner(plan, place, backend, arenas));
  const pb::Role &role = place.role();
  for (int axis = 0; axis < role.axis_families_size(); ++axis)
    if (std::optional<RankGroup> group = groupOf(plan, role.axis_families(axis), place.rank()))
      runner->groups[uint32_t(axis)] = {group->id, std::move(group->name), std::move(group->ranks), group->index};
  for (uint32_t program : role.programs())
    for (const pb::Call &call : plan.programs(int(program)).calls())
      if (Status compiled = runner->compileRoutine(call.routine()); !compiled)
        return compiled.error();
  return runner;
}

Status ProgramRunner::runInstruction(Instruction &instruction, Communicator &communicator,
                                     Communicator::Clock::time_point deadline) {
  for (size_t r = 0; r < instruction.refs.size(); ++r)
    addresses[r] = slotBase[instruction.refs[r].slot] + instruction.refs[r].offset;
  switch (instruction.kind) {
  case Instruction::Kind::Launch: instruction.launch->run(addresses.data()); break;
  case Instruction::Kind::Zero:
    zeroRegion(backend, instruction.to, 0, static_cast<std::byte *>(addresses[0]));
    break;
  case Instruction::Kind::Copy: backend.copy(instruction.from, addresses[0], instruction.to, addresses[1]); break;
  case Instruction::Kind::Batch:
    for (size_t c = 0; c < instruction.collectives.size(); ++c) {
      instruction.collectives[c].in = addresses[2 * c];
      instruction.collectives[c].out = addresses[2 * c + 1];
    }
    return communicator.run(instruction.collectives, {}, deadline);
  }
  return success();
}

Status ProgramRunner::run(uint32_t program, uint32_t frame, Communicator &communicator,
                          Communicator::Clock::time_point deadline, Trace *trace) {
  const pb::Program &code = plan.programs(int(place.role().programs(int(program))));
  for (const pb::Call &call : code.calls()) {
    Routine &routine = routines.find(call.routine())->second;
    for (int slot = 0; slot < routine.plan->slots_size(); ++slot) {
      const pb::Space space = routine.plan->slots(slot).space();
      std::byte *base = space == pb::SPACE_FRAME ? arenas.frame(code.frame_class(), frame) : arenas.base(space);
      slotBase[slot] = base + call.bind(slot);
    }
    for (Instruction &instruction : routine.instructions) {
      const Trace::Clock::time_point start = Trace::Clock::now();
      if (Status done = runInstruction(instruction, communicator, deadline); !done)
        return Error{done.error().code, instruction.origin.empty()
                                            ? done.error().message
                                            : std::string(instruction.origin) + ": " + done.error().message};
      if (trace)
        trace->add(instruction.origin, 0, start, instruction.bytes);
    }
  }
  return success();
}

} // namespace plait
