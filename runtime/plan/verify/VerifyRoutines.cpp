#include "runtime/plan/DType.h"
#include "runtime/plan/Kernels.h"
#include "runtime/plan/verify/Phases.h"
#include <algorithm>

namespace plait {

std::optional<RefExtent> extentOf(const pb::Ref &ref) {
  constexpr uint64_t kLimit = uint64_t(1) << 62;
  auto width = static_cast<uint64_t>(bytesOf(static_cast<DType>(ref.dtype())));
  bool isStrided = ref.stride_size() > 0;
  if (isStrided && ref.stride_size() != ref.shape_size())
    return std::nullopt;
  RefExtent extent{1, 0, true};
  uint64_t last = 0, dense = 1;
  for (int k = ref.shape_size() - 1; k >= 0; --k) {
    if (ref.shape(k) < 0 || (isStrided && ref.stride(k) < 0))
      return std::nullopt;
    auto size = static_cast<uint64_t>(ref.shape(k)), stride = isStrided ? static_cast<uint64_t>(ref.stride(k)) : dense;
    if (size > 0 && (extent.elements > kLimit / size || dense > kLimit / size))
      return std::nullopt;
    if (size > 1 && stride > (kLimit - last) / (size - 1))
      return std::nullopt;
    last += size > 1 ? (size - 1) * stride : 0;
    extent.elements *= size;
    extent.isDense &= size <= 1 || stride == dense;
    dense *= size > 0 ? size : 1;
  }
  if (extent.elements && last >= kLimit / 8)
    return std::nullopt;
  extent.bytes = extent.elements ? (last + 1) * width : 0;
  return extent;
}

namespace {

class RoutineVerifier {
public:
  RoutineVerifier(const pb::Plan &plan, const pb::Routine &routine, Faults &faults)
      : plan(plan), routine(routine), faults(faults) {}

  void verify(const std::string &place) {
    for (int i = 0; i < routine.slots_size(); ++i)
      if (!pb::Space_IsValid(routine.slots(i).space()) || routine.slots(i).space() == pb::SPACE_NONE)
        faults.add(place, placeOf("slot", i, routine.slots(i).name()) + " has no space");
    for (int i = 0; i < routine.instrs_size(); ++i) {
      const pb::Instr &instr = routine.instrs(i);
      verifyInstr(place + ", " + placeOf("instruction", i, instr.origin()), instr);
    }
  }

private:
  std::optional<RefExtent> verifyRef(const std::string &place, const pb::Ref &ref) {
    if (!faults.checkIndex(place, "slot", ref.slot(), routine.slots_size()))
      return std::nullopt;
    const pb::Slot &slot = routine.slots(static_cast<int>(ref.slot()));
    auto width = static_cast<uint64_t>(bytesOf(static_cast<DType>(ref.dtype())));
    if (width == 0) {
      faults.add(place, "an operand has no type");
      return std::nullopt;
    }
    std::optional<RefExtent> extent = extentOf(ref);
    if (!extent) {
      faults.add(place, "an operand's shape and strides make no sense");
      return std::nullopt;
    }
    if (ref.offset() % width)
      faults.add(place, "offset " + std::to_string(ref.offset()) + " is no multiple of the " + std::to_string(width) +
                            " bytes of an element");
    if (ref.offset() > slot.bytes() || extent->bytes > slot.bytes() - ref.offset())
      faults.add(place, "an operand of " + std::to_string(extent->bytes) + " bytes at " + std::to_string(ref.offset()) +
                            " leaves " + placeOf("slot", ref.slot(), slot.name()) + " of " +
                            std::to_string(slot.bytes()) + " bytes");
    return extent;
  }

  void verifyLaunch(const std::string &place, const pb::Launch &launch) {
    for (const pb::Ref &ref : launch.refs())
      verifyRef(place, ref);
    auto kernel = static_cast<Kernel>(launch.kernel());
    if (launch.kernel() == 0 || kernelName(kernel) == "?")
      return faults.add(place, "kernel " + std::to_string(launch.kernel()) + " is not known");
    if (faults.checkIndex(place, "work", launch.work(), plan.works_size()) &&
        plan.works(static_cast<int>(launch.work())).kernel() != launch.kernel())
      faults.add(place, "it launches " + std::string(kernelName(kernel)) + ", its work is of " +
                            std::string(kernelName(static_cast<Kernel>(plan.works(static_cast<int>(launch.work())).kernel()))));
    if (kernel == Kernel::Pointwise &&
        faults.checkIndex(place, "pointwise program", launch.pointwise(), plan.pointwise_size())) {
      const pb::PointwiseProgram &program = plan.pointwise(static_cast<int>(launch.pointwise()));
      if (launch.refs_size() != program.inputs_size() + program.outputs_size())
        faults.add(place, std::to_string(launch.refs_size()) + " operands for a pointwise program of " +
                              std::to_string(program.inputs_size()) + " inputs and " +
                              std::to_string(program.outputs_size()) + " outputs");
    }
  }

  /// What does not depend on the number of members.
  void verifyCollective(const std::string &place, const pb::Collective &collective) {
    std::optional<RefExtent> in = verifyRef(place, collective.in()), out = verifyRef(place, collective.out());
    if (!pb::CollectiveKind_IsValid(collective.kind()) || collective.kind() == pb::COLLECTIVE_NONE)
      faults.add(place, "unknown collective");
    bool reduces = collective.kind() == pb::COLLECTIVE_ALL_REDUCE || collective.kind() == pb::COLLECTIVE_REDUCE_SCATTER;
    if (reduces ? collective.reduce() != pb::REDUCE_SUM && collective.reduce() != pb::REDUCE_MAX
                : collective.reduce() != pb::REDUCE_NONE)
      faults.add(place, reduces ? "a reduction without an operation" : "an operation without a reduction");
    if (collective.in().dtype() != collective.out().dtype())
      faults.add(place, "the operands of a collective have two types");
    if (in && out && (!in->isDense || !out->isDense))
      faults.add(place, "an operand of a collective is not dense");
  }

  void verifyInstr(const std::string &place, const pb::Instr &instr) {
    switch (instr.what_case()) {
    case pb::Instr::kLaunch: return verifyLaunch(place, instr.launch());
    case pb::Instr::kBatch:
      for (const pb::Collective &collective : instr.batch().collectives())
        verifyCollective(place, collective);
      return;
    case pb::Instr::kZero: verifyRef(place, instr.zero()); return;
    case pb::Instr::kCopy: {
      std::optional<RefExtent> from = verifyRef(place, instr.copy().from()), to = verifyRef(place, instr.copy().to());
      if (from && to && from->elements != to->elements)
        faults.add(place, "a copy of " + std::to_string(from->elements) + " elements to " + std::to_string(to->elements));
      return;
    }
    case pb::Instr::WHAT_NOT_SET: return faults.add(place, "the instruction is empty");
    }
  }

  const pb::Plan &plan;
  const pb::Routine &routine;
  Faults &faults;
};

/// Bytes that the bindings of each slot must be a multiple of: the widest element that is addressed through it.
std::vector<uint64_t> alignments(const pb::Routine &routine) {
  std::vector<uint64_t> alignment(routine.slots_size(), 1);
  auto note = [&](const pb::Ref &ref) {
    auto width = static_cast<uint64_t>(bytesOf(static_cast<DType>(ref.dtype())));
    alignment[ref.slot()] = std::max(alignment[ref.slot()], width);
  };
  for (const pb::Instr &instr : routine.instrs()) {
    for (const pb::Ref &ref : instr.launch().refs())
      note(ref);
    for (const pb::Collective &collective : instr.batch().collectives()) {
      note(collective.in());
      note(collective.out());
    }
  }
  return alignment;
}

void verifyProgram(const pb::Plan &plan, const std::string &place, const pb::Program &program,
                   const std::vector<std::vector<uint64_t>> &alignment, Faults &faults) {
  for (int c = 0; c < program.calls_size(); ++c) {
    const pb::Call &call = program.calls(c);
    std::string at = place + ", call " + std::to_string(c);
    if (!faults.checkIndex(at, "routine", call.routine(), plan.routines_size()))
      continue;
    const pb::Routine &routine = plan.routines(static_cast<int>(call.routine()));
    if (call.bind_size() != routine.slots_size()) {
      faults.add(at, std::to_string(call.bind_size()) + " bindings for the " + std::to_string(routine.slots_size()) +
                         " slots of routine '" + routine.name() + "'");
      continue;
    }
    for (int s = 0; s < call.bind_size(); ++s)
      if (call.bind(s) % alignment[call.routine()][s])
        faults.add(at, placeOf("slot", s, routine.slots(s).name()) + " is bound to " + std::to_string(call.bind(s)) +
                           ", no multiple of " + std::to_string(alignment[call.routine()][s]));
  }
}

} // namespace

void verifyRoutines(const pb::Plan &plan, Faults &faults) {
  for (int i = 0; i < plan.routines_size(); ++i)
    RoutineVerifier(plan, plan.routines(i), faults).verify(placeOf("routine", i, plan.routines(i).name()));
  if (!faults.empty())
    return;
  std::vector<std::vector<uint64_t>> alignment;
  for (const pb::Routine &routine : plan.routines())
    alignment.push_back(alignments(routine));
  for (int i = 0; i < plan.programs_size(); ++i)
    verifyProgram(plan, placeOf("program", i, plan.programs(i).name()), plan.programs(i), alignment, faults);
}

} // namespace plait
