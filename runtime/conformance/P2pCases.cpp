#include "runtime/conformance/Conformance.h"
#include "runtime/conformance/Elements.h"
#include <cstring>

namespace plait {
namespace {

/// Byte `at` of the message with this tag.
char messageByte(uint32_t tag, uint64_t at) { return static_cast<char>(tag * 31 + at * 7 + at / 251); }

void fill(char *data, uint64_t bytes, uint32_t tag) {
  for (uint64_t at = 0; at < bytes; ++at)
    data[at] = messageByte(tag, at);
}

void verify(const char *data, uint64_t bytes, uint32_t tag, const std::string &what, std::string &complaints) {
  for (uint64_t at = 0; at < bytes; ++at)
    if (data[at] != messageByte(tag, at)) {
      complaints += what + ": byte " + std::to_string(at) + " is wrong\n";
      return;
    }
}

constexpr uint64_t kSizes[] = {0, 1, 13, 4096, 30001}; // the last exceeds the windows that tests use
constexpr uint64_t kMax = 30016;

/// Both ranks send and receive in one batch, which no order of single calls could do.
std::string exchange(Communicator &communicator, bool fromArena) {
  uint32_t me = communicator.rank(), peer = 1 - me;
  Buffer out(communicator, kMax, fromArena), in(communicator, kMax, fromArena);
  std::string complaints;
  for (uint64_t bytes : kSizes) {
    fill(out.data(), bytes, me);
    std::memset(in.data(), 0, kMax);
    P2pCall calls[2] = {{true, peer, out.data(), bytes, "exchange"}, {false, peer, in.data(), bytes, "exchange"}};
    Status status = communicator.run({}, calls, farDeadline());
    if (!status)
      return status.error().message;
    verify(in.data(), bytes, peer, std::to_string(bytes) + " bytes", complaints);
    if (in.data()[bytes] != 0)
      complaints += "wrote behind the message\n";
  }
  return complaints;
}

/// A chain of blocking calls, as a pipeline's forward pass.
std::string chain(Communicator &communicator) {
  uint32_t me = communicator.rank(), last = communicator.worldSize() - 1;
  std::vector<char> data(kMax);
  std::string complaints;
  for (uint64_t bytes : kSizes) {
    if (me == 0)
      fill(data.data(), bytes, 5);
    P2pCall receive{false, me - 1, data.data(), bytes, "chain"}, send{true, me + 1, data.data(), bytes, "chain"};
    Status status = me > 0 ? communicator.run({}, {&receive, 1}, farDeadline()) : success();
    if (status && me < last)
      status = communicator.run({}, {&send, 1}, farDeadline());
    if (!status)
      return status.error().message;
    verify(data.data(), bytes, 5, "chain", complaints);
  }
  return complaints;
}

/// Several messages of a pair in one batch match by order; the other side takes them one call at a time.
std::string orderWithinPair(Communicator &communicator) {
  constexpr uint64_t kBytes[3] = {100, 5000, 3};
  std::vector<std::vector<char>> data;
  std::vector<P2pCall> calls;
  bool sender = communicator.rank() == 0;
  for (uint32_t i = 0; i < 3; ++i) {
    data.emplace_back(kBytes[i]);
    if (sender)
      fill(data[i].data(), kBytes[i], i);
    calls.push_back({sender, 1 - communicator.rank(), data[i].data(), kBytes[i], "ordered"});
  }
  std::string complaints;
  if (sender) {
    Status status = communicator.run({}, calls, farDeadline());
    return status ? "" : status.error().message;
  }
  for (uint32_t i = 0; i < 3; ++i) {
    Status status = communicator.run({}, {&calls[i], 1}, farDeadline());
    if (!status)
      return status.error().message;
    verify(data[i].data(), kBytes[i], i, "message " + std::to_string(i), complaints);
  }
  return complaints;
}

/// A rank may send to itself within a batch.
std::string selfMessage(Communicator &communicator) {
  std::vector<char> out(9000), in(9000);
  fill(out.data(), out.size(), 3);
  P2pCall calls[2] = {{true, communicator.rank(), out.data(), out.size(), "self"},
                      {false, communicator.rank(), in.data(), in.size(), "self"}};
  Status status = communicator.run({}, calls, farDeadline());
  if (!status)
    return status.error().message;
  std::string complaints;
  verify(in.data(), in.size(), 3, "self", complaints);
  return complaints;
}

/// Collectives of two groups and messages in both directions, in one batch; ranks list them in different orders.
std::string mixedBatch(Communicator &communicator) {
  uint32_t me = communicator.rank();
  CommGroup row = groupOf(20 + me / 2, "row", {me / 2 * 2, me / 2 * 2 + 1}, me);
  CommGroup column = groupOf(30 + me % 2, "column", {me % 2, me % 2 + 2}, me);
  std::string complaints;
  for (int round = 0; round < 20; ++round) {
    std::vector<float> rowData(2500, static_cast<float>(me + 1)), columnData(700, static_cast<float>(me + 1));
    std::vector<CollectiveCall> calls(2);
    for (CollectiveCall &call : calls) {
      call.kind = pb::COLLECTIVE_ALL_REDUCE;
      call.reduce = pb::REDUCE_SUM;
    }
    calls[0].group = &row;
    calls[0].in = calls[0].out = rowData.data();
    calls[0].elements = rowData.size();
    calls[1].group = &column;
    calls[1].in = calls[1].out = columnData.data();
    calls[1].elements = columnData.size();
    if (me % 3 == 1)
      std::swap(calls[0], calls[1]);
    std::vector<char> out(6000), in(6000);
    fill(out.data(), out.size(), me);
    P2pCall p2ps[2] = {{true, (me + 1) % 4, out.data(), out.size(), "ring"},
                       {false, (me + 3) % 4, in.data(), in.size(), "ring"}};
    Status status = communicator.run(calls, p2ps, farDeadline());
    if (!status)
      return status.error().message;
    verify(in.data(), in.size(), (me + 3) % 4, "ring", complaints);
    float rowSum = static_cast<float>(me / 2 * 4 + 3), columnSum = static_cast<float>(me % 2 * 2 + 4);
    if (rowData[0] != rowSum || rowData.back() != rowSum || columnData[0] != columnSum ||
        columnData.back() != columnSum)
      complaints += "a sum is wrong\n";
  }
  return complaints;
}

} // namespace

void addP2pCases(std::vector<ConformanceCase> &cases) {
  auto add = [&](const std::string &name, uint32_t worldSize, const RankBody &body) {
    cases.push_back({name, [=](const World &world) { return complaintsOf(world, worldSize, body); }});
  };
  add("simultaneous exchange, private memory", 2, [](Communicator &c) { return exchange(c, false); });
  add("simultaneous exchange, arena", 2, [](Communicator &c) { return exchange(c, true); });
  add("chain of blocking calls", 4, chain);
  add("messages of a pair match by order", 2, orderWithinPair);
  add("message to oneself", 1, selfMessage);
  add("batch of collectives and messages", 4, mixedBatch);
}

} // namespace plait
