// Random sequences of batches whose results every backend must compute with the bits of the reference.
#include "runtime/conformance/Conformance.h"
#include "runtime/conformance/Elements.h"
#include <algorithm>
#include <cstring>
#include <deque>
#include <random>

namespace plait {
namespace {

constexpr uint32_t kPrograms = 200, kBatches = 6, kWorld = 4;
constexpr DType kTypes[] = {DType::F32, DType::BF16, DType::F64, DType::I32};

/// All ranks draw the same program; each takes its part. Random values are floats whose sums depend on the order.
class RandomProgram {
public:
  RandomProgram(Communicator &communicator, uint32_t seed) : communicator(communicator), random(seed) {}

  /// The results of this rank, hashed; or the error.
  std::string run() {
    for (uint32_t batch = 0; batch < kBatches; ++batch) {
      collectives.clear();
      p2ps.clear();
      groups.clear();
      memory.clear();
      counts.clear();
      groups.reserve(8);
      drawCollectives();
      if (draw(2))
        drawMessages();
      Status status = communicator.run(collectives, p2ps, farDeadline());
      if (!status)
        return "error: " + status.error().message;
      for (const Result &result : results)
        digest(result);
      results.clear();
    }
    return std::to_string(hash) + " " + std::to_string(communicator.bytesSent());
  }

private:
  struct Result {
    const char *data;
    uint64_t bytes;
  };

  uint32_t draw(uint32_t below) { return static_cast<uint32_t>(random() % below); }

  char *allocate(uint64_t bytes) {
    memory.emplace_back(bytes / 8 + 1);
    return reinterpret_cast<char *>(memory.back().data());
  }

  void digest(const Result &result) {
    for (uint64_t at = 0; at < result.bytes; ++at)
      hash = (hash ^ static_cast<unsigned char>(result.data[at])) * 1099511628211ull;
  }

  /// Values of a rank: the generator is the rank's own, so that the common one stays in step.
  char *values(uint64_t elements, DType dtype, uint32_t salt) {
    std::mt19937 own(salt * 131 + communicator.rank());
    char *data = allocate(elements * static_cast<uint64_t>(bytesOf(dtype)));
    for (uint64_t e = 0; e < elements; ++e) {
      float value = (static_cast<float>(own() % 20001) - 10000.f) * (own() % 2 ? 0.37f : 1e-3f);
      if (dtype == DType::F32)
        std::memcpy(data + e * 4, &value, 4);
      else if (dtype == DType::BF16)
        std::memcpy(data + e * 2, reinterpret_cast<char *>(&value) + 2, 2);
      else
        setElement(data, e, dtype, static_cast<int64_t>(value * 1000.f));
    }
    return data;
  }

  /// One or two partitions of the world into groups, one call for each group.
  void drawCollectives() {
    uint32_t partitions = draw(3);
    for (uint32_t partition = 0; partition < partitions; ++partition) {
      std::vector<uint32_t> order = {0, 1, 2, 3};
      for (uint32_t i = kWorld - 1; i > 0; --i)
        std::swap(order[i], order[draw(i + 1)]);
      for (uint32_t begin = 0; begin < kWorld;) {
        uint32_t size = 1 + draw(kWorld - begin);
        drawCall({order.begin() + begin, order.begin() + begin + size});
        begin += size;
      }
    }
  }

  /// The id is a function of the ordered list, so that equal groups are one group through all programs.
  void drawCall(const std::vector<uint32_t> &ranks) {
    uint32_t id = 1, kind = 1 + draw(4), salt = draw(1000000), members = static_cast<uint32_t>(ranks.size());
    for (uint32_t rank : ranks)
      id = id * 5 + rank + 1;
    DType dtype = kTypes[draw(4)];
    bool uneven = draw(2), inPlace = draw(2);
    uint64_t elements = draw(4) ? draw(300) : draw(4000);
    pb::ReduceKind reduce = draw(2) ? pb::REDUCE_SUM : pb::REDUCE_MAX;
    uint32_t root = draw(members);
    bool parts = kind == pb::COLLECTIVE_ALL_GATHER || kind == pb::COLLECTIVE_REDUCE_SCATTER;
    std::vector<int64_t> drawn;
    if (parts && uneven) {
      elements = 0;
      for (uint32_t i = 0; i < members; ++i)
        elements += static_cast<uint64_t>(drawn.emplace_back(draw(3) ? draw(500) : 0));
    } else if (parts) {
      elements = elements / members * members;
    }
    auto me = std::find(ranks.begin(), ranks.end(), communicator.rank());
    if (me == ranks.end())
      return;
    groups.push_back(groupOf(id, "random", ranks, communicator.rank()));
    counts.push_back(std::move(drawn));
    CollectiveCall call;
    call.kind = static_cast<pb::CollectiveKind>(kind);
    call.group = &groups.back();
    call.elements = elements;
    call.dtype = dtype;
    call.reduce = reduce;
    call.root = root;
    call.counts = counts.back();
    call.in = values(elements, dtype, salt);
    call.out = inPlace && !parts ? const_cast<void *>(call.in)
                                 : allocate(elements * static_cast<uint64_t>(bytesOf(dtype)));
    uint64_t own = call.counts.empty() ? elements / members : static_cast<uint64_t>(call.counts[groups.back().index]);
    collectives.push_back(call);
    results.push_back({static_cast<char *>(call.out), (kind == pb::COLLECTIVE_REDUCE_SCATTER ? own : elements) *
                                                          static_cast<uint64_t>(bytesOf(dtype))});
  }

  /// Random messages between random ranks, several of a pair among them.
  void drawMessages() {
    uint32_t messages = 1 + draw(6);
    for (uint32_t i = 0; i < messages; ++i) {
      uint32_t from = draw(kWorld), to = draw(kWorld), salt = draw(1000000);
      uint64_t bytes = 4 * uint64_t{draw(3) ? draw(100) : draw(4000)};
      if (from == communicator.rank())
        p2ps.push_back({true, to, values(bytes / 4, DType::F32, salt), bytes, "random"});
      if (to != communicator.rank())
        continue;
      char *data = allocate(bytes);
      p2ps.push_back({false, from, data, bytes, "random"});
      results.push_back({data, bytes});
    }
  }

  Communicator &communicator;
  std::mt19937 random;
  uint64_t hash = 14695981039346656037ull;
  std::vector<CommGroup> groups; ///< reserved: calls point into it
  std::vector<std::vector<double>> memory;
  std::deque<std::vector<int64_t>> counts;
  std::vector<CollectiveCall> collectives;
  std::vector<P2pCall> p2ps;
  std::vector<Result> results;
};

std::string allPrograms(Communicator &communicator) {
  std::string text;
  for (uint32_t seed = 1; seed <= kPrograms; ++seed)
    text += std::to_string(seed) + ": " + RandomProgram(communicator, seed).run() + "\n";
  return text;
}

std::vector<std::string> differences(const World &world) {
  // The world first: it may fork, and the reference starts threads.
  std::vector<std::string> got = world.run(kWorld, allPrograms), failures;
  std::vector<std::string> expected = referenceThreads().run(kWorld, allPrograms);
  for (uint32_t rank = 0; rank < kWorld; ++rank) {
    if (size_t error = expected[rank].find("error: "); error != std::string::npos)
      failures.push_back("the reference: " + expected[rank].substr(error));
    if (expected[rank] != got[rank]) {
      auto [at, other] = std::mismatch(expected[rank].begin(), expected[rank].end(), got[rank].begin(),
                                       got[rank].end());
      auto line = std::count(expected[rank].begin(), at, '\n');
      failures.push_back("rank " + std::to_string(rank) + " differs from the reference in program " +
                         std::to_string(line + 1) + ": " + std::string(other, got[rank].end()).substr(0, 200));
    }
  }
  return failures;
}

} // namespace

void addRandomPrograms(std::vector<ConformanceCase> &cases) {
  cases.push_back({"200 random programs equal the reference", differences});
}

} // namespace plait
