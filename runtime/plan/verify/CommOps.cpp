#include "runtime/plan/verify/CommOps.h"
#include "runtime/plan/DType.h"
#include "runtime/plan/RankSets.h"
#include "runtime/plan/verify/Phases.h"

namespace plait {
namespace {

const char *nameOf(pb::CollectiveKind kind) {
  switch (kind) {
  case pb::COLLECTIVE_ALL_REDUCE: return "all_reduce";
  case pb::COLLECTIVE_ALL_GATHER: return "all_gather";
  case pb::COLLECTIVE_REDUCE_SCATTER: return "reduce_scatter";
  case pb::COLLECTIVE_BROADCAST: return "broadcast";
  default: return "none";
  }
}

class Builder {
public:
  explicit Builder(const pb::Plan &plan) : plan(plan) {}

  CommOps build() {
    for (const pb::Role &role : plan.roles()) {
      ops.roles.emplace_back();
      const pb::Schedule &schedule = plan.schedules(static_cast<int>(role.schedule()));
      programs.clear();
      for (int t = 0; t < schedule.tasks_size(); ++t)
        appendTask(role, t, schedule.tasks(t));
    }
    return std::move(ops);
  }

private:
  struct ProgramOp {
    int call, instr;
    uint32_t batch;
  };

  uint32_t signature(const std::string &text) {
    auto [it, isNew] = signatures.try_emplace(text, static_cast<uint32_t>(ops.signatures.size()));
    if (isNew)
      ops.signatures.push_back(text);
    return it->second;
  }

  uint32_t addBatch(std::vector<CommPart> parts) {
    ops.batches.push_back(std::move(parts));
    return static_cast<uint32_t>(ops.batches.size() - 1);
  }

  uint64_t membersOf(uint32_t family) const { return sizeOf(plan.families(static_cast<int>(family)).members()); }

  void appendTask(const pb::Role &role, int index, const pb::Task &task) {
    std::vector<CommOp> &list = ops.roles.back();
    switch (task.kind()) {
    case pb::TASK_RUN:
      for (const ProgramOp &op : programOps(role, role.programs(static_cast<int>(task.program()))))
        list.push_back({index, op.call, op.instr, op.batch});
      return;
    case pb::TASK_TRANSFER: {
      std::vector<CommPart> parts;
      for (const pb::P2p &p2p : task.p2ps()) {
        uint64_t bytes = p2p.bytes() ? p2p.bytes() : role.ports(static_cast<int>(p2p.port())).bytes();
        parts.push_back({{p2p.send() ? CommEnd::Send : CommEnd::Receive, p2p.channel()},
                         signature(std::to_string(bytes) + " bytes")});
      }
      if (!parts.empty())
        list.push_back({index, -1, -1, addBatch(std::move(parts))});
      return;
    }
    case pb::TASK_GRAD_SYNC:
    case pb::TASK_PARAM_GATHER: return appendSync(index, task);
    case pb::TASK_VOTE:
      if (plan.world_size() > 1)
        list.push_back({index, -1, -1, addBatch({{{CommEnd::Group, CommEnd::kWorld}, signature("the vote")}})});
      return;
    default: return;
    }
  }

  void appendSync(int index, const pb::Task &task) {
    const pb::Sync &sync = plan.syncs(static_cast<int>(task.sync()));
    bool isGather = task.kind() == pb::TASK_PARAM_GATHER;
    if (membersOf(sync.family()) < 2 || sync.elements() == 0 || (isGather && !sync.sharded()))
      return;
    std::string what = isGather ? "gather of sync '" : "reduction of sync '";
    what += sync.name();
    what += "' (" + std::to_string(task.sync()) + ")";
    ops.roles.back().push_back({index, -1, -1, addBatch({{{CommEnd::Group, sync.family()}, signature(what)}})});
  }

  /// Communication of one program, which every run of it repeats.
  const std::vector<ProgramOp> &programOps(const pb::Role &role, uint32_t index) {
    auto [it, isNew] = programs.try_emplace(index);
    if (!isNew)
      return it->second;
    const pb::Program &program = plan.programs(static_cast<int>(index));
    for (int c = 0; c < program.calls_size(); ++c) {
      const pb::Routine &routine = plan.routines(static_cast<int>(program.calls(c).routine()));
      for (int i = 0; i < routine.instrs_size(); ++i) {
        std::vector<CommPart> parts;
        for (const pb::Collective &collective : routine.instrs(i).batch().collectives()) {
          uint32_t family = role.axis_families(static_cast<int>(collective.axis()));
          if (membersOf(family) > 1)
            parts.push_back({{CommEnd::Group, family}, signature(textOf(collective))});
        }
        if (!parts.empty())
          it->second.push_back({c, i, addBatch(std::move(parts))});
      }
    }
    return it->second;
  }

  static std::string textOf(const pb::Collective &collective) {
    bool gathers = collective.kind() == pb::COLLECTIVE_ALL_GATHER;
    std::string text = nameOf(collective.kind());
    if (collective.reduce() != pb::REDUCE_NONE)
      text += collective.reduce() == pb::REDUCE_MAX ? " max" : " sum";
    text += " of " + std::to_string(extentOf(gathers ? collective.out() : collective.in())->elements) + " ";
    text += plait::nameOf(static_cast<DType>(collective.in().dtype()));
    if (collective.kind() == pb::COLLECTIVE_BROADCAST)
      text += " from " + std::to_string(collective.root());
    for (int i = 0; i < collective.counts_size(); ++i) {
      text += i ? "," : " in parts ";
      text += std::to_string(collective.counts(i));
    }
    return text;
  }

  const pb::Plan &plan;
  CommOps ops;
  std::map<std::string, uint32_t> signatures;
  std::map<uint32_t, std::vector<ProgramOp>> programs; ///< of the role being built
};

} // namespace

CommOps commOpsOf(const pb::Plan &plan) { return Builder(plan).build(); }

std::string CommOps::describe(const pb::Plan &plan, uint32_t role, const CommOp &op, const CommPart &part) const {
  const pb::Role &owner = plan.roles(static_cast<int>(role));
  const pb::Task &task = plan.schedules(static_cast<int>(owner.schedule())).tasks(op.task);
  std::string text = "task " + std::to_string(op.task) + " (" + pb::TaskKind_Name(task.kind()).substr(5);
  if (op.call >= 0) {
    const pb::Program &program = plan.programs(static_cast<int>(owner.programs(static_cast<int>(task.program()))));
    const pb::Routine &routine = plan.routines(static_cast<int>(program.calls(op.call).routine()));
    text += " '" + program.name() + "', call " + std::to_string(op.call) + ", instruction " + std::to_string(op.instr) +
            " '" + routine.instrs(op.instr).origin() + "'";
  }
  text += "): ";
  if (part.end.kind != CommEnd::Group)
    text += part.end.kind == CommEnd::Send ? "send " : "receive ";
  text += signatures[part.signature];
  if (part.end.kind != CommEnd::Group)
    text += " on channel '" + plan.channels(static_cast<int>(part.end.index)).name() + "'";
  return text;
}

} // namespace plait
