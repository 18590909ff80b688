#include "runtime/conformance/Conformance.h"
#include "runtime/conformance/Elements.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace plait {
namespace {

constexpr DType kTypes[] = {DType::F32, DType::BF16, DType::F64, DType::I32};
/// What lies around a result and must survive the call.
constexpr int64_t kGuard = 99;

/// Where the buffers of a call are. Members differ in Mixed: even ones use the arena.
enum class Place { Private, Arena, Mixed };

struct Shape {
  pb::CollectiveKind kind;
  pb::ReduceKind reduce;
  DType dtype;
  uint64_t elements;
  std::vector<int64_t> counts;
  uint32_t root;
  bool inPlace;
  uint32_t salt;
};

uint64_t partBegin(const Shape &shape, size_t members, size_t member) {
  if (shape.counts.empty())
    return shape.elements / members * member;
  uint64_t begin = 0;
  for (size_t i = 0; i < member; ++i)
    begin += static_cast<uint64_t>(shape.counts[i]);
  return begin;
}

/// What the whole vector must be at `element`, from the members' sample values.
double expectedAt(const Shape &shape, size_t members, uint64_t element) {
  if (shape.kind == pb::COLLECTIVE_BROADCAST)
    return static_cast<double>(sampleValue(shape.root, element, shape.salt));
  if (shape.kind == pb::COLLECTIVE_ALL_GATHER) {
    uint32_t owner = 0;
    while (partBegin(shape, members, owner + 1) <= element)
      ++owner;
    return static_cast<double>(sampleValue(owner, element, shape.salt));
  }
  int64_t sum = 0, max = -100;
  for (uint32_t member = 0; member < members; ++member) {
    int64_t value = sampleValue(member, element, shape.salt);
    sum += value;
    max = std::max(max, value);
  }
  return static_cast<double>(shape.reduce == pb::REDUCE_MAX ? max : sum);
}

std::string titleOf(const Shape &shape, const CommGroup &group) {
  return pb::CollectiveKind_Name(shape.kind) + " " + pb::ReduceKind_Name(shape.reduce) + " " +
         std::string(nameOf(shape.dtype)) + " x " + std::to_string(shape.elements) + " in " + group.name +
         (shape.inPlace ? " in place" : "") + (shape.counts.empty() ? "" : " uneven");
}

/// Buffers of one call: `in` and `out` with one guard element on each side of `out`.
struct Prepared {
  CollectiveCall call;
  char *out;
  uint64_t outElements, outFirst;
};

Prepared prepare(const Shape &shape, const CommGroup &group, char *inMemory, char *outMemory) {
  uint64_t size = static_cast<uint64_t>(bytesOf(shape.dtype));
  size_t members = group.ranks.size();
  uint64_t begin = partBegin(shape, members, group.index), end = partBegin(shape, members, group.index + 1);
  bool partIn = shape.kind == pb::COLLECTIVE_ALL_GATHER, partOut = shape.kind == pb::COLLECTIVE_REDUCE_SCATTER;
  uint64_t inFirst = partIn ? begin : 0, inElements = partIn ? end - begin : shape.elements;
  Prepared ready{{}, outMemory + 8, partOut ? end - begin : shape.elements, partOut ? begin : 0};
  char *in = inMemory;
  if (shape.inPlace)
    // The larger of both sides holds the smaller at this member's part.
    in = partIn ? ready.out + begin * size : partOut ? inMemory : ready.out;
  if (shape.inPlace && partOut)
    ready.out = in + begin * size;
  else
    for (uint64_t e = 0; e < ready.outElements; ++e)
      setElement(ready.out, e, shape.dtype, kGuard);
  for (uint64_t e = 0; e < inElements; ++e)
    setElement(in, e, shape.dtype, sampleValue(group.index, inFirst + e, shape.salt));
  ready.call.kind = shape.kind;
  ready.call.group = &group;
  ready.call.in = in;
  ready.call.out = ready.out;
  ready.call.elements = shape.elements;
  ready.call.dtype = shape.dtype;
  ready.call.reduce = shape.reduce;
  ready.call.counts = shape.counts;
  ready.call.root = shape.root;
  ready.call.origin = "conformance";
  return ready;
}

void verify(const Shape &shape, const CommGroup &group, const Prepared &ready, std::string &complaints) {
  for (uint64_t e = 0; e < ready.outElements; ++e) {
    double got = getElement(ready.out, e, shape.dtype);
    double expected = expectedAt(shape, group.ranks.size(), ready.outFirst + e);
    if (got != expected) {
      complaints += titleOf(shape, group) + ": element " + std::to_string(e) + " is " + std::to_string(got) +
                    ", expected " + std::to_string(expected) + "\n";
      return;
    }
  }
}

/// Runs one call; false after an error, which ends the epoch.
bool runShape(Communicator &communicator, const Shape &shape, const CommGroup &group, char *in, char *out,
              std::string &complaints) {
  std::memset(out, 0x5a, 8);
  Prepared ready = prepare(shape, group, in, out);
  uint64_t endOfOut = 8 + ready.outElements * static_cast<uint64_t>(bytesOf(shape.dtype));
  bool guarded = ready.out == out + 8;
  if (guarded)
    std::memset(out + endOfOut, 0x5a, 8);
  Status status = communicator.run({&ready.call, 1}, {}, farDeadline());
  if (!status) {
    complaints += titleOf(shape, group) + ": " + status.error().message + "\n";
    return false;
  }
  verify(shape, group, ready, complaints);
  for (int i = 0; guarded && i < 8; ++i)
    if (out[i] != 0x5a || out[endOfOut + i] != 0x5a) {
      complaints += titleOf(shape, group) + ": wrote outside its result\n";
      break;
    }
  return true;
}

/// Every kind, type and reduction, for one size; in place where that is allowed.
std::vector<Shape> shapesOf(uint64_t perMember, uint64_t members, bool uneven) {
  std::vector<Shape> shapes;
  std::vector<int64_t> counts;
  uint64_t elements = perMember * members;
  if (uneven) {
    elements = 0;
    for (uint64_t member = 0; member < members; ++member)
      counts.push_back(static_cast<int64_t>(member == 1 ? 0 : perMember + member * 3));
    for (int64_t count : counts)
      elements += static_cast<uint64_t>(count);
  }
  uint32_t salt = 0;
  for (DType dtype : kTypes)
    for (bool inPlace : {false, true}) {
      auto add = [&](pb::CollectiveKind kind, pb::ReduceKind reduce, uint64_t size, bool parts) {
        shapes.push_back({kind, reduce, dtype, size, parts ? counts : std::vector<int64_t>{},
                          static_cast<uint32_t>(members - 1), inPlace, salt++});
      };
      add(pb::COLLECTIVE_ALL_GATHER, pb::REDUCE_NONE, elements, true);
      add(pb::COLLECTIVE_REDUCE_SCATTER, pb::REDUCE_SUM, elements, true);
      add(pb::COLLECTIVE_REDUCE_SCATTER, pb::REDUCE_MAX, elements, true);
      if (uneven)
        continue;
      add(pb::COLLECTIVE_ALL_REDUCE, pb::REDUCE_SUM, perMember, false);
      add(pb::COLLECTIVE_ALL_REDUCE, pb::REDUCE_MAX, perMember, false);
      add(pb::COLLECTIVE_BROADCAST, pb::REDUCE_NONE, perMember, false);
    }
  return shapes;
}

/// Partitions of a world of 5 that run at once.
const std::vector<std::vector<std::vector<uint32_t>>> kPartitions = {
    {{0, 1, 2, 3, 4}}, {{4, 2, 0, 1, 3}}, {{0, 2}, {1, 3, 4}}, {{3}, {4, 0}, {2, 1}}};
constexpr uint32_t kWorld = 5;
constexpr uint64_t kLargest = 1500; ///< elements per member; five parts exceed the windows that tests use

std::string allShapes(Communicator &communicator, Place place, bool uneven, std::vector<uint64_t> sizes) {
  bool fromArena = place == Place::Arena || (place == Place::Mixed && communicator.rank() % 2 == 0);
  uint64_t bytes = (kLargest + 64) * kWorld * 8 + 64;
  Buffer in(communicator, bytes, fromArena), out(communicator, bytes, fromArena);
  std::string complaints;
  uint32_t id = 1;
  for (const auto &partition : kPartitions)
    for (const std::vector<uint32_t> &ranks : partition) {
      uint32_t groupId = id++;
      if (std::find(ranks.begin(), ranks.end(), communicator.rank()) == ranks.end())
        continue;
      CommGroup group = groupOf(groupId, "group " + std::to_string(groupId), ranks, communicator.rank());
      for (uint64_t size : sizes)
        for (const Shape &shape : shapesOf(size, ranks.size(), uneven))
          if (!runShape(communicator, shape, group, in.data(), out.data(), complaints))
            return complaints;
    }
  return complaints;
}

/// Sums of values whose result depends on the order, against a loop in member order.
std::string orderedSums(Communicator &communicator) {
  constexpr uint64_t kElements = 3001;
  std::vector<uint32_t> ranks = {3, 1, 0, 2};
  CommGroup group = groupOf(7, "ordered", ranks, communicator.rank());
  std::vector<std::vector<float>> inputs;
  for (uint32_t member = 0; member < 4; ++member) {
    std::mt19937 random(member + 1);
    std::vector<float> values(kElements);
    for (float &value : values)
      value = std::ldexp(static_cast<float>(random() % 10000) - 5000.f, static_cast<int>(random() % 20) - 10);
    inputs.push_back(std::move(values));
  }
  std::string complaints;
  for (bool fromArena : {false, true}) {
    Buffer data(communicator, kElements * 4, fromArena);
    std::memcpy(data.data(), inputs[group.index].data(), kElements * 4);
    CollectiveCall call;
    call.kind = pb::COLLECTIVE_ALL_REDUCE;
    call.group = &group;
    call.in = call.out = data.data();
    call.elements = kElements;
    call.reduce = pb::REDUCE_SUM;
    Status status = communicator.run({&call, 1}, {}, farDeadline());
    if (!status)
      return status.error().message;
    for (uint64_t e = 0; e < kElements; ++e) {
      float sum = ((inputs[0][e] + inputs[1][e]) + inputs[2][e]) + inputs[3][e], got;
      std::memcpy(&got, data.data() + e * 4, 4);
      if (std::bit_cast<uint32_t>(sum) != std::bit_cast<uint32_t>(got))
        return complaints + "element " + std::to_string(e) + " is not the sum in member order\n";
    }
  }
  return complaints;
}

/// bf16 sums are rounded once, to nearest even: 256 + 1 + 1 is 258, which rounding after each step would miss.
std::string bf16RoundsOnce(Communicator &communicator) {
  CommGroup group = groupOf(8, "bf16", {0, 1, 2, 3}, communicator.rank());
  constexpr int64_t kIn[4][3] = {{256, 256, 256}, {1, 1, 2}, {1, 0, 1}, {0, 0, 0}};
  constexpr double kOut[3] = {258, 256, 260}; // 257 and 259 are ties
  uint16_t data[3];
  for (uint64_t e = 0; e < 3; ++e)
    setElement(data, e, DType::BF16, kIn[group.index][e]);
  CollectiveCall call;
  call.kind = pb::COLLECTIVE_ALL_REDUCE;
  call.group = &group;
  call.in = call.out = data;
  call.elements = 3;
  call.dtype = DType::BF16;
  call.reduce = pb::REDUCE_SUM;
  Status status = communicator.run({&call, 1}, {}, farDeadline());
  if (!status)
    return status.error().message;
  for (uint64_t e = 0; e < 3; ++e)
    if (getElement(data, e, DType::BF16) != kOut[e])
      return "element " + std::to_string(e) + " is " + std::to_string(getElement(data, e, DType::BF16));
  return "";
}

/// A NaN of any member reaches the maximum, and i32 sums wrap.
std::string specialValues(Communicator &communicator) {
  CommGroup group = groupOf(9, "special", {0, 1, 2}, communicator.rank());
  float values[2] = {static_cast<float>(group.index), group.index == 1 ? NAN : 1.f};
  int32_t wrap = group.index == 0 ? INT32_MAX : 1;
  CollectiveCall calls[2];
  for (CollectiveCall &call : calls) {
    call.kind = pb::COLLECTIVE_ALL_REDUCE;
    call.group = &group;
  }
  calls[0].in = calls[0].out = values;
  calls[0].elements = 2;
  calls[0].reduce = pb::REDUCE_MAX;
  calls[1].in = calls[1].out = &wrap;
  calls[1].elements = 1;
  calls[1].dtype = DType::I32;
  calls[1].reduce = pb::REDUCE_SUM;
  Status status = communicator.run(calls, {}, farDeadline());
  if (!status)
    return status.error().message;
  std::string complaints;
  if (values[0] != 2.f || values[1] == values[1])
    complaints += "the maximum is wrong or lost a NaN\n";
  if (wrap != INT32_MIN + 1)
    complaints += "an i32 sum does not wrap\n";
  return complaints;
}

/// As a ring sends; closed forms for 4 members and 10 elements cut 3, 3, 2, 2 or as counts say.
std::string countsBytes(Communicator &communicator) {
  CommGroup group = groupOf(10, "bytes", {0, 1, 2, 3}, communicator.rank());
  float in[10] = {}, out[10] = {};
  std::vector<int64_t> counts = {1, 2, 3, 4};
  auto bytesOfCall = [&](pb::CollectiveKind kind, bool hasCounts) {
    CollectiveCall call;
    call.kind = kind;
    call.group = &group;
    call.in = in;
    call.out = out;
    call.elements = 10;
    call.reduce = pb::REDUCE_SUM;
    call.root = 1;
    if (hasCounts)
      call.counts = counts;
    uint64_t before = communicator.bytesSent();
    Status status = communicator.run({&call, 1}, {}, farDeadline());
    return status ? communicator.bytesSent() - before : uint64_t{999};
  };
  constexpr uint64_t kGather[4] = {32, 28, 24, 36}, kScatter[4] = {36, 32, 28, 24}, kReduce[4] = {56, 60, 64, 60};
  std::string complaints;
  uint32_t me = group.index;
  if (bytesOfCall(pb::COLLECTIVE_ALL_GATHER, true) != kGather[me])
    complaints += "all_gather bytes\n";
  if (bytesOfCall(pb::COLLECTIVE_REDUCE_SCATTER, true) != kScatter[me])
    complaints += "reduce_scatter bytes\n";
  if (bytesOfCall(pb::COLLECTIVE_ALL_REDUCE, false) != kReduce[me])
    complaints += "all_reduce bytes\n";
  if (bytesOfCall(pb::COLLECTIVE_BROADCAST, false) != (me == 0 ? 0 : 40))
    complaints += "broadcast bytes\n";
  return complaints;
}

} // namespace

void addCollectiveCases(std::vector<ConformanceCase> &cases) {
  const std::vector<uint64_t> small = {0, 1, 7}, large = {kLargest};
  auto add = [&](const std::string &name, Place place, bool uneven, const std::vector<uint64_t> &sizes) {
    cases.push_back({name, [=](const World &world) {
                       return complaintsOf(world, kWorld, [=](Communicator &communicator) {
                         return allShapes(communicator, place, uneven, sizes);
                       });
                     }});
  };
  add("collectives, small, private memory", Place::Private, false, small);
  add("collectives, small, arena", Place::Arena, false, small);
  add("collectives, small, mixed memory", Place::Mixed, false, small);
  add("collectives, large, private memory", Place::Private, false, large);
  add("collectives, large, arena", Place::Arena, false, large);
  add("collectives, large, mixed memory", Place::Mixed, false, large);
  add("uneven collectives, private memory", Place::Private, true, {5, kLargest});
  add("uneven collectives, arena", Place::Arena, true, {5, kLargest});
  auto addBody = [&](const std::string &name, uint32_t worldSize, std::string (*body)(Communicator &)) {
    cases.push_back({name, [=](const World &world) { return complaintsOf(world, worldSize, body); }});
  };
  addBody("sums run in member order, equal bits on all members", 4, orderedSums);
  addBody("bf16 sums are rounded once", 4, bf16RoundsOnce);
  addBody("NaN maximum, wrapping i32 sum, two calls of one group in a batch", 3, specialValues);
  addBody("bytes sent", 4, countsBytes);
}

} // namespace plait
