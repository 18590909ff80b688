#include "passes/schedule/Tasks.h"
#include "passes/lower/Programs.h"
#include <algorithm>

namespace plait {

uint32_t firstMicrobatch(const Solution &solution, Id replica) {
  uint32_t first = 0;
  for (Id r = 0; r < replica; ++r)
    first += solution.replicas[r].copies * solution.replicas[r].microbatches;
  return first;
}

namespace {

enum Queue : uint32_t { ComputeQueue = 0, BoundaryQueue = 1, SyncQueue = 2 };

class ScheduleBuilder {
public:
  ScheduleBuilder(const StageTable &table, const Pipeline &pipeline, Id stageIndex, uint32_t coordinate, Boundaries &boundaries,
                  const pb::Role &role, pb::Schedule &schedule)
      : table(table), pipeline(pipeline), stageIndex(stageIndex), instance(table.stages[stageIndex]), coordinate(coordinate),
        boundaries(boundaries), role(role), schedule(schedule) {}

  Result<ScheduleShape> build();

private:
  pb::Task *task(pb::TaskKind kind, Queue queue) {
    pb::Task *added = schedule.add_tasks();
    added->set_kind(kind);
    added->set_queue(queue);
    return added;
  }
  /// In the role's own numbering; an override's micro-batch belongs to another replica with one copy, so it is absolute.
  uint32_t number(const PipeRun &run) const {
    const Replica &own = table.solution->replicas[instance.replica];
    return own.copies > 1 ? run.microbatch : firstMicrobatch(*table.solution, run.replica) + run.microbatch;
  }
  void addRun(const PipeRun &run);
  Status addTransfer(const PipeItem &item, const PipeRun *next);
  Status addMessage(const PipeMessage &message, pb::Task &transfer);
  void addStep();
  Id instanceIndex(Id replica, Id stage) const { return &table.at(replica, stage) - table.stages.data(); }
  /// Task indices that a new task must wait for, besides the order of its queue.
  void depend(pb::Task *on, int before) {
    if (before >= 0)
      on->add_deps(before);
  }

  const StageTable &table;
  const Pipeline &pipeline;
  Id stageIndex;
  const StageInstance &instance;
  uint32_t coordinate;
  Boundaries &boundaries;
  const pb::Role &role;
  pb::Schedule &schedule;
  int lastRun = -1, lastTransfer = -1;
};

void ScheduleBuilder::addRun(const PipeRun &run) {
  bool forward = run.phase == Phase::Forward;
  const pb::FrameClass &frame = role.frames(0);
  if (forward && (frame.has_tokens() || frame.has_labels())) {
    pb::Task *load = task(pb::TASK_LOAD, ComputeQueue);
    load->set_microbatch(number(run));
    load->set_frame(run.frame);
  }
  pb::Task *added = task(pb::TASK_RUN, ComputeQueue);
  added->set_program(forward ? 0 : run.phase == Phase::BackwardWeight ? 2 : 1);
  added->set_microbatch(number(run));
  added->set_frame(run.frame);
  depend(added, lastTransfer);
  lastRun = schedule.tasks_size() - 1;
}

Status ScheduleBuilder::addMessage(const PipeMessage &message, pb::Task &transfer) {
  Id peer = instanceIndex(message.peerReplica, message.peerStage);
  Result<const std::vector<BoundaryMessage> *> messages = message.send ? boundaries.between(stageIndex, peer, message.gradient)
                                                                       : boundaries.between(peer, stageIndex, message.gradient);
  if (!messages)
    return messages.error();
  for (const BoundaryMessage &part : **messages) {
    if ((message.send ? part.from : part.to) != coordinate)
      continue;
    pb::P2p *p2p = transfer.add_p2ps();
    p2p->set_send(message.send);
    p2p->set_channel(part.channel);
    p2p->set_port(message.gradient ? (message.send ? PortDx : PortDy) : (message.send ? PortY : PortX));
    p2p->set_offset(message.send ? part.fromOffset : part.toOffset);
    p2p->set_bytes(part.bytes);
  }
  return success();
}

Status ScheduleBuilder::addTransfer(const PipeItem &item, const PipeRun *next) {
  pb::Task transfer;
  transfer.set_kind(pb::TASK_TRANSFER);
  transfer.set_queue(BoundaryQueue);
  for (const PipeMessage &message : item.messages) {
    if (Status s = addMessage(message, transfer); !s)
      return s;
    if (!message.send && next) {
      transfer.set_frame(next->frame);
      transfer.set_microbatch(number(*next));
    } else if (transfer.microbatch() == 0) {
      transfer.set_microbatch(number({Phase::None, message.replica, message.microbatch, 0}));
    }
  }
  if (transfer.p2ps_size() == 0)
    return success();
  if (lastRun >= 0)
    transfer.add_deps(lastRun);
  *schedule.add_tasks() = std::move(transfer);
  lastTransfer = schedule.tasks_size() - 1;
  return success();
}

void ScheduleBuilder::addStep() {
  int last = lastRun;
  for (const pb::SyncPart &part : role.sync_parts()) {
    pb::Task *sync = task(pb::TASK_GRAD_SYNC, SyncQueue);
    sync->set_sync(part.sync());
    depend(sync, last);
  }
  int synced = schedule.tasks_size() - 1;
  depend(task(pb::TASK_VOTE, SyncQueue), role.sync_parts_size() ? synced : last);
  int vote = schedule.tasks_size() - 1;
  depend(task(pb::TASK_APPLY, ComputeQueue), vote);
  int apply = schedule.tasks_size() - 1;
  for (const pb::SyncPart &part : role.sync_parts()) {
    pb::Task *gather = task(pb::TASK_PARAM_GATHER, SyncQueue);
    gather->set_sync(part.sync());
    depend(gather, apply);
  }
  int gathered = schedule.tasks_size() - 1;
  depend(task(pb::TASK_COMMIT, ComputeQueue), gathered);
}

Result<ScheduleShape> ScheduleBuilder::build() {
  std::vector<PipeItem> items = pipeline.items(instance.replica, instance.stage);
  task(pb::TASK_ZERO, ComputeQueue);
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == PipeItem::Run) {
      addRun(items[i].run);
      continue;
    }
    const PipeRun *next = i + 1 < items.size() ? &items[i + 1].run : nullptr;
    if (Status s = addTransfer(items[i], next); !s)
      return s.error();
  }
  addStep();
  return ScheduleShape{framesNeeded(items)};
}

} // namespace

Result<ScheduleShape> buildSchedule(const StageTable &table, const Pipeline &pipeline, Id stageIndex, uint32_t coordinate,
                                    Boundaries &boundaries, const pb::Role &role, pb::Schedule &schedule) {
  return ScheduleBuilder(table, pipeline, stageIndex, coordinate, boundaries, role, schedule).build();
}

} // namespace plait
