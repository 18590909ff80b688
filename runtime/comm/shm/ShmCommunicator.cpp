#include "runtime/comm/shm/ShmCommunicator.h"
#include "runtime/comm/shm/PairOperation.h"
#include <map>

namespace plait {
namespace {

/// A wait that lasts this long is shown to the launcher and in the messages of others.
constexpr std::chrono::milliseconds kLongWait{100};

class ShmCommunicator final : public Communicator {
public:
  ShmCommunicator(std::shared_ptr<ShmSegment> segment, uint32_t rank)
      : segment(std::move(segment)), self(rank), sends(worldSize()), receives(worldSize()) {}

  uint32_t rank() const override { return self; }
  uint32_t worldSize() const override { return segment->worldSize(); }
  void *arena(uint64_t bytes) override;
  Status run(std::span<const CollectiveCall> collectives, std::span<const P2pCall> p2ps,
             Clock::time_point deadline) override;
  void abort(const std::string &cause) override { segment->abort(self, cause); }
  uint64_t bytesSent() const override { return sent; }

private:
  Status fail(Error error);
  std::optional<Error> check(std::span<const CollectiveCall> collectives, std::span<const P2pCall> p2ps);
  Result<GroupChannel *> groupChannel(const CommGroup &group);
  PairChannel &pairChannel(const P2pCall &call);
  std::optional<Error> prepare(std::span<const CollectiveCall> collectives, std::span<const P2pCall> p2ps);
  template <typename Operation> bool advance(std::vector<Operation> &operations, size_t &open, std::string &failure);
  Status wait(Clock::time_point deadline);
  std::string describeOpen() const;
  std::vector<uint32_t> missingRanks() const;
  std::string expired(const std::vector<uint32_t> &missing) const;

  std::shared_ptr<ShmSegment> segment;
  uint32_t self;
  uint64_t arenaUsed = 0, sent = 0;
  std::map<uint32_t, GroupChannel> groups;
  std::vector<PairChannel> sends, receives;
  // Of the running call; kept so that a step does not allocate.
  std::vector<GroupOperation> groupOperations;
  std::vector<PairOperation> pairOperations;
};

void *ShmCommunicator::arena(uint64_t bytes) {
  uint64_t rounded = (bytes + 63) / 64 * 64;
  if (bytes > segment->arenaBytes() || rounded > segment->arenaBytes() - arenaUsed)
    return nullptr;
  char *data = static_cast<char *>(segment->arena(self)) + arenaUsed;
  arenaUsed += rounded;
  return data;
}

/// Ends the epoch; if it had ended before, the first cause is the one to report.
Status ShmCommunicator::fail(Error error) {
  return segment->abort(self, error.message) ? error : Error{ExitCode::Runtime, segment->abortText()};
}

std::optional<Error> ShmCommunicator::check(std::span<const CollectiveCall> collectives,
                                            std::span<const P2pCall> p2ps) {
  for (const CollectiveCall &call : collectives)
    if (auto why = malformed(call, self, worldSize()))
      return Error{ExitCode::Internal, *why};
  for (const P2pCall &call : p2ps)
    if (auto why = malformed(call, worldSize()))
      return Error{ExitCode::Internal, *why};
  return std::nullopt;
}

Result<GroupChannel *> ShmCommunicator::groupChannel(const CommGroup &group) {
  uint64_t hash = hashOfRanks(group);
  auto [at, isNew] = groups.try_emplace(group.id);
  GroupChannel &channel = at->second;
  if (!isNew) {
    if (channel.ranksHash != hash)
      return Error{ExitCode::Internal, "group \"" + group.name + "\": id " + std::to_string(group.id) +
                                           " was used before with other ranks; ids must be distinct"};
    return &channel;
  }
  channel.ranksHash = hash;
  channel.lines.resize(group.ranks.size());
  ShmGroupLine *lines = segment->groupLines(self);
  for (uint32_t i = 0; i < ShmSegment::kGroupsPerRank; ++i) {
    uint32_t key = lines[i].key.load(std::memory_order_relaxed);
    if (key != 0 && key != group.id + 1)
      continue;
    // A line of this id is there if an earlier communicator of the rank used it in this epoch.
    channel.lines[group.index] = &lines[i];
    channel.phase = lines[i].phase.load(std::memory_order_relaxed);
    channel.sequence = lines[i].terms.sequence;
    lines[i].key.store(group.id + 1, std::memory_order_seq_cst);
    return &channel;
  }
  groups.erase(at);
  return Error{ExitCode::Runtime, "group \"" + group.name + "\": rank " + std::to_string(self) +
                                      " is in more than " + std::to_string(ShmSegment::kGroupsPerRank) + " groups"};
}

PairChannel &ShmCommunicator::pairChannel(const P2pCall &call) {
  PairChannel &channel = (call.send ? sends : receives)[call.peer];
  if (!channel.mine) {
    channel.mine = call.send ? &segment->sending(self, call.peer) : &segment->receiving(self, call.peer);
    channel.theirs = call.send ? &segment->receiving(call.peer, self) : &segment->sending(call.peer, self);
    // Both sides agree on the finished chunks; a sender's word counts exactly those.
    channel.phase = (call.send ? channel.mine : channel.theirs)->phase.load(std::memory_order_relaxed);
    channel.sequence = channel.mine->sequence;
  }
  return channel;
}

/// Makes the operations; those that need staging share the window, so that none can keep another from moving.
std::optional<Error> ShmCommunicator::prepare(std::span<const CollectiveCall> collectives,
                                              std::span<const P2pCall> p2ps) {
  size_t stagers = 0;
  for (const CollectiveCall &call : collectives)
    stagers += GroupOperation::needsStaging(*segment, call);
  for (const P2pCall &call : p2ps)
    stagers += PairOperation::needsStaging(*segment, call);
  uint64_t part = stagers ? segment->windowBytes() / stagers / 64 * 64 : 0;
  if (stagers && !part)
    return Error{ExitCode::Runtime, std::to_string(stagers) + " calls of one batch are on private memory; a window of " +
                                        std::to_string(segment->windowBytes()) + " bytes stages at most " +
                                        std::to_string(segment->windowBytes() / 64)};
  uint64_t next = segment->windowOffset(self);
  auto take = [&](bool needed) { return needed ? StagingPart{(next += part) - part, part} : StagingPart{}; };
  groupOperations.clear();
  pairOperations.clear();
  for (const CollectiveCall &call : collectives) {
    Result<GroupChannel *> channel = groupChannel(*call.group);
    if (!channel)
      return channel.error();
    groupOperations.emplace_back(*segment, **channel, call, take(GroupOperation::needsStaging(*segment, call)));
  }
  for (const P2pCall &call : p2ps)
    pairOperations.emplace_back(*segment, pairChannel(call), self, call,
                                take(PairOperation::needsStaging(*segment, call)));
  return std::nullopt;
}

/// One pass over the operations; counts those still open. True if any moved.
template <typename Operation>
bool ShmCommunicator::advance(std::vector<Operation> &operations, size_t &open, std::string &failure) {
  bool moved = false;
  for (Operation &operation : operations) {
    if (operation.finished())
      continue;
    moved |= operation.advance();
    open += !operation.finished();
    if (!operation.error().empty() && failure.empty())
      failure = operation.error();
  }
  return moved;
}

Status ShmCommunicator::wait(Clock::time_point deadline) {
  Clock::time_point shownAt = Clock::now() + kLongWait;
  bool shown = false;
  Status outcome = success();
  while (true) {
    uint32_t bell = segment->rankLine(self).doorbell.load(std::memory_order_seq_cst);
    Clock::time_point now = Clock::now();
    size_t open = 0;
    std::string failure;
    bool moved = advance(groupOperations, open, failure) | advance(pairOperations, open, failure);
    // Also when nothing is open: a peer that gave up may have reused the memory that was read here.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (segment->aborted())
      outcome = Error{ExitCode::Runtime, segment->abortText()};
    else if (!failure.empty())
      outcome = fail({ExitCode::Runtime, failure});
    if (!outcome || open == 0)
      break;
    if (moved)
      continue;
    if (now >= deadline) {
      std::vector<uint32_t> missing = missingRanks();
      if (missing.empty()) // they came while we looked
        continue;
      outcome = fail({ExitCode::Runtime, expired(missing)});
      break;
    }
    if (!segment->waitForBell(self, bell, shown ? deadline : std::min(deadline, shownAt)) && !shown) {
      shown = true;
      segment->rankLine(self).waiting.store(describeOpen());
    }
  }
  if (shown)
    segment->rankLine(self).waiting.store("");
  return outcome;
}

/// The first open operation stands for the batch.
std::string ShmCommunicator::describeOpen() const {
  for (const GroupOperation &operation : groupOperations)
    if (!operation.finished())
      return operation.describeCall();
  for (const PairOperation &operation : pairOperations)
    if (!operation.finished())
      return operation.describeCall();
  return "";
}

std::vector<uint32_t> ShmCommunicator::missingRanks() const {
  for (const GroupOperation &operation : groupOperations)
    if (!operation.finished())
      return operation.missing();
  for (const PairOperation &operation : pairOperations)
    if (!operation.finished())
      return operation.missing();
  return {};
}

std::string ShmCommunicator::expired(const std::vector<uint32_t> &missing) const {
  std::string text = describeOpen() + ": the deadline passed without " + nameRanks(missing);
  for (uint32_t rank : missing) {
    std::string waiting = segment->waitingIn(rank), task = segment->lastTask(rank);
    if (!waiting.empty())
      text += "; rank " + std::to_string(rank) + " waits in " + waiting;
    else if (!task.empty())
      text += "; rank " + std::to_string(rank) + " was last in task " + task;
  }
  return text;
}

Status ShmCommunicator::run(std::span<const CollectiveCall> collectives, std::span<const P2pCall> p2ps,
                            Clock::time_point deadline) {
  if (segment->aborted())
    return Error{ExitCode::Runtime, segment->abortText()};
  if (auto error = check(collectives, p2ps))
    return fail(*error);
  if (auto error = prepare(collectives, p2ps))
    return fail(*error);
  Status outcome = wait(deadline);
  if (!outcome)
    return outcome;
  std::vector<uint64_t> cuts;
  for (const CollectiveCall &call : collectives) {
    cutParts(call, cuts);
    sent += ringBytesSent(call, cuts);
  }
  for (const P2pCall &call : p2ps)
    sent += call.send ? call.bytes : 0;
  return outcome;
}

} // namespace

std::unique_ptr<Communicator> makeShmCommunicator(std::shared_ptr<ShmSegment> segment, uint32_t rank) {
  return std::make_unique<ShmCommunicator>(std::move(segment), rank);
}

} // namespace plait
