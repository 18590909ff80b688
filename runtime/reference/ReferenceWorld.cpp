#include "runtime/reference/ReferenceWorld.h"
#include <algorithm>
#include <bit>
#include <cstring>

namespace plait {
namespace {

// Arithmetic on its own, so that the fast communicators are checked against something that is not theirs.
float floatOf(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t nearestBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), low = bits & 0xffff, high = bits >> 16;
  if (value != value)
    return static_cast<uint16_t>(high | 0x40);
  bool up = low > 0x8000 || (low == 0x8000 && (high & 1));
  return static_cast<uint16_t>(high + (up ? 1 : 0));
}

template <typename T> T combine(T a, T b, pb::ReduceKind reduce) {
  if (reduce == pb::REDUCE_SUM)
    return a + b;
  if (a != a || b != b)
    return a != a ? a : b;
  return a > b ? a : b;
}

/// Element `e` of all inputs, reduced in member order into out[e].
template <typename T, typename Wide, typename Load, typename Store>
void reduceElement(const std::vector<const char *> &inputs, uint64_t e, char *out, pb::ReduceKind reduce, Load load,
                   Store store) {
  auto element = [&](const char *input) {
    T value;
    std::memcpy(&value, input + e * sizeof(T), sizeof(T));
    return Wide(load(value));
  };
  Wide total = element(inputs[0]);
  for (size_t member = 1; member < inputs.size(); ++member)
    total = combine(total, element(inputs[member]), reduce);
  T stored = store(total);
  std::memcpy(out + e * sizeof(T), &stored, sizeof(T));
}

void reduceElement(const std::vector<const char *> &inputs, uint64_t e, char *out, DType dtype,
                   pb::ReduceKind reduce) {
  auto same = [](auto value) { return value; };
  switch (dtype) {
  case DType::F32: return reduceElement<float, float>(inputs, e, out, reduce, same, same);
  case DType::F64: return reduceElement<double, double>(inputs, e, out, reduce, same, same);
  // Unsigned, because sums wrap; the maximum is signed.
  case DType::I32:
    if (reduce == pb::REDUCE_MAX)
      return reduceElement<int32_t, int32_t>(inputs, e, out, reduce, same, same);
    return reduceElement<uint32_t, uint32_t>(inputs, e, out, reduce, same, same);
  case DType::BF16: return reduceElement<uint16_t, float>(inputs, e, out, reduce, floatOf, nearestBf16);
  default: return;
  }
}

/// The whole vector that the members' inputs make; calls are in member order.
std::vector<char> wholeOf(const std::vector<const CollectiveCall *> &calls, const std::vector<uint64_t> &cuts) {
  const CollectiveCall &any = *calls[0];
  uint64_t size = static_cast<uint64_t>(bytesOf(any.dtype));
  std::vector<char> whole(any.elements * size);
  if (reduces(any.kind)) {
    std::vector<const char *> inputs;
    for (const CollectiveCall *call : calls)
      inputs.push_back(static_cast<const char *>(call->in));
    for (uint64_t e = 0; e < any.elements; ++e)
      reduceElement(inputs, e, whole.data(), any.dtype, any.reduce);
  } else if (any.kind == pb::COLLECTIVE_BROADCAST) {
    if (!whole.empty())
      std::memcpy(whole.data(), calls[any.root]->in, whole.size());
  } else {
    for (size_t member = 0; member < calls.size(); ++member)
      if (uint64_t bytes = (cuts[member + 1] - cuts[member]) * size)
        std::memcpy(whole.data() + cuts[member] * size, calls[member]->in, bytes);
  }
  return whole;
}

void completeCollective(const std::vector<const CollectiveCall *> &calls) {
  std::vector<uint64_t> cuts;
  cutParts(*calls[0], cuts);
  std::vector<char> whole = wholeOf(calls, cuts);
  uint64_t size = static_cast<uint64_t>(bytesOf(calls[0]->dtype));
  for (size_t member = 0; member < calls.size(); ++member) {
    bool part = calls[0]->kind == pb::COLLECTIVE_REDUCE_SCATTER;
    uint64_t begin = part ? cuts[member] : 0, end = part ? cuts[member + 1] : calls[0]->elements;
    if (begin < end)
      std::memcpy(calls[member]->out, whole.data() + begin * size, (end - begin) * size);
  }
}

} // namespace

class ReferenceCommunicator final : public Communicator {
public:
  ReferenceCommunicator(ReferenceWorld &world, uint32_t rank) : world(world), self(rank) {}
  uint32_t rank() const override { return self; }
  uint32_t worldSize() const override { return world.size; }
  void *arena(uint64_t) override { return nullptr; }
  uint64_t bytesSent() const override { return sent; }

  void abort(const std::string &cause) override {
    std::lock_guard lock(world.mutex);
    world.end(cause, "rank " + std::to_string(self));
  }

  Status run(std::span<const CollectiveCall> collectives, std::span<const P2pCall> p2ps,
             Clock::time_point deadline) override {
    std::unique_lock lock(world.mutex);
    if (world.ended)
      return Error{ExitCode::Runtime, world.endedText};
    std::vector<std::pair<const CollectiveCall *, ReferenceWorld::MeetingKey>> met;
    std::vector<std::pair<const P2pCall *, ReferenceWorld::MessageKey>> posted;
    std::string wrong;
    for (const CollectiveCall &call : collectives)
      if (auto why = malformed(call, self, world.size))
        return fail(*why, ExitCode::Internal);
    for (const P2pCall &call : p2ps)
      if (auto why = malformed(call, world.size))
        return fail(*why, ExitCode::Internal);
    for (const CollectiveCall &call : collectives)
      met.emplace_back(&call, enter(call, wrong));
    for (const P2pCall &call : p2ps)
      posted.emplace_back(&call, post(call, wrong));
    if (!wrong.empty())
      return fail(wrong, ExitCode::Runtime);
    auto allDone = [&] {
      for (auto &[call, key] : met)
        if (!world.meetings[key].done)
          return false;
      for (auto &[call, key] : posted)
        if (!world.messages[key].done)
          return false;
      return true;
    };
    world.changed.wait_until(lock, deadline, [&] { return world.ended || allDone(); });
    if (!allDone()) {
      if (world.ended)
        return Error{ExitCode::Runtime, world.endedText};
      for (auto &[call, key] : met)
        if (!world.meetings[key].done)
          return fail(expired(*call, key), ExitCode::Runtime);
      for (auto &[call, key] : posted)
        if (!world.messages[key].done)
          return fail(expired(*call, key), ExitCode::Runtime);
    }
    count(collectives, p2ps);
    return success();
  }

private:
  Status fail(const std::string &cause, ExitCode code) {
    if (world.ended)
      return Error{ExitCode::Runtime, world.endedText};
    world.end(cause, "rank " + std::to_string(self));
    return Error{code, cause};
  }

  static std::string describeCall(const CollectiveCall &call, uint32_t sequence) {
    std::vector<uint64_t> cuts;
    cutParts(call, cuts);
    return describe(termsOf(call, cuts, sequence), call.origin);
  }

  /// Arrives at the group's next meeting and, as the last member, does the work.
  ReferenceWorld::MeetingKey enter(const CollectiveCall &call, std::string &wrong) {
    const CommGroup &group = *call.group;
    ReferenceWorld::MeetingKey key{group.id, ++calls[group.id]};
    ReferenceWorld::Meeting &meeting = world.meetings[key];
    std::vector<uint64_t> cuts, theirs;
    cutParts(call, cuts);
    for (const ReferenceWorld::Arrival &other : meeting.arrivals) {
      cutParts(other.call, theirs);
      if (termsOf(call, cuts, key.second) != termsOf(other.call, theirs, key.second) && wrong.empty())
        wrong = describeMismatch(group.name, self, describeCall(call, key.second), other.rank,
                                 describeCall(other.call, key.second));
    }
    meeting.arrivals.push_back({self, call});
    if (!wrong.empty() || meeting.arrivals.size() < group.ranks.size())
      return key;
    std::vector<const CollectiveCall *> ordered(group.ranks.size());
    for (const ReferenceWorld::Arrival &arrival : meeting.arrivals)
      ordered[arrival.call.group->index] = &arrival.call;
    completeCollective(ordered);
    meeting.done = true;
    world.changed.notify_all();
    return key;
  }

  ReferenceWorld::MessageKey post(const P2pCall &call, std::string &wrong) {
    uint32_t from = call.send ? self : call.peer, to = call.send ? call.peer : self;
    uint32_t sequence = ++(call.send ? sends : receives)[call.peer];
    ReferenceWorld::MessageKey key{from, to, sequence};
    ReferenceWorld::Message &message = world.messages[key];
    (call.send ? message.send : message.receive) = &call;
    if (!message.send || !message.receive)
      return key;
    if (message.send->bytes != message.receive->bytes) {
      if (wrong.empty())
        wrong = "message " + std::to_string(sequence) + " from rank " + std::to_string(from) + " to rank " +
                std::to_string(to) + " does not match: " + side(from, "sends", *message.send) + ", " +
                side(to, "receives", *message.receive);
      return key;
    }
    if (call.bytes)
      std::memmove(message.receive->data, message.send->data, call.bytes);
    message.done = true;
    world.changed.notify_all();
    return key;
  }

  static std::string side(uint32_t rank, const std::string &verb, const P2pCall &call) {
    std::string text = "rank " + std::to_string(rank) + " " + verb + " " + std::to_string(call.bytes) + " bytes";
    return *call.origin ? text + " (" + call.origin + ")" : text;
  }

  std::string expired(const CollectiveCall &call, const ReferenceWorld::MeetingKey &key) {
    std::vector<uint32_t> missing;
    for (uint32_t rank : call.group->ranks) {
      bool arrived = false;
      for (const ReferenceWorld::Arrival &arrival : world.meetings[key].arrivals)
        arrived |= arrival.rank == rank;
      if (!arrived)
        missing.push_back(rank);
    }
    std::sort(missing.begin(), missing.end());
    return describeCall(call, key.second) + ", of group \"" + call.group->name + "\": the deadline passed without " +
           nameRanks(missing);
  }

  std::string expired(const P2pCall &call, const ReferenceWorld::MessageKey &key) {
    std::string text = call.send ? "send of " : "receive of ";
    text += std::to_string(call.bytes) + " bytes " + (call.send ? "to" : "from") + " rank " +
            std::to_string(call.peer) + " as message " + std::to_string(std::get<2>(key));
    if (*call.origin)
      text += std::string(", from ") + call.origin;
    return text + ": the deadline passed without " + nameRanks({call.peer});
  }

  void count(std::span<const CollectiveCall> collectives, std::span<const P2pCall> p2ps) {
    std::vector<uint64_t> cuts;
    for (const CollectiveCall &call : collectives) {
      cutParts(call, cuts);
      sent += ringBytesSent(call, cuts);
    }
    for (const P2pCall &call : p2ps)
      sent += call.send ? call.bytes : 0;
  }

  ReferenceWorld &world;
  uint32_t self;
  uint64_t sent = 0;
  std::map<uint32_t, uint32_t> calls, sends, receives; ///< how many so far: by group id, by peer
};

void ReferenceWorld::end(const std::string &cause, const std::string &byWhom) {
  if (ended)
    return;
  ended = true;
  endedText = "aborted by " + byWhom + ": " + cause;
  changed.notify_all();
}

std::unique_ptr<Communicator> ReferenceWorld::communicator(uint32_t rank) {
  return std::make_unique<ReferenceCommunicator>(*this, rank);
}

} // namespace plait
