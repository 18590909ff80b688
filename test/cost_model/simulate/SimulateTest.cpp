#include "cost_model/comm/Collectives.h"
#include "cost_model/compute/Kernels.h"
#include "cost_model/facts/ClusterFile.h"
#include "cost_model/simulate/RankClasses.h"
#include "cost_model/simulate/Trace.h"
#include "test/cost_model/simulate/SmallPlan.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

using namespace plait;
using test::SmallPlan;

namespace {

const Facts &facts() { return Facts::builtin(); }

std::string nodes(int count, int perNode, const std::string &device = "a100-sxm-80gb") {
  return R"({"device": ")" + device + R"(", "devices_per_node": )" + std::to_string(perNode) + R"(, "intra_link": "nvlink3",
             "inter_link": "ib-hdr200", "nodes": )" + std::to_string(count) + "}";
}
Cluster cluster(const std::string &groups) {
  return *readCluster(R"({"inter_group_link": "ib-hdr200", "groups": [)" + groups + "]}", "c", facts());
}

SimulationResult run(const SmallPlan &plan, const Cluster &on, SimulateOptions options = {}) {
  pb::Plan message = plan.make();
  Result<SimulationResult> result = simulate(message, on, facts(), options);
  if (!result)
    FAIL(result.error().message);
  return *result;
}

double total(const Amounts &amounts) {
  double sum = 0;
  for (const auto &[name, value] : amounts)
    sum += value;
  return sum;
}

double amount(const Amounts &amounts, const std::string &name) {
  for (const auto &[key, value] : amounts)
    if (key == name)
      return value;
  return 0;
}

Work gemm(int64_t width) {
  Work work;
  work.kernel = Kernel::Gemm;
  work.dims = {64, width, width};
  work.flops = 2.0 * 64 * double(width) * double(width);
  work.bytesRead = 4.0 * double(width * width + 64 * width);
  work.bytesWritten = 4.0 * 64 * double(width);
  return work;
}

} // namespace

TEST_CASE("a uniform pipeline takes the closed-form time") {
  Cluster on = cluster(nodes(1, 4));
  const DeviceFacts &device = **facts().device("a100-sxm-80gb");
  CommShape pair = *commShape(on, devicesOf({0, 2, 1}), facts());
  for (uint32_t p : {1u, 2u, 4u})
    for (uint32_t m : {1u, 3u, 8u}) {
      SmallPlan plan;
      plan.stages = p, plan.microbatches = m;
      SimulationResult result = run(plan, on);
      double phase = 2 * kernelSeconds(gemm(plan.width), device), message = messageSeconds(plan.boundaryBytes(), pair);
      double elements = double(plan.width) * double(plan.width);
      CommShape world = *commShape(on, devicesOf({0, p, 1}), facts());
      double tail = memorySeconds(4 * elements, device) + collectiveSeconds(CommKind::AllReduce, 24, world) +
                    memorySeconds(28 * elements, device);
      double zero = memorySeconds(2000, device);
      INFO("p " << p << " m " << m);
      // Every stage exchanges one batch between two runs; a message is shorter than a phase. The first stage sends m
      // activations and receives m gradients; its batches with both count once.
      if (m == 1)
        CHECK(result.seconds == Approx(zero + 2 * p * phase + 2 * (p - 1) * message + tail));
      if (p == 1) {
        CHECK(result.seconds == Approx(zero + 2 * m * phase + tail));
        CHECK(result.bubble == Approx(zero / (zero + 2 * m * phase)));
      }
      CHECK(result.seconds >= (zero + 2 * (m + p - 1) * phase + tail) * (1 - 1e-12));
      CHECK(result.seconds <= (zero + 2 * (m + p - 1) * (phase + message) + tail) * (1 + 1e-12));
      CHECK(total(result.components) == Approx(result.seconds));
      CHECK(amount(result.components, "compute gemm") == Approx(2 * m * phase));
      CHECK(amount(result.components, "optimizer") == Approx(memorySeconds(28 * elements, device)));
      CHECK(amount(result.traffic, "nvlink3") >= 2 * m * (p - 1) * plan.boundaryBytes());
    }
}

TEST_CASE("folded and unfolded simulations agree") {
  std::vector<Cluster> clusters{cluster(nodes(4, 8)), cluster(nodes(16, 2)), cluster(nodes(2, 8) + "," + nodes(2, 8, "v100-sxm-32gb"))};
  for (const Cluster &on : clusters)
    for (uint32_t tp : {1u, 2u, 4u})
      for (uint32_t stages : {1u, 2u, 4u})
        for (bool variant : {false, true}) {
          SmallPlan plan;
          plan.tp = tp, plan.stages = stages, plan.copies = 32 / (tp * stages);
          plan.sharded = variant, plan.split = variant;
          SimulationResult folded = run(plan, on), each = run(plan, on, {false, {}});
          INFO("tp " << tp << " stages " << stages << " variant " << variant);
          CHECK(folded.seconds == each.seconds);
          CHECK((folded.ranks.size() < each.ranks.size() || plan.copies == 2)); // two copies on unlike nodes
          CHECK(each.ranks.size() == 32);
          REQUIRE(folded.components.size() == each.components.size());
          for (size_t i = 0; i < each.components.size(); ++i)
            CHECK(folded.components[i].second == Approx(each.components[i].second));
          for (size_t i = 0; i < each.traffic.size(); ++i)
            CHECK(folded.traffic[i].second == Approx(each.traffic[i].second));
          RankClasses classes = *classifyRanks(plan.make(), on, facts(), true);
          for (const SimulatedRanks &one : each.ranks) {
            const SimulatedRanks &alike = folded.ranks[classes.classOf[one.rank]];
            CHECK(one.finish == alike.finish);
            CHECK(one.computed == alike.computed);
            CHECK(one.busy == alike.busy);
            CHECK(one.components == alike.components);
          }
        }
}

TEST_CASE("equal copies fold to one rank per stage and coordinate") {
  SmallPlan plan;
  plan.tp = 2, plan.stages = 4, plan.copies = 64;
  RankClasses classes = *classifyRanks(plan.make(), cluster(nodes(64, 8)), facts(), true);
  CHECK(classes.classes.size() == 8);
  for (const RankClass &one : classes.classes)
    CHECK(one.ranks == 64);
  // One unlike node splits its copy from the others, not every rank from every other.
  classes = *classifyRanks(plan.make(), cluster(nodes(63, 8) + "," + nodes(1, 8, "v100-sxm-32gb")), facts(), true);
  CHECK(classes.classes.size() == 16);
}

TEST_CASE("a slow copy delays the others at the gradient sync only") {
  SmallPlan plan;
  plan.copies = 2;
  SimulationResult even = run(plan, cluster(nodes(1, 2) + "," + nodes(1, 2))),
                   slow = run(plan, cluster(nodes(1, 2) + "," + nodes(1, 2, "v100-sxm-32gb")));
  REQUIRE(slow.ranks.size() == 4);
  CHECK(slow.ranks[0].computed == even.ranks[0].computed);
  CHECK(slow.ranks[2].computed > slow.ranks[0].computed);
  CHECK(slow.ranks[0].finish > even.ranks[0].finish);
  CHECK(amount(slow.ranks[0].components, "idle") > amount(even.ranks[0].components, "idle"));
}

TEST_CASE("traffic counts what every rank sends") {
  SmallPlan plan;
  plan.copies = 2, plan.stages = 1, plan.tp = 2, plan.microbatches = 3;
  SimulationResult result = run(plan, cluster(nodes(2, 2)));
  double sum = plan.boundaryBytes(); // bytes of the all-reduced tensor; a ring of 2 sends all of it once per rank
  double elements = double(plan.width) * double(plan.width) * 4;
  // In the world's ring (vote, 24 bytes, 1.5 times per edge) two of four edges cross nodes.
  CHECK(amount(result.traffic, "nvlink3") == Approx(4 * (2 * 3 * sum) + 2 * 36));
  CHECK(amount(result.traffic, "ib-hdr200") == Approx(4 * elements + 2 * 36));
}

TEST_CASE("memory comes from the spaces of the roles") {
  SimulationResult result = run(SmallPlan(), cluster(nodes(1, 2)));
  REQUIRE(result.memory.size() == 2);
  CHECK(result.memory[1].role == "stage1");
  CHECK(result.memory[1].bytes == 21256);
  CHECK(result.memory[1].components == std::vector<std::pair<std::string, uint64_t>>{{"parameters", 1000}});
  CHECK(result.label == Label::Analytic);
  CHECK(result.errorBand > 0);
}

TEST_CASE("sharded sync gathers, replicated sync does not") {
  SmallPlan plan;
  plan.copies = 2;
  Cluster on = cluster(nodes(2, 2));
  CHECK(amount(run(plan, on).components, "parameter gather") == 0);
  double replicated = amount(run(plan, on).components, "optimizer");
  plan.sharded = true;
  CHECK(amount(run(plan, on).components, "parameter gather") > 0);
  CHECK(amount(run(plan, on).components, "optimizer") < replicated);
}

TEST_CASE("events are named and nested as the runtime's") {
  SmallPlan plan;
  plan.tp = 2, plan.microbatches = 2;
  SimulationResult tasks = run(plan, cluster(nodes(1, 4)), {true, SimulateOptions::Events::Tasks});
  std::set<std::string> names;
  for (const SimEvent &event : tasks.ranks[0].events)
    names.insert(event.name);
  CHECK(names == std::set<std::string>{"zero", "run", "transfer", "grad_sync", "vote", "apply", "param_gather", "commit"});
  SimulationResult all = run(plan, cluster(nodes(1, 4)), {true, SimulateOptions::Events::Instructions});
  CHECK(all.seconds == Approx(tasks.seconds));
  double inside = 0, whole = 0;
  for (const SimEvent &event : all.ranks[0].events)
    if (event.name == "run")
      whole += event.seconds;
    else if (event.name == "first" || event.name == "sum" || event.name == "second")
      inside += event.seconds;
  CHECK(inside == Approx(whole));
  CHECK(all.ranks[0].events.size() == tasks.ranks[0].events.size() + 2 * 2 * 3);

  nlohmann::json trace = nlohmann::json::parse(chromeTrace(tasks));
  size_t events = 0;
  for (const auto &event : trace)
    events += event["ph"] == "X";
  CHECK(events == 4 * tasks.ranks[0].events.size());
  CHECK(trace[0]["args"]["name"] == "rank 0");
}

TEST_CASE("simulation errors say why") {
  SmallPlan plan;
  plan.copies = 2;
  Result<SimulationResult> few = simulate(plan.make(), cluster(nodes(1, 3)), facts());
  REQUIRE(!few);
  CHECK(few.error().code == ExitCode::Usage);
  CHECK(few.error().message == "the plan has 4 ranks, the cluster '' only 3 devices");
  pb::Plan message = plan.make();
  pb::P2p *first = message.mutable_schedules(1)->mutable_tasks(1)->mutable_p2ps(0); // stage 1 receives an activation
  REQUIRE(!first->send());
  first->set_channel(1); // now it sends a gradient first, while stage 0 sends the activation
  first->set_send(true);
  Result<SimulationResult> stuck = simulate(message, cluster(nodes(1, 4)), facts());
  REQUIRE(!stuck);
  CHECK(stuck.error().code == ExitCode::CheckFailed);
  CHECK_THAT(stuck.error().message, Catch::StartsWith("ranks wait for each other: rank 0 in task "));
  message = plan.make();
  message.set_cluster_json("{}");
  CHECK(simulate(message).error().message == "cluster of the plan: \"groups\" is not a list with at least one group");
  message.set_cluster_json(R"({"groups": [)" + nodes(1, 4) + "]}");
  CHECK(simulate(message)->seconds == run(plan, cluster(nodes(1, 4))).seconds);
}
