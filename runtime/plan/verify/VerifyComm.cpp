#include "runtime/plan/verify/CommClasses.h"
#include "runtime/plan/verify/Verify.h"
#include <algorithm>
#include <deque>

namespace plait {
namespace {

/// A place where parts meet: one slot for each class that takes part (sender and receiver for a pair).
struct Stream {
  struct Posted {
    uint32_t comm;  ///< class
    uint32_t part;  ///< of its current batch
  };
  std::vector<uint32_t> classes;            ///< by slot
  std::vector<std::deque<Posted>> slots;
};

/// Runs one rank of each class. Because each waits for its batch and order alone decides what meets, whatever is possible
/// happens in the end: the walk ends in the same state for every speed of the ranks.
class Walk {
public:
  Walk(const pb::Plan &plan, const CommOps &ops, const CommClasses &classes, const RankTable &table)
      : plan(plan), ops(ops), classes(classes), table(table), used(usedEnds(plan, ops)),
        runners(classes.example.size()) {
    for (uint32_t c = 0; c < runners.size(); ++c)
      bindStreams(c);
  }

  std::vector<std::string> run() {
    std::deque<uint32_t> ready;
    for (uint32_t c = 0; c < runners.size(); ++c)
      ready.push_back(c);
    while (!ready.empty() && faults.empty()) {
      uint32_t c = ready.front();
      ready.pop_front();
      advance(c, ready);
    }
    if (faults.empty())
      reportStuck();
    return std::move(faults);
  }

private:
  struct Runner {
    std::map<CommEnd, std::pair<uint32_t, uint32_t>> ends; ///< stream and slot
    size_t next = 0;                                       ///< current operation
    uint32_t waiting = 0;                                  ///< parts of it that have not met
  };

  uint32_t roleOf(uint32_t c) const { return table.role[classes.example[c]]; }
  const std::vector<CommOp> &opsOf(uint32_t c) const { return ops.roles[roleOf(c)]; }

  /// Classes that meet at an end of `rank`: those of a group once each, ascending; or sender and receiver.
  std::vector<uint32_t> classesAt(const CommEnd &end, uint32_t rank) const {
    std::vector<uint32_t> members;
    if (end.kind == CommEnd::Group && end.index == CommEnd::kWorld) {
      for (uint32_t c = 0; c < runners.size(); ++c)
        members.push_back(c);
      return members;
    }
    for (uint32_t member : ranksAt(plan, end, rank))
      members.push_back(classes.of[member]);
    if (end.kind == CommEnd::Group) {
      std::sort(members.begin(), members.end());
      members.erase(std::unique(members.begin(), members.end()), members.end());
    }
    return members;
  }

  void bindStreams(uint32_t c) {
    uint32_t rank = classes.example[c];
    for (const CommEnd &end : used[roleOf(c)]) {
      bool isGroup = end.kind == CommEnd::Group;
      std::vector<uint32_t> members = classesAt(end, rank), key = members;
      key.push_back(isGroup);
      key.push_back(streamOf(plan, used[roleOf(c)], end, rank).index);
      auto [it, isNew] = streamNumbers.try_emplace(key, static_cast<uint32_t>(streams.size()));
      if (isNew)
        streams.push_back({members, std::vector<std::deque<Stream::Posted>>(members.size())});
      uint32_t slot = end.kind == CommEnd::Receive ? 1
                      : isGroup ? uint32_t(std::find(members.begin(), members.end(), c) - members.begin())
                                : 0;
      runners[c].ends[end] = {it->second, slot};
    }
  }

  /// Posts the next operation of c, and those behind it for as long as they meet at once.
  void advance(uint32_t c, std::deque<uint32_t> &ready) {
    Runner &runner = runners[c];
    if (runner.waiting > 0 || runner.next == opsOf(c).size())
      return;
    const std::vector<CommPart> &parts = ops.batches[opsOf(c)[runner.next].batch];
    runner.waiting = static_cast<uint32_t>(parts.size());
    for (uint32_t p = 0; p < parts.size() && faults.empty(); ++p) {
      auto [stream, slot] = runner.ends[parts[p].end];
      streams[stream].slots[slot].push_back({c, p});
      meet(streams[stream], ready);
    }
  }

  /// Completes the parts at the head of a stream once all its slots have one.
  void meet(Stream &stream, std::deque<uint32_t> &ready) {
    if (std::any_of(stream.slots.begin(), stream.slots.end(), [](const auto &slot) { return slot.empty(); }))
      return;
    Stream::Posted first = stream.slots[0].front();
    for (const auto &slot : stream.slots)
      if (partOf(slot.front()).signature != partOf(first).signature)
        return reportMismatch(first, slot.front());
    for (auto &slot : stream.slots) {
      Runner &runner = runners[slot.front().comm];
      if (--runner.waiting == 0) {
        ++runner.next;
        ready.push_back(slot.front().comm);
      }
      slot.pop_front();
    }
  }

  const CommPart &partOf(const Stream::Posted &posted) const {
    return ops.batches[opsOf(posted.comm)[runners[posted.comm].next].batch][posted.part];
  }

  std::string describe(uint32_t rank, uint32_t c, const CommPart &part) const {
    return "rank " + std::to_string(rank) + " at " +
           ops.describe(plan, roleOf(c), opsOf(c)[runners[c].next], part);
  }

  void reportMismatch(const Stream::Posted &a, const Stream::Posted &b) {
    uint32_t rank = classes.example[a.comm];
    uint32_t other = partner(rank, a.comm, partOf(a), b.comm);
    faults.push_back("operations that meet differ: " + describe(rank, a.comm, partOf(a)) + "; " +
                     describe(other, b.comm, partOf(b)));
  }

  /// The rank of class `wanted` that meets `rank` in this part.
  uint32_t partner(uint32_t rank, uint32_t c, const CommPart &part, uint32_t wanted) const {
    std::vector<uint32_t> ranks = ranksAt(plan, part.end, rank);
    if (part.end.kind != CommEnd::Group)
      return ranks[part.end.kind == CommEnd::Send ? 1 : 0];
    for (uint32_t member : ranks)
      if (classes.of[member] == wanted && (member != rank || wanted == c))
        return member;
    return rank;
  }

  /// The class that class c waits for, with the part of c's batch that has not met.
  std::pair<uint32_t, const CommPart *> waitsFor(uint32_t c) const {
    const std::vector<CommPart> &parts = ops.batches[opsOf(c)[runners[c].next].batch];
    for (uint32_t p = 0; p < parts.size(); ++p) {
      auto [index, own] = runners[c].ends.at(parts[p].end);
      const Stream &stream = streams[index];
      bool isPosted = std::any_of(stream.slots[own].begin(), stream.slots[own].end(), [&](const Stream::Posted &posted) {
        return posted.comm == c && posted.part == p;
      });
      for (size_t slot = 0; isPosted && slot < stream.slots.size(); ++slot)
        if (stream.slots[slot].empty())
          return {stream.classes[slot], &parts[p]};
    }
    return {c, nullptr};
  }

  /// Follows who waits for whom from the first class that did not reach its end, up to a repetition or to one that did.
  void reportStuck() {
    constexpr size_t kShown = 6;
    uint32_t c = 0;
    while (c < runners.size() && runners[c].next == opsOf(c).size())
      ++c;
    if (c == runners.size())
      return;
    // Walk into the cycle first, then show it from there.
    std::set<uint32_t> passed;
    while (runners[c].next < opsOf(c).size() && passed.insert(c).second) {
      uint32_t next = waitsFor(c).first;
      if (runners[next].next == opsOf(next).size())
        break;
      c = next;
    }
    uint32_t rank = classes.example[c], start = c;
    for (size_t shown = 0; shown < kShown; ++shown) {
      auto [next, part] = waitsFor(c);
      if (!part)
        return;
      uint32_t other = partner(rank, c, *part, next);
      bool hasEnded = runners[next].next == opsOf(next).size();
      faults.push_back(describe(rank, c, *part) + " waits for rank " + std::to_string(other) +
                       (hasEnded ? ", which has ended its step" : ""));
      if (hasEnded || next == start)
        return;
      c = next;
      rank = other;
    }
  }

  const pb::Plan &plan;
  const CommOps &ops;
  const CommClasses &classes;
  const RankTable &table;
  std::vector<std::set<CommEnd>> used;
  std::map<std::vector<uint32_t>, uint32_t> streamNumbers;
  std::vector<Stream> streams;
  std::vector<Runner> runners;
  std::vector<std::string> faults;
};

} // namespace

std::vector<std::string> verifyComm(const pb::Plan &plan) {
  Faults faults;
  RankTable table = makeRankTable(plan, faults);
  if (!faults.empty())
    return faults.take();
  CommOps ops = commOpsOf(plan);
  CommClasses classes = commClassesOf(plan, table, ops);
  return Walk(plan, ops, classes, table).run();
}

} // namespace plait
