// Checkpoints and dumps: what one layout writes any other reads, and a resumed run continues as if never stopped.
#include "ThreadCluster.h"
#include "runtime/checkpoint/TensorSet.h"
#include "runtime/executor/StateFiles.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <unistd.h>

using namespace plait;
using namespace plait::test;

namespace {

constexpr TinyShape kShape;

RunOptions runOptions() {
  RunOptions options;
  options.seed = 11;
  options.learningRate.peak = 0.02;
  options.optimizer.weightDecay = 0.1;
  options.deadlineSeconds = 20;
  return options;
}

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("plait-state-" + std::to_string(::getpid()));
  Folder() { std::filesystem::remove_all(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string &name) const { return (path / name).string(); }
};

void onAll(ThreadCluster &cluster, const pb::Plan &plan, const std::function<Status(const StateFiles &)> &work) {
  for (const Status &status : cluster.onEveryRank([&](uint32_t rank) {
         return work(StateFiles{plan, cluster.executor(rank), cluster.communicator(rank), 20});
       }))
    if (!status)
      throw std::runtime_error(status.error().message);
}

} // namespace

TEST_CASE("a checkpoint of one layout continues on another") {
  Folder folder;
  const TinyLayout layouts[] = {{"one rank", 1, 1, {4}},
                                {"tp2 pp2 dp2, sharded", 2, 2, {3, 1}, true, true},
                                {"dp3, sharded", 1, 1, {2, 1, 1}, true}};
  for (const TinyLayout &writer : layouts)
    for (const TinyLayout &reader : layouts) {
      INFO(writer.name << " -> " << reader.name);
      const pb::Plan from = tinyPlan(kShape, writer), to = tinyPlan(kShape, reader);
      ThreadCluster first(kShape, from, runOptions()), second(kShape, to, runOptions());
      first.start();
      first.step(1);
      first.step(2);
      onAll(first, from, [&](const StateFiles &files) { return files.saveCheckpoint(folder / "checkpoints"); });
      second.start();
      onAll(second, to, [&](const StateFiles &files) { return files.restoreCheckpoint(folder / "checkpoints"); });
      CHECK(second.parameters() == first.parameters());
      CHECK(second.executor(0).state().committedStep == 2);
      CHECK(second.executor(0).state().updates == 2);
      // The third step needs the moments and the update count.
      first.step(3);
      second.step(3);
      const Tensors expected = first.parameters(), actual = second.parameters();
      for (int t = 0; t < TinyTensors; ++t) {
        if (writer.name == reader.name)
          CHECK(actual[t] == expected[t]);
        CHECK(relativeDifference(actual[t], expected[t]) < 2e-6);
      }
    }
}

TEST_CASE("bf16 parameters resume from their master copies") {
  Folder folder;
  const TinyLayout layout{"", 1, 1, {3, 1}, true, false, DType::BF16};
  const pb::Plan plan = tinyPlan(kShape, layout);
  ThreadCluster first(kShape, plan, runOptions()), second(kShape, plan, runOptions());
  first.start();
  first.step(1);
  onAll(first, plan, [&](const StateFiles &files) { return files.saveCheckpoint(folder / "c"); });
  second.start();
  onAll(second, plan, [&](const StateFiles &files) { return files.restoreCheckpoint(folder / "c"); });
  first.step(2);
  second.step(2);
  for (uint32_t rank = 0; rank < 2; ++rank)
    CHECK(second.memory(rank) == first.memory(rank));
}

TEST_CASE("dumps hold whole tensors under their checkpoint names") {
  Folder folder;
  const TinyLayout layout{"", 2, 2, {3, 1}, true};
  const pb::Plan plan = tinyPlan(kShape, layout);
  ThreadCluster cluster(kShape, plan, runOptions());
  cluster.start();
  const Tensors start = cluster.parameters();
  cluster.step(1);
  onAll(cluster, plan, [&](const StateFiles &files) { return files.dump(folder / "g", StateFiles::Value::Gradient); });
  onAll(cluster, plan, [&](const StateFiles &files) { return files.dump(folder / "p", StateFiles::Value::Parameter); });
  const Tensors expected[] = {differentiate(kShape, start, 1).gradients, cluster.parameters()};
  for (int kind = 0; kind < 2; ++kind) {
    Result<TensorSetReader> reader = TensorSetReader::open(folder / (kind ? "p" : "g"), plan);
    REQUIRE(reader);
    for (int t = 0; t < TinyTensors; ++t) {
      std::vector<float> values(expected[kind][t].size());
      REQUIRE(reader->read("", uint32_t(t), 0, values));
      CHECK(relativeDifference({values.begin(), values.end()}, expected[kind][t]) < (kind ? 1e-12 : 1e-5));
    }
  }
  // Weights alone start a new run from the dumped parameters.
  ThreadCluster other(kShape, tinyPlan(kShape, {"", 1, 1, {4}}), runOptions());
  other.start();
  onAll(other, plan, [&](const StateFiles &files) { return files.loadWeights(folder / "p"); });
  CHECK(other.parameters() == expected[1]);
  CHECK(other.executor(0).state().committedStep == 0);
}
