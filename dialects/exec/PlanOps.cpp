// Form of a plan: every index that one part gives to another exists.
#include "dialects/exec/Syntax.h"
#include "runtime/plan/Kernels.h"

using namespace mlir;

namespace plait::exec {

namespace {
/// The parts of a plan, numbered, and checks of the indices between them.
class IndexChecker {
public:
  explicit IndexChecker(PlanOp plan) : plan(plan) {
    collect(routines);
    collect(programs);
    collect(schedules);
    for (Operation &op : plan.getBody().front())
      ++counts[op.getName().getStringRef()];
  }

  LogicalResult check();

private:
  template <typename Op> void collect(SmallVector<Op> &ops) { llvm::append_range(ops, plan.getBody().getOps<Op>()); }

  /// Fails unless `index` numbers one of the `Part`s of the plan.
  template <typename Part> LogicalResult expect(Operation *user, uint64_t index) {
    uint64_t count = counts.lookup(Part::getOperationName());
    if (index < count)
      return success();
    return user->emitOpError() << "names " << Part::getOperationName() << " " << index << "; the plan has " << count
                               << ", numbered from 0";
  }

  LogicalResult checkRoutine(RoutineOp routine);
  LogicalResult checkProgram(ProgramOp program);
  LogicalResult checkSchedule(ScheduleOp schedule);
  LogicalResult checkRole(RoleOp role);
  LogicalResult checkTask(RoleOp role, SmallVectorImpl<FrameOp> &frames, size_t ports, TaskOp task);

  PlanOp plan;
  SmallVector<RoutineOp> routines;
  SmallVector<ProgramOp> programs;
  SmallVector<ScheduleOp> schedules;
  llvm::StringMap<uint64_t> counts;
};
} // namespace

LogicalResult IndexChecker::checkRoutine(RoutineOp routine) {
  for (LaunchOp launch : routine.getBody().getOps<LaunchOp>()) {
    if (failed(expect<WorkOp>(launch, launch.getWork())))
      return failure();
    if (launch.getKernel() == static_cast<uint32_t>(Kernel::Pointwise) &&
        failed(expect<PointwiseOp>(launch, launch.getPointwise())))
      return failure();
  }
  return success();
}

LogicalResult IndexChecker::checkProgram(ProgramOp program) {
  for (CallOp call : program.getBody().getOps<CallOp>()) {
    if (failed(expect<RoutineOp>(call, call.getRoutine())))
      return failure();
    size_t slots = llvm::range_size(routines[call.getRoutine()].getBody().getOps<SlotOp>());
    if (call.getBind().size() != slots)
      return call.emitOpError() << "binds " << call.getBind().size() << " slots; routine \""
                                << routines[call.getRoutine()].getName() << "\" has " << slots;
  }
  return success();
}

LogicalResult IndexChecker::checkSchedule(ScheduleOp schedule) {
  for (TaskOp task : schedule.getBody().getOps<TaskOp>()) {
    for (P2pAttr p2p : task.getP2ps().getAsRange<P2pAttr>())
      if (failed(expect<ChannelOp>(task, p2p.getChannel())))
        return failure();
    bool syncs = task.getKind() == TaskKind::GradSync || task.getKind() == TaskKind::ParamGather;
    if (syncs && failed(expect<SyncOp>(task, task.getSync())))
      return failure();
  }
  return success();
}

LogicalResult IndexChecker::checkTask(RoleOp role, SmallVectorImpl<FrameOp> &frames, size_t ports, TaskOp task) {
  auto refuse = [&](StringRef what, uint64_t index, uint64_t count) {
    InFlightDiagnostic diagnostic = task.emitOpError()
                                    << "names " << what << " " << index << "; role \"" << role.getName() << "\" has "
                                    << count << ", numbered from 0";
    diagnostic.attachNote(role.getLoc()) << "the role is here";
    return failure();
  };
  for (P2pAttr p2p : task.getP2ps().getAsRange<P2pAttr>())
    if (p2p.getPort() >= ports)
      return refuse("port", p2p.getPort(), ports);
  if (task.getKind() != TaskKind::Run)
    return success();
  if (task.getProgram() >= role.getPrograms().size())
    return refuse("program", task.getProgram(), role.getPrograms().size());
  uint32_t frameClass = programs[role.getPrograms()[task.getProgram()]].getFrameClass();
  if (frameClass >= frames.size())
    return refuse("frame class", frameClass, frames.size());
  if (task.getFrame() >= frames[frameClass].getCount())
    return refuse("frame", task.getFrame(), frames[frameClass].getCount());
  return success();
}

LogicalResult IndexChecker::checkRole(RoleOp role) {
  for (int64_t program : role.getPrograms())
    if (failed(expect<ProgramOp>(role, program)))
      return failure();
  for (int64_t family : role.getAxisFamilies())
    if (failed(expect<FamilyOp>(role, family)))
      return failure();
  if (role.getMicrobatchesPerCopy() != 0 && failed(expect<FamilyOp>(role, role.getCopyFamily())))
    return failure();
  for (SyncPartOp part : role.getBody().getOps<SyncPartOp>())
    if (failed(expect<SyncOp>(part, part.getSync())))
      return failure();
  for (ResidenceOp residence : role.getBody().getOps<ResidenceOp>())
    if (failed(expect<TensorOp>(residence, residence.getTensor())))
      return failure();
  if (failed(expect<ScheduleOp>(role, role.getSchedule())))
    return failure();
  auto frames = llvm::to_vector(role.getBody().getOps<FrameOp>());
  size_t ports = llvm::range_size(role.getBody().getOps<PortOp>());
  for (TaskOp task : schedules[role.getSchedule()].getBody().getOps<TaskOp>())
    if (failed(checkTask(role, frames, ports, task)))
      return failure();
  return success();
}

LogicalResult IndexChecker::check() {
  for (RoutineOp routine : routines)
    if (failed(checkRoutine(routine)))
      return failure();
  for (ProgramOp program : programs)
    if (failed(checkProgram(program)))
      return failure();
  for (SyncOp sync : plan.getBody().getOps<SyncOp>())
    if (failed(expect<FamilyOp>(sync, sync.getFamily())))
      return failure();
  for (ScheduleOp schedule : schedules)
    if (failed(checkSchedule(schedule)))
      return failure();
  for (RoleOp role : plan.getBody().getOps<RoleOp>())
    if (failed(checkRole(role)))
      return failure();
  for (RanksOp ranks : plan.getBody().getOps<RanksOp>())
    if (failed(expect<RoleOp>(ranks, ranks.getRole())))
      return failure();
  return success();
}

LogicalResult PlanOp::verify() {
  if (getFormat() == 0)
    return emitOpError("has format 0, which means \"not a plan\"");
  return success();
}

LogicalResult PlanOp::verifyRegions() {
  llvm::StringMap<Operation *> singles;
  for (Operation &op : getBody().front()) {
    if (isa<plan::SolutionOp, ProvenanceOp, JobOp, EstimateOp>(op)) {
      auto [first, inserted] = singles.try_emplace(op.getName().getStringRef(), &op);
      if (inserted)
        continue;
      InFlightDiagnostic diagnostic = op.emitOpError("stands twice in one plan");
      diagnostic.attachNote(first->second->getLoc()) << "first one is here";
      return diagnostic;
    }
    if (op.getDialect() != (*this)->getDialect())
      return op.emitOpError("cannot stand in exec.plan");
  }
  return IndexChecker(*this).check();
}

LogicalResult EstimateOp::verifyRegions() {
  return plan::verifyChildren(*this, {PrunedOp::getOperationName(), RunnerUpOp::getOperationName()});
}

LogicalResult RunnerUpOp::verifyRegions() {
  if (failed(plan::verifyChildren(*this, {plan::SolutionOp::getOperationName()})))
    return failure();
  if (llvm::range_size(getBody().front()) > 1)
    return emitOpError("holds more than one plan.solution");
  return success();
}

} // namespace plait::exec

#define GET_OP_CLASSES
#include "dialects/exec/PlanOps.cpp.inc"
