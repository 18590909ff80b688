// What must not hang, and what it must say: missing peers, calls that do not match, malformed calls, aborts.
#include "runtime/conformance/Conformance.h"

namespace plait {
namespace {

using Clock = Communicator::Clock;
constexpr std::chrono::milliseconds kShort{200};
/// An error that others caused must arrive long before the deadline of the call.
constexpr std::chrono::seconds kPrompt{20};

CollectiveCall allReduce(const CommGroup &group, float *data, uint64_t elements) {
  CollectiveCall call;
  call.kind = pb::COLLECTIVE_ALL_REDUCE;
  call.group = &group;
  call.in = call.out = data;
  call.elements = elements;
  call.reduce = pb::REDUCE_SUM;
  call.origin = "test";
  return call;
}

/// "exit code: message", or "ok"; "late: ..." if an error took longer than kPrompt.
std::string outcome(Communicator &communicator, std::span<const CollectiveCall> collectives,
                    std::span<const P2pCall> p2ps, Clock::time_point deadline) {
  Clock::time_point begin = Clock::now();
  Status status = communicator.run(collectives, p2ps, deadline);
  if (status)
    return "ok";
  std::string text = std::to_string(static_cast<int>(status.error().code)) + ": " + status.error().message;
  return (Clock::now() - begin > kPrompt ? "late: " : "") + text;
}

/// One requirement on the texts of a world's ranks: rank's text (any rank if kAny) contains each of `parts`.
constexpr uint32_t kAny = ~0u;
struct Expectation {
  uint32_t rank;
  std::vector<std::string> parts;
};

bool containsAll(const std::string &text, const std::vector<std::string> &parts) {
  for (const std::string &part : parts)
    if (text.find(part) == std::string::npos)
      return false;
  return true;
}

std::vector<std::string> unmet(const std::vector<std::string> &texts, const std::vector<Expectation> &expectations) {
  std::vector<std::string> failures;
  for (const Expectation &expectation : expectations) {
    bool met = false;
    std::string found;
    for (uint32_t rank = 0; rank < texts.size(); ++rank)
      if (expectation.rank == kAny || expectation.rank == rank) {
        met |= containsAll(texts[rank], expectation.parts);
        found += "\n  rank " + std::to_string(rank) + ": " + texts[rank];
      }
    if (!met) {
      std::string wanted;
      for (const std::string &part : expectation.parts)
        wanted += "'" + part + "' ";
      failures.push_back("expected " + wanted + "but got" + found);
    }
  }
  return failures;
}

/// Rank 0 sends, rank 1 never receives: an unbuffered send must not return.
std::string lonelySend(Communicator &communicator) {
  char data[10] = {};
  P2pCall call{true, 1, data, 10, "boundary"};
  return communicator.rank() ? "ok" : outcome(communicator, {}, {&call, 1}, Clock::now() + kShort);
}

std::string lonelyReceive(Communicator &communicator) {
  char data[10] = {};
  P2pCall call{false, 0, data, 10, ""};
  return communicator.rank() ? outcome(communicator, {}, {&call, 1}, Clock::now() + kShort) : "ok";
}

/// Ranks 1 and 3 never come; afterwards the epoch has ended for everybody.
std::string absentMembers(Communicator &communicator) {
  CommGroup group = groupOf(1, "tp of stage 1", {0, 1, 2, 3}, communicator.rank());
  float data[4] = {};
  CollectiveCall call = allReduce(group, data, 4);
  if (communicator.rank() % 2)
    return "ok";
  std::string first = outcome(communicator, {&call, 1}, {}, Clock::now() + kShort);
  return first + " | then " + outcome(communicator, {&call, 1}, {}, farDeadline());
}

/// A deadline that has passed does not hang either.
std::string pastDeadline(Communicator &communicator) {
  CommGroup group = groupOf(1, "late", {0, 1}, communicator.rank());
  float data[1] = {};
  CollectiveCall call = allReduce(group, data, 1);
  return communicator.rank() ? "ok" : outcome(communicator, {&call, 1}, {}, Clock::time_point{});
}

/// Each rank changes the common call in its own way.
std::vector<std::string> mismatch(const World &world, uint32_t worldSize,
                                  const std::function<void(uint32_t rank, CollectiveCall &call)> &change) {
  return world.run(worldSize, [&](Communicator &communicator) {
    std::vector<uint32_t> ranks;
    for (uint32_t rank = 0; rank < communicator.worldSize(); ++rank)
      ranks.push_back(rank);
    CommGroup group = groupOf(1, "dp", ranks, communicator.rank());
    std::vector<float> data(64);
    CollectiveCall call = allReduce(group, data.data(), 12);
    change(communicator.rank(), call);
    return outcome(communicator, {&call, 1}, {}, farDeadline());
  });
}

std::vector<std::string> mismatchFailures(const World &world) {
  std::vector<std::string> failures;
  auto expect = [&](const std::function<void(uint32_t, CollectiveCall &)> &change, std::vector<std::string> parts) {
    parts.push_back("members of group \"dp\" disagree: rank ");
    std::vector<std::string> texts = mismatch(world, 3, change);
    // Every rank returns an error, and each carries both sides.
    for (uint32_t rank = 0; rank < 3; ++rank)
      for (std::string &failure : unmet(texts, {{rank, parts}, {rank, {"7: "}}}))
        failures.push_back(std::move(failure));
  };
  expect([](uint32_t rank, CollectiveCall &call) { call.elements = rank == 1 ? 13 : 12; },
         {"all_reduce(sum) of 12 f32 as call 1, from test", "rank 1 calls all_reduce(sum) of 13 f32"});
  expect([](uint32_t rank, CollectiveCall &call) { call.reduce = rank == 2 ? pb::REDUCE_MAX : pb::REDUCE_SUM; },
         {"all_reduce(sum)", "rank 2 calls all_reduce(max)"});
  expect([](uint32_t rank, CollectiveCall &call) { call.dtype = rank == 0 ? DType::I32 : DType::F32; },
         {"rank 0 calls all_reduce(sum) of 12 i32", "12 f32"});
  expect([](uint32_t rank, CollectiveCall &call) {
           call.kind = rank == 1 ? pb::COLLECTIVE_BROADCAST : pb::COLLECTIVE_ALL_REDUCE;
         },
         {"all_reduce(sum) of 12 f32", "rank 1 calls broadcast of 12 f32 from member 0"});
  static const std::vector<int64_t> kOne = {4, 4, 4}, kOther = {5, 3, 4};
  expect([](uint32_t rank, CollectiveCall &call) {
           call.kind = pb::COLLECTIVE_ALL_GATHER;
           static thread_local float wide[16];
           call.in = wide;
           call.counts = rank == 2 ? kOther : kOne;
         },
         {"all_gather of 12 f32", "their part sizes or rank lists differ"});
  return failures;
}

/// The second call differs: sequence numbers are in the message.
std::string orderMismatch(Communicator &communicator) {
  CommGroup group = groupOf(1, "dp", {0, 1}, communicator.rank());
  float data[8] = {};
  CollectiveCall first = allReduce(group, data, 2), second = allReduce(group, data, communicator.rank() ? 3 : 4);
  Status status = communicator.run({&first, 1}, {}, farDeadline());
  return status ? outcome(communicator, {&second, 1}, {}, farDeadline()) : "first call failed";
}

std::string p2pMismatch(Communicator &communicator) {
  char data[64] = {};
  bool sender = communicator.rank() == 0;
  P2pCall call{sender, 1 - communicator.rank(), data, sender ? 40u : 44u, sender ? "forward" : "backward"};
  return outcome(communicator, {}, {&call, 1}, farDeadline());
}

/// Rank 0 aborts while rank 1 waits for it.
std::string aborted(Communicator &communicator) {
  if (communicator.rank() == 0) {
    communicator.abort("loss is not a number");
    return "ok";
  }
  CommGroup group = groupOf(1, "dp", {0, 1}, communicator.rank());
  float data[1] = {};
  CollectiveCall call = allReduce(group, data, 1);
  return outcome(communicator, {&call, 1}, {}, farDeadline());
}

/// One rank's call cannot be made; it says why, and the others do not wait for it.
std::vector<std::string> malformedFailures(const World &world) {
  std::vector<std::string> failures;
  auto expect = [&](const std::function<void(CollectiveCall &, CommGroup &)> &spoil, const std::string &why) {
    std::vector<std::string> texts = world.run(2, [&](Communicator &communicator) {
      CommGroup group = groupOf(1, "dp", {0, 1}, communicator.rank());
      std::vector<float> data(16);
      CollectiveCall call = allReduce(group, data.data(), 5);
      if (communicator.rank() == 0)
        spoil(call, group);
      return outcome(communicator, {&call, 1}, {}, farDeadline());
    });
    for (std::string &failure : unmet(texts, {{0, {"1: ", why}}, {1, {"7: aborted by rank 0: ", why}}}))
      failures.push_back(std::move(failure));
  };
  static const std::vector<int64_t> kShortCounts = {1, 2}, kNegative = {-1, 6}, kThree = {1, 2, 2};
  expect([](CollectiveCall &call, CommGroup &) { call.kind = pb::COLLECTIVE_ALL_GATHER; },
         "all_gather of group \"dp\" from test: 5 elements do not divide by 2 members; pass counts");
  auto withCounts = [](const std::vector<int64_t> &counts) {
    return [&counts](CollectiveCall &call, CommGroup &) {
      call.kind = pb::COLLECTIVE_ALL_GATHER;
      call.counts = counts;
    };
  };
  expect(withCounts(kShortCounts), "counts sum to 3, not 5 elements");
  expect(withCounts(kNegative), "counts are negative or exceed 5 elements");
  expect(withCounts(kThree), "3 counts for 2 members");
  expect([](CollectiveCall &call, CommGroup &) { call.counts = kShortCounts; },
         "counts are for all_gather and reduce_scatter only");
  expect([](CollectiveCall &call, CommGroup &) { call.dtype = DType::F16; }, "f16 cannot be reduced");
  expect([](CollectiveCall &call, CommGroup &) { call.dtype = DType::None; }, "no element type");
  expect([](CollectiveCall &call, CommGroup &) { call.reduce = pb::REDUCE_NONE; }, "no reduction given");
  expect([](CollectiveCall &call, CommGroup &) { call.kind = pb::COLLECTIVE_NONE; }, "unknown collective kind");
  expect([](CollectiveCall &call, CommGroup &) { call.root = 2; }, "root 2 is not a member");
  expect([](CollectiveCall &call, CommGroup &) { call.in = nullptr; }, "a buffer is null");
  expect([](CollectiveCall &, CommGroup &group) { group.index = 1; }, "rank 0 is not member 1");
  expect([](CollectiveCall &, CommGroup &group) { group.ranks = {0, 7}; }, "rank 7 is outside the world of 2");
  expect([](CollectiveCall &, CommGroup &group) { group.ranks = {0, 1, 1}; }, "rank 1 is a member twice");
  return failures;
}

std::string sendOutsideWorld(Communicator &communicator) {
  char data[4] = {};
  P2pCall call{true, 5, data, 4, ""};
  return outcome(communicator, {}, {&call, 1}, farDeadline());
}

} // namespace

void addFailureCases(std::vector<ConformanceCase> &cases) {
  auto add = [&](const std::string &name, uint32_t worldSize, const RankBody &body,
                 const std::vector<Expectation> &expectations) {
    cases.push_back(
        {name, [=](const World &world) { return unmet(world.run(worldSize, body), expectations); }});
  };
  add("a send without a receive", 2, lonelySend,
      {{0, {"7: send of 10 bytes to rank 1 as message 1, from boundary: the deadline passed without rank 1"}}});
  add("a receive without a send", 2, lonelyReceive,
      {{1, {"7: receive of 10 bytes from rank 0 as message 1: the deadline passed without rank 0"}}});
  add("absent members, and the epoch ends", 4, absentMembers,
      {{kAny, {"7: all_reduce(sum) of 4 f32 as call 1, from test, of group \"tp of stage 1\": the deadline passed "
               "without ranks 1, 3"}},
       {0, {"| then 7: aborted by rank "}},
       {2, {"| then 7: aborted by rank "}}});
  add("a deadline in the past", 2, pastDeadline, {{0, {"the deadline passed without rank 1"}}});
  cases.push_back({"members disagree", mismatchFailures});
  const std::vector<std::string> both = {"rank 0 calls all_reduce(sum) of 4 f32 as call 2",
                                         "rank 1 calls all_reduce(sum) of 3 f32 as call 2"};
  add("members disagree on the second call", 2, orderMismatch, {{0, both}, {1, both}});
  const std::vector<std::string> sides = {"message 1 from rank 0 to rank 1 does not match: rank 0 sends 40 bytes "
                                          "(forward), rank 1 receives 44 bytes (backward)"};
  add("message sizes disagree", 2, p2pMismatch, {{0, sides}, {1, sides}});
  add("abort", 2, aborted, {{1, {"7: aborted by rank 0: loss is not a number"}}});
  cases.push_back({"malformed calls", malformedFailures});
  add("a send outside the world", 1, sendOutsideWorld, {{0, {"1: send to rank 5: the world has 1 ranks"}}});
}

} // namespace plait
