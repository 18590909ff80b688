// verifyComm: messages that name who waits for whom, and the folded walk against an unfolded one on shuffled schedules.
#include "GridPlan.h"
#include "runtime/plan/RankSets.h"
#include "runtime/plan/verify/Verify.h"
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <random>

using namespace plait;
using namespace plait::test;

namespace {

/// One part of an operation of one rank: where it meets (a group, or a directed pair) and with whom.
struct Part {
  std::vector<uint32_t> place, ranks;
  std::string what;
};

/// All operations of a rank, expanded, straight from the proto.
std::vector<std::vector<Part>> operationsOf(const pb::Plan &plan, uint32_t rank) {
  Result<RankPlace> at = RankPlace::find(plan, rank);
  const pb::Role &role = at->role();
  std::vector<std::vector<Part>> operations;
  auto group = [&](uint32_t family, const std::string &what) {
    std::optional<RankGroup> found = groupOf(plan, family, rank);
    if (found->ranks.size() > 1)
      operations.push_back({{{0, found->id}, found->ranks, what}});
  };
  for (const pb::Task &task : plan.schedules(role.schedule()).tasks()) {
    if (task.kind() == pb::TASK_RUN)
      group(role.axis_families(0), "sum");
    if (task.kind() == pb::TASK_GRAD_SYNC || (task.kind() == pb::TASK_PARAM_GATHER && plan.syncs(task.sync()).sharded()))
      group(plan.syncs(task.sync()).family(), std::to_string(task.kind()) + " " + std::to_string(task.sync()));
    if (task.kind() == pb::TASK_VOTE) {
      std::vector<uint32_t> all(plan.world_size());
      std::iota(all.begin(), all.end(), 0);
      operations.push_back({{{1}, all, "vote"}});
    }
    if (task.kind() == pb::TASK_TRANSFER) {
      std::vector<Part> parts;
      for (const pb::P2p &p2p : task.p2ps()) {
        uint32_t peer = *peerOf(plan.channels(p2p.channel()), rank, p2p.send());
        std::vector<uint32_t> ends = p2p.send() ? std::vector<uint32_t>{rank, peer} : std::vector<uint32_t>{peer, rank};
        parts.push_back({{2, ends[0], ends[1]}, ends, std::to_string(p2p.bytes())});
      }
      operations.push_back(parts);
    }
  }
  return operations;
}

/// True if every rank reaches its end under strict rendezvous and all that meets is equal. Plain sweeps until nothing
/// moves.
bool runsToTheEnd(const pb::Plan &plan) {
  uint32_t world = plan.world_size();
  std::vector<std::vector<std::vector<Part>>> operations;
  for (uint32_t rank = 0; rank < world; ++rank)
    operations.push_back(operationsOf(plan, rank));
  std::vector<size_t> next(world, 0);
  std::vector<std::vector<char>> met(world);
  auto start = [&](uint32_t rank) {
    if (next[rank] < operations[rank].size())
      met[rank].assign(operations[rank][next[rank]].size(), 0);
  };
  for (uint32_t rank = 0; rank < world; ++rank)
    start(rank);
  // First part of a rank's current operation at this place that has not met.
  auto waitingAt = [&](uint32_t rank, const std::vector<uint32_t> &place) {
    if (next[rank] < operations[rank].size())
      for (size_t p = 0; p < met[rank].size(); ++p)
        if (!met[rank][p] && operations[rank][next[rank]][p].place == place)
          return int(p);
    return -1;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t rank = 0; rank < world; ++rank)
      for (size_t p = 0; p < met[rank].size() && next[rank] < operations[rank].size(); ++p) {
        const Part &part = operations[rank][next[rank]][p];
        if (met[rank][p] || waitingAt(rank, part.place) != int(p))
          continue;
        std::vector<int> positions;
        for (uint32_t other : part.ranks)
          positions.push_back(waitingAt(other, part.place));
        if (std::count(positions.begin(), positions.end(), -1))
          continue;
        for (size_t i = 0; i < positions.size(); ++i)
          if (operations[part.ranks[i]][next[part.ranks[i]]][positions[i]].what != part.what)
            return false;
        for (size_t i = 0; i < positions.size(); ++i)
          met[part.ranks[i]][positions[i]] = 1;
        moved = true;
      }
    for (uint32_t rank = 0; rank < world; ++rank)
      if (next[rank] < operations[rank].size() && !std::count(met[rank].begin(), met[rank].end(), 0)) {
        ++next[rank];
        start(rank);
        moved = true;
      }
  }
  for (uint32_t rank = 0; rank < world; ++rank)
    if (next[rank] < operations[rank].size())
      return false;
  return true;
}

/// Swaps or joins tasks of the schedules, keeping what verifyPlan asks for.
void shuffle(pb::Plan &plan, std::mt19937 &random) {
  for (unsigned changes = random() % 4; changes > 0; --changes) {
    auto &tasks = *plan.mutable_schedules(random() % plan.schedules_size())->mutable_tasks();
    int i = 1 + random() % (tasks.size() - 2);
    if (random() % 3 || i + 1 >= tasks.size())
      tasks.SwapElements(i, std::min(tasks.size() - 2, int(i + 1 + random() % 3)));
    else if (tasks[i].kind() == pb::TASK_TRANSFER && tasks[i + 1].kind() == pb::TASK_TRANSFER) {
      tasks[i].MergeFrom(tasks[i + 1]);
      tasks.DeleteSubrange(i + 1, 1);
    }
  }
}

std::string joined(const std::vector<std::string> &faults) {
  std::string text;
  for (const std::string &fault : faults)
    text += fault + "\n";
  return text;
}

} // namespace

TEST_CASE("the folded walk and the unfolded walk agree") {
  std::mt19937 random(3);
  int good = 0, bad = 0;
  for (int round = 0; round < 3000; ++round) {
    Grid grid{uint32_t(1 + random() % 3), uint32_t(1 + random() % 4), uint32_t(1 + random() % 2), uint32_t(1 + random() % 3)};
    pb::Plan plan = GridPlan::make(grid);
    shuffle(plan, random);
    if (!verifyPlan(plan).empty())
      continue;
    std::vector<std::string> faults = verifyComm(plan);
    INFO(joined(faults));
    bool ends = runsToTheEnd(plan);
    REQUIRE(faults.empty() == ends);
    good += ends;
    bad += !ends;
  }
  REQUIRE(good > 300);
  REQUIRE(bad > 100);
}

TEST_CASE("two stages that send to each other first are named") {
  pb::Plan plan = GridPlan::make({1, 2, 1, 1});
  // Stage 0: ZERO, LOAD, RUN, send, receive, ...; stage 1: ZERO, receive, RUN, RUN, send, ...
  plan.mutable_schedules(1)->mutable_tasks()->SwapElements(1, 4);
  REQUIRE(verifyPlan(plan).empty());
  std::vector<std::string> faults = verifyComm(plan);
  REQUIRE(faults == std::vector<std::string>{
                        "rank 0 at task 3 (TRANSFER): send 64 bytes on channel 'activation of 1' waits for rank 1",
                        "rank 1 at task 1 (TRANSFER): send 64 bytes on channel 'gradient of 1' waits for rank 0"});
  // In one batch each, the same messages go through.
  for (int schedule : {0, 1}) {
    auto &tasks = *plan.mutable_schedules(schedule)->mutable_tasks();
    int first = schedule ? 1 : 3, second = 4;
    *tasks[first].add_p2ps() = tasks[second].p2ps(0);
    tasks.DeleteSubrange(second, 1);
  }
  REQUIRE(verify(plan));
}

TEST_CASE("a rank that ends early is named") {
  pb::Plan plan = GridPlan::make({1, 1, 2, 1});
  // The second rank of the tensor axis gets a role that skips one program.
  *plan.add_roles() = plan.roles(0);
  *plan.add_schedules() = plan.schedules(0);
  plan.mutable_schedules(1)->mutable_tasks()->DeleteSubrange(2, 1);
  plan.mutable_roles(1)->set_schedule(1);
  *plan.mutable_ranks(0)->mutable_ranks() = rankSet(0, {});
  *plan.add_ranks()->mutable_ranks() = rankSet(1, {});
  plan.mutable_ranks(1)->set_role(1);
  REQUIRE(verifyPlan(plan).empty());
  std::vector<std::string> faults = verifyComm(plan);
  REQUIRE(faults.size() == 2);
  REQUIRE(faults[0].find("rank 0 at task 3 (RUN 'forward and backward', call 0, instruction 1 'sum'): all_reduce sum of "
                         "16 f32 waits for rank 1") == 0);
  REQUIRE(faults[1].find("rank 1 at task 4 (GRAD_SYNC): reduction of sync 'vector.0' (1) waits for rank 0") == 0);
}

TEST_CASE("operations that meet and differ are named") {
  pb::Plan plan = GridPlan::make({1, 1, 2, 1});
  *plan.add_roles() = plan.roles(0);
  *plan.add_routines() = plan.routines(0);
  *plan.add_programs() = plan.programs(0);
  pb::Collective &other = *plan.mutable_routines(1)->mutable_instrs(1)->mutable_batch()->mutable_collectives(0);
  for (pb::Ref *ref : {other.mutable_in(), other.mutable_out()})
    ref->set_shape(0, 2);
  plan.mutable_programs(1)->mutable_calls(0)->set_routine(1);
  plan.mutable_roles(1)->set_programs(0, 1);
  *plan.mutable_ranks(0)->mutable_ranks() = rankSet(0, {});
  *plan.add_ranks()->mutable_ranks() = rankSet(1, {});
  plan.mutable_ranks(1)->set_role(1);
  REQUIRE(verifyPlan(plan).empty());
  REQUIRE(joined(verifyComm(plan)) ==
          "operations that meet differ: rank 0 at task 2 (RUN 'forward and backward', call 0, instruction 1 'sum'): "
          "all_reduce sum of 16 f32; rank 1 at task 2 (RUN 'forward and backward', call 0, instruction 1 'sum'): "
          "all_reduce sum of 8 f32\n");
}
