#include "cost_model/simulate/Pipeline.h"
#include "test/cost_model/RandomSolutions.h"
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <set>

using namespace plait;

namespace {

using Executor = std::pair<Id, Id>; // replica, stage

std::map<Executor, std::vector<PipeItem>> allItems(const Solution &solution) {
  Pipeline pipeline(solution);
  std::map<Executor, std::vector<PipeItem>> result;
  for (Id r = 0; r < solution.replicas.size(); ++r)
    for (Id s = 0; s < solution.replicas[r].stages.size(); ++s)
      result[{r, s}] = pipeline.items(r, s);
  return result;
}

/// Executes all executors with unbuffered, in-order, blocking batches. True if everybody reaches the end; runs are
/// appended to `trace` in the order they were done, each with its executor.
bool execute(const std::map<Executor, std::vector<PipeItem>> &items, std::vector<std::pair<Executor, PipeRun>> &trace) {
  using Posted = std::pair<Executor, size_t>; // executor, index of the message in its current batch
  std::map<Executor, size_t> position, open; // open: messages of the current batch that are not complete
  std::map<std::pair<Executor, Executor>, std::deque<Posted>> sends, receives; // by (from, to)
  bool progress = true;
  while (progress) {
    progress = false;
    for (const auto &[self, list] : items) {
      size_t &at = position[self];
      if (at == list.size() || open[self])
        continue;
      const PipeItem &item = list[at];
      progress = true;
      if (item.kind == PipeItem::Run) {
        trace.push_back({self, item.run});
        ++at;
        continue;
      }
      open[self] = item.messages.size();
      for (size_t i = 0; i < item.messages.size(); ++i) {
        Executor peer{item.messages[i].peerReplica, item.messages[i].peerStage};
        if (item.messages[i].send)
          sends[{self, peer}].push_back({self, i});
        else
          receives[{peer, self}].push_back({self, i});
      }
    }
    for (auto &[pair, queue] : sends) {
      auto &other = receives[pair];
      while (!queue.empty() && !other.empty()) {
        auto [from, i] = queue.front();
        auto [to, j] = other.front();
        const PipeMessage &send = items.at(from)[position[from]].messages[i];
        const PipeMessage &receive = items.at(to)[position[to]].messages[j];
        if (std::tie(send.replica, send.microbatch, send.gradient) !=
            std::tie(receive.replica, receive.microbatch, receive.gradient))
          return false; // matched by order, but another tensor
        queue.pop_front();
        other.pop_front();
        for (const Executor &end : {from, to})
          if (--open[end] == 0)
            ++position[end];
        progress = true;
      }
    }
  }
  for (const auto &[self, list] : items)
    if (position[self] != list.size())
      return false;
  return true;
}

/// The phases as letters, with micro-batches: "F0 F1 B0 F2 ...".
std::string orderOf(const Solution &solution, Id stage) {
  std::string text;
  for (const PipeItem &item : pipelineItems(solution, 0, stage))
    if (item.kind == PipeItem::Run) {
      const char *letter = item.run.phase == Phase::Forward ? "F" : item.run.phase == Phase::BackwardWeight ? "W" : "B";
      text += text.empty() ? "" : " ";
      text += letter;
      text += std::to_string(item.run.microbatch);
    }
  return text;
}

Solution uniform(uint32_t stages, uint32_t microbatches, bool split = false) {
  Solution solution;
  solution.replicas.resize(1);
  solution.replicas[0].microbatches = microbatches;
  solution.replicas[0].stages.resize(stages);
  for (uint32_t s = 0; s < stages; ++s) {
    Stage &stage = solution.replicas[0].stages[s];
    stage.devices.first = s;
    stage.firstUse = s;
    stage.endUse = s + 1;
    stage.splitWeightGrad = split;
  }
  return solution;
}

} // namespace

TEST_CASE("1F1B order is the canonical one") {
  Solution solution = uniform(3, 4);
  CHECK(orderOf(solution, 0) == "F0 F1 F2 B0 F3 B1 B2 B3");
  CHECK(orderOf(solution, 1) == "F0 F1 B0 F2 B1 F3 B2 B3");
  CHECK(orderOf(solution, 2) == "F0 B0 F1 B1 F2 B2 F3 B3");
  CHECK(orderOf(uniform(4, 2), 0) == "F0 F1 B0 B1");
  solution.schedule = "gpipe";
  for (Id s = 0; s < 3; ++s)
    CHECK(orderOf(solution, s) == "F0 F1 F2 F3 B0 B1 B2 B3");
}

TEST_CASE("the weight gradient follows the next forward, else its input gradient") {
  Solution solution = uniform(2, 3, true);
  CHECK(orderOf(solution, 0) == "F0 F1 B0 F2 W0 B1 W1 B2 W2");
  CHECK(orderOf(solution, 1) == "F0 B0 F1 W0 B1 F2 W1 B2 W2");
  CHECK(framesNeeded(solution, 0, 0) == 3);
  CHECK(framesNeeded(solution, 0, 1) == 2);
}

TEST_CASE("one transfer between two runs holds the send of the first and the receive of the second") {
  Solution solution = uniform(3, 2);
  std::vector<PipeItem> items = pipelineItems(solution, 0, 1); // F0 F1 B0 B1
  REQUIRE(items.size() == 9);
  for (size_t i = 0; i < items.size(); ++i)
    CHECK(items[i].kind == (i % 2 ? PipeItem::Run : PipeItem::Transfer));
  CHECK(items[0].messages == std::vector<PipeMessage>{{false, false, 0, 0, 0, 0}});
  CHECK(items[2].messages == std::vector<PipeMessage>{{true, false, 0, 0, 0, 2}, {false, false, 0, 1, 0, 0}});
  CHECK(items[4].messages == std::vector<PipeMessage>{{true, false, 0, 1, 0, 2}, {false, true, 0, 0, 0, 2}});
  CHECK(items[8].messages == std::vector<PipeMessage>{{true, true, 0, 1, 0, 0}});
}

TEST_CASE("frames of a uniform pipeline are the schedule's window") {
  for (uint32_t stages = 1; stages <= 6; ++stages)
    for (uint32_t count = 1; count <= 9; ++count)
      for (Id s = 0; s < stages; ++s) {
        Solution solution = uniform(stages, count);
        CHECK(framesNeeded(solution, 0, s) == std::min(count, stages - s));
        solution.schedule = "gpipe";
        CHECK(framesNeeded(solution, 0, s) == count);
      }
}

TEST_CASE("random pipelines with overrides end, run everything once and stay in their window") {
  std::mt19937 rng(7);
  for (int trial = 0; trial < 3000; ++trial) {
    Solution solution = test::randomSolution(rng);
    INFO("trial " << trial);
    auto items = allItems(solution);
    std::vector<std::pair<Executor, PipeRun>> trace;
    REQUIRE(execute(items, trace));
    std::map<std::tuple<Id, Id, Id>, std::vector<Phase>> phases; // (replica, micro-batch, stage) -> in order of execution
    std::map<std::pair<Executor, uint32_t>, std::pair<Id, Id>> frames;
    Pipeline pipeline(solution);
    for (const auto &[executor, run] : trace) {
      Id stage = executor.second;
      REQUIRE(pipeline.executor(run.replica, stage, run.microbatch) == executor.first);
      auto &done = phases[{run.replica, run.microbatch, stage}];
      bool split = solution.replicas[executor.first].stages[stage].splitWeightGrad;
      auto &frame = frames[{executor, run.frame}];
      if (run.phase == Phase::Forward) {
        REQUIRE(frame == std::pair<Id, Id>{}); // nobody holds it (holders are stored plus one)
        frame = {run.replica + 1, run.microbatch + 1};
      }
      REQUIRE(frame == std::pair<Id, Id>{run.replica + 1, run.microbatch + 1});
      if (run.phase == (split ? Phase::BackwardWeight : Phase::Backward))
        frame = {};
      done.push_back(run.phase);
    }
    size_t expected = 0;
    for (const Replica &replica : solution.replicas)
      expected += replica.microbatches * replica.stages.size();
    REQUIRE(phases.size() == expected);
    for (const auto &[where, done] : phases) {
      Id executor = pipeline.executor(std::get<0>(where), std::get<2>(where), std::get<1>(where));
      bool split = solution.replicas[executor].stages[std::get<2>(where)].splitWeightGrad;
      std::vector<Phase> plain{Phase::Forward, Phase::Backward};
      std::vector<Phase> parts{Phase::Forward, Phase::BackwardInput, Phase::BackwardWeight};
      REQUIRE(done == (split ? parts : plain));
    }
    if (solution.schedule == "1f1b")
      for (const auto &[executor, list] : items) {
        const Replica &replica = solution.replicas[executor.first];
        uint32_t window = uint32_t(replica.stages.size()) - executor.second;
        REQUIRE(framesNeeded(list) <= window + replica.stages[executor.second].splitWeightGrad);
      }
  }
}
