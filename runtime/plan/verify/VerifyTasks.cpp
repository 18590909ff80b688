#include "runtime/plan/verify/Phases.h"
#include <algorithm>
#include <map>
#include <set>

namespace plait {
namespace {

constexpr uint32_t kQueues = 3;

class TaskVerifier {
public:
  TaskVerifier(const pb::Plan &plan, const pb::Role &role, const std::string &place, Faults &faults)
      : plan(plan), role(role), schedule(plan.schedules(static_cast<int>(role.schedule()))), place(place),
        faults(faults) {}

  void verify() {
    for (int i = 0; i < schedule.tasks_size(); ++i)
      verifyTask(i, place + ", task " + std::to_string(i));
    verifyStep();
    for (const pb::SyncPart &part : role.sync_parts())
      if (part.sync() < uint32_t(plan.syncs_size()))
        verifySyncTasks(part.sync(), plan.syncs(static_cast<int>(part.sync())));
  }

private:
  void verifyTask(int index, const std::string &at) {
    const pb::Task &task = schedule.tasks(index);
    if (task.queue() >= kQueues)
      faults.checkIndex(at, "queue", task.queue(), kQueues);
    for (uint32_t dep : task.deps())
      if (dep >= uint32_t(index))
        faults.add(at, "it depends on task " + std::to_string(dep) + ", which does not come before it");
    if (task.p2ps_size() && task.kind() != pb::TASK_TRANSFER)
      faults.add(at, "only a transfer has messages");
    switch (task.kind()) {
    case pb::TASK_ZERO:
    case pb::TASK_VOTE:
    case pb::TASK_APPLY:
    case pb::TASK_COMMIT: return;
    case pb::TASK_LOAD: return verifyLoad(task, at);
    case pb::TASK_RUN: return verifyRun(task, at);
    case pb::TASK_TRANSFER: return verifyTransfer(task, at);
    case pb::TASK_GRAD_SYNC:
    case pb::TASK_PARAM_GATHER: return verifySync(task, at);
    default: faults.add(at, "task kind " + std::to_string(task.kind()) + " is not known");
    }
  }

  void verifyLoad(const pb::Task &task, const std::string &at) {
    bool isRead = std::any_of(role.frames().begin(), role.frames().end(), [&](const pb::FrameClass &frames) {
      return (frames.has_tokens() || frames.has_labels()) && task.frame() < frames.count();
    });
    if (!isRead)
      faults.add(at, "no frame class of the role takes tokens or labels in frame " + std::to_string(task.frame()));
  }

  void verifyRun(const pb::Task &task, const std::string &at) {
    if (!faults.checkIndex(at, "program of the role", task.program(), role.programs_size()))
      return;
    const pb::Program &program = plan.programs(int(role.programs(int(task.program()))));
    if (program.frame_class() < uint32_t(role.frames_size()))
      faults.checkIndex(at, "frame", task.frame(), role.frames(int(program.frame_class())).count());
  }

  void verifyTransfer(const pb::Task &task, const std::string &at) {
    for (const pb::P2p &p2p : task.p2ps()) {
      if (!faults.checkIndex(at, "channel", p2p.channel(), plan.channels_size()) ||
          !faults.checkIndex(at, "port", p2p.port(), role.ports_size()))
        continue;
      const pb::Port &port = role.ports(int(p2p.port()));
      uint64_t bytes = p2p.bytes() ? p2p.bytes() : port.bytes();
      if (p2p.offset() > port.bytes() || bytes > port.bytes() - p2p.offset())
        faults.add(at, std::to_string(bytes) + " bytes at " + std::to_string(p2p.offset()) + " leave " +
                           placeOf("port", p2p.port(), port.name()) + " of " + std::to_string(port.bytes()) + " bytes");
      if (port.space() == pb::SPACE_FRAME && role.frames_size())
        faults.checkIndex(at, "frame", task.frame(), role.frames(0).count());
    }
  }

  void verifySync(const pb::Task &task, const std::string &at) {
    if (!faults.checkIndex(at, "sync", task.sync(), plan.syncs_size()))
      return;
    bool isHeld = std::any_of(role.sync_parts().begin(), role.sync_parts().end(),
                              [&](const pb::SyncPart &part) { return part.sync() == task.sync(); });
    if (!isHeld)
      faults.add(at, "the role has no part of " + placeOf("sync", task.sync(), plan.syncs(int(task.sync())).name()));
  }

  /// Positions of the tasks of one kind.
  std::vector<int> positionsOf(pb::TaskKind kind) const {
    std::vector<int> positions;
    for (int i = 0; i < schedule.tasks_size(); ++i)
      if (schedule.tasks(i).kind() == kind)
        positions.push_back(i);
    return positions;
  }

  /// ZERO, ..., VOTE, APPLY, ..., COMMIT: each once and in this order.
  void verifyStep() {
    constexpr pb::TaskKind kOrder[] = {pb::TASK_ZERO, pb::TASK_VOTE, pb::TASK_APPLY, pb::TASK_COMMIT};
    int last = -1;
    for (pb::TaskKind kind : kOrder) {
      std::vector<int> positions = positionsOf(kind);
      if (positions.size() != 1)
        faults.add(place, pb::TaskKind_Name(kind) + " occurs " + std::to_string(positions.size()) +
                              " times in its schedule, not once");
      else if (positions.front() < last)
        faults.add(place, pb::TaskKind_Name(kind) + " comes too early in its schedule");
      last = positions.empty() ? last : positions.front();
    }
    voteAt = firstOf(pb::TASK_VOTE);
    applyAt = firstOf(pb::TASK_APPLY);
    commitAt = firstOf(pb::TASK_COMMIT);
    int zeroAt = firstOf(pb::TASK_ZERO);
    for (int run : positionsOf(pb::TASK_RUN))
      if (run < zeroAt || run > voteAt)
        faults.add(place, "task " + std::to_string(run) + " runs a program outside ZERO and VOTE");
  }

  int firstOf(pb::TaskKind kind) const {
    std::vector<int> positions = positionsOf(kind);
    return positions.empty() ? 0 : positions.front();
  }

  void verifySyncTasks(uint32_t index, const pb::Sync &sync) {
    int reductions = 0, gathers = 0;
    for (int i = 0; i < schedule.tasks_size(); ++i) {
      const pb::Task &task = schedule.tasks(i);
      if (task.sync() != index)
        continue;
      bool isReduction = task.kind() == pb::TASK_GRAD_SYNC, isGather = task.kind() == pb::TASK_PARAM_GATHER;
      reductions += isReduction;
      gathers += isGather;
      if (isReduction && i > voteAt)
        faults.add(place, placeOf("sync", index, sync.name()) + " is reduced after the vote");
      if (isGather && (i < applyAt || i > commitAt))
        faults.add(place, placeOf("sync", index, sync.name()) + " is gathered outside APPLY and COMMIT");
    }
    if (reductions != 1)
      faults.add(place, placeOf("sync", index, sync.name()) + " is reduced " + std::to_string(reductions) +
                            " times, not once");
    if (gathers > 1 || (sync.sharded() && gathers != 1))
      faults.add(place, placeOf("sync", index, sync.name()) + " is gathered " + std::to_string(gathers) + " times, not once");
  }

  const pb::Plan &plan;
  const pb::Role &role;
  const pb::Schedule &schedule;
  const std::string &place;
  Faults &faults;
  int voteAt = 0, applyAt = 0, commitAt = 0;
};

/// What one role sends (or receives) on one channel in a step.
using Traffic = std::vector<uint64_t>; // bytes of each message

std::map<std::pair<uint32_t, bool>, Traffic> trafficOf(const pb::Plan &plan, const pb::Role &role) {
  std::map<std::pair<uint32_t, bool>, Traffic> traffic;
  for (const pb::Task &task : plan.schedules(static_cast<int>(role.schedule())).tasks())
    for (const pb::P2p &p2p : task.p2ps())
      traffic[{p2p.channel(), p2p.send()}].push_back(p2p.bytes() ? p2p.bytes()
                                                                 : role.ports(static_cast<int>(p2p.port())).bytes());
  return traffic;
}

std::string mismatch(const Traffic &sent, const Traffic &received) {
  if (sent.size() != received.size())
    return std::to_string(sent.size()) + " messages are sent, " + std::to_string(received.size()) + " received";
  size_t k = std::mismatch(sent.begin(), sent.end(), received.begin()).first - sent.begin();
  return "message " + std::to_string(k) + " has " + std::to_string(sent[k]) + " bytes sent and " +
         std::to_string(received[k]) + " received";
}

} // namespace

namespace {

/// First global micro-batch of a rank's own numbering; nothing if its role names copies that do not hold the rank.
std::optional<uint64_t> firstMicrobatchOf(const pb::Plan &plan, const pb::Role &role, uint32_t rank) {
  if (role.microbatches_per_copy() == 0)
    return role.first_microbatch();
  std::optional<GroupPlace> copy = placeIn(plan.families(static_cast<int>(role.copy_family())), rank);
  if (!copy)
    return std::nullopt;
  return role.first_microbatch() + uint64_t(role.microbatches_per_copy()) * copy->index;
}

/// Every micro-batch that a rank loads exists, and those that count the loss take each exactly once.
void verifyMicrobatches(const pb::Plan &plan, const RankTable &table, Faults &faults) {
  auto count = static_cast<uint64_t>(plan.job().global_batch() / plan.job().micro_batch());
  std::vector<std::vector<uint32_t>> loads; // by role
  bool anyLoss = false;
  for (const pb::Role &role : plan.roles()) {
    loads.emplace_back();
    for (const pb::Task &task : plan.schedules(static_cast<int>(role.schedule())).tasks())
      if (task.kind() == pb::TASK_LOAD)
        loads.back().push_back(task.microbatch());
    anyLoss |= role.reports_loss();
  }
  std::map<uint64_t, uint32_t> counted; // global micro-batch -> ranks that count its loss
  for (uint32_t rank = 0; rank < plan.world_size() && faults.empty(); ++rank) {
    uint32_t index = table.role[rank];
    const pb::Role &role = plan.roles(static_cast<int>(index));
    std::string place = placeOf("role", index, role.name()) + ", rank " + std::to_string(rank);
    std::optional<uint64_t> first = firstMicrobatchOf(plan, role, rank);
    if (!first)
      faults.add(place, "it is not in the role's copy family");
    for (uint32_t load : loads[index]) {
      if (first && faults.checkIndex(place, "micro-batch", *first + load, count) && role.reports_loss() &&
          table.kinds[table.kind[rank]].isOrigin())
        ++counted[*first + load];
    }
  }
  for (uint64_t m = 0; anyLoss && faults.empty() && m < count; ++m)
    if (counted[m] != 1)
      faults.add("schedules", "micro-batch " + std::to_string(m) + " is loaded by " + std::to_string(counted[m]) +
                                  " ranks that count its loss, not by one");
}

} // namespace

void verifyTasks(const pb::Plan &plan, const RankTable &table, Faults &faults) {
  for (int i = 0; i < plan.roles_size(); ++i) {
    std::string place = placeOf("role", i, plan.roles(i).name());
    if (plan.roles(i).microbatches_per_copy())
      faults.checkIndex(place, "copy family", plan.roles(i).copy_family(), plan.families_size());
    if (faults.checkIndex(place, "schedule", plan.roles(i).schedule(), plan.schedules_size()))
      TaskVerifier(plan, plan.roles(i), place, faults).verify();
  }
  if (faults.empty())
    verifyMicrobatches(plan, table, faults);
}

void verifyChannels(const pb::Plan &plan, const RankTable &table, Faults &faults) {
  std::vector<std::map<std::pair<uint32_t, bool>, Traffic>> traffic;
  for (const pb::Role &role : plan.roles())
    traffic.push_back(trafficOf(plan, role));
  std::set<std::pair<uint32_t, std::pair<uint32_t, bool>>> reported; // role and channel end
  for (uint32_t rank = 0; rank < plan.world_size(); ++rank)
    for (const auto &[end, messages] : traffic[table.role[rank]])
      if (!peerOf(plan.channels(int(end.first)), rank, end.second) && reported.insert({table.role[rank], end}).second)
        faults.add(placeOf("channel", end.first, plan.channels(int(end.first)).name()),
                   "rank " + std::to_string(rank) + " of role '" + plan.roles(int(table.role[rank])).name() +
                       "' uses it, but is none of its " + (end.second ? "senders" : "receivers"));
  const Traffic nothing;
  for (uint32_t c = 0; c < uint32_t(plan.channels_size()); ++c) {
    const pb::Channel &channel = plan.channels(int(c));
    for (uint64_t k = 0, size = sizeOf(channel.from()); k < size; ++k) {
      uint32_t from = *rankAt(channel.from(), k), to = *rankAt(channel.to(), k);
      auto find = [&](uint32_t rank, bool send) -> const Traffic & {
        const auto &ends = traffic[table.role[rank]];
        auto it = ends.find({c, send});
        return it == ends.end() ? nothing : it->second;
      };
      const Traffic &sent = find(from, true), &received = find(to, false);
      if (sent == received)
        continue;
      faults.add(placeOf("channel", c, channel.name()) + ", rank " + std::to_string(from) + " to rank " + std::to_string(to),
                 mismatch(sent, received));
      break;
    }
  }
}

} // namespace plait
