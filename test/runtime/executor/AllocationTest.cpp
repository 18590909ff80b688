// After construction the executor allocates nothing: neither time nor memory of a step may depend on an allocator.
#include "ThreadCluster.h"
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>

namespace {
std::atomic<uint64_t> allocations = 0;
}

void *operator new(size_t bytes) {
  ++allocations;
  if (void *memory = std::malloc(bytes))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

using namespace plait;
using namespace plait::test;

namespace {

/// Does nothing and allocates nothing: what is left is the executor's own work.
class NullBackend : public Backend {
  struct NullLaunch : CompiledLaunch {
    void run(void *const *) override {}
  };

public:
  std::string name() const override { return "null"; }
  Result<std::unique_ptr<CompiledLaunch>> compile(const LaunchDesc &) override {
    return Result<std::unique_ptr<CompiledLaunch>>(std::make_unique<NullLaunch>());
  }
  Result<void *> allocate(uint64_t bytes) override { return std::calloc(1, bytes); }
  void release(void *memory, uint64_t) override { std::free(memory); }
  void zero(void *, uint64_t) override {}
  void copy(const TensorDesc &, const void *, const TensorDesc &, void *) override {}
  double sumOfSquares(const float *, uint64_t) override { return 1; }
  void optimizerUpdate(const OptimizerStep &, bool, uint64_t, const float *, float *, float *, float *, void *,
                       DType) override {}
};

/// Plays all other ranks: every call succeeds at once.
class NullCommunicator : public Communicator {
public:
  uint32_t rank() const override { return 0; }
  uint32_t worldSize() const override { return 8; }
  void *arena(uint64_t) override { return nullptr; }
  Status run(std::span<const CollectiveCall>, std::span<const P2pCall>, Clock::time_point) override {
    return success();
  }
  void abort(const std::string &) override {}
  uint64_t bytesSent() const override { return 0; }
};

} // namespace

TEST_CASE("a step allocates nothing") {
  const TinyShape shape;
  const pb::Plan plan = tinyPlan(shape, {"", 2, 2, {3, 1}, true, true});
  NullBackend backend;
  NullCommunicator communicator;
  TinyData data(shape);
  Executor::Options options;
  options.data = &data;
  auto executor = Executor::create(plan, 0, backend, communicator, std::move(options));
  REQUIRE(executor);
  const uint64_t before = allocations;
  const Result<StepReport> report = (*executor)->runStep(1);
  CHECK(allocations == before);
  CHECK(bool(report));
  CHECK(before > 100); // the counter counts
}
