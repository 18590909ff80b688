#include "cost_model/comm/Collectives.h"
#include "cost_model/facts/ClusterFile.h"
#include <catch2/catch.hpp>

using namespace plait;

namespace {

const Facts &facts() { return Facts::builtin(); }

Cluster h100s(int nodes) {
  return *readCluster(R"({"groups": [{"device": "h100-sxm-80gb", "devices_per_node": 8, "intra_link": "nvlink4",
                          "inter_link": "ib-ndr400", "nodes": )" + std::to_string(nodes) + "}]}", "c", facts());
}

CommShape shape(const Cluster &cluster, DeviceRange range) { return *commShape(cluster, devicesOf(range), facts()); }

} // namespace

TEST_CASE("the shape of a group counts hops and parallel paths per level") {
  Cluster cluster = h100s(4);
  const LinkFacts *nvlink = *facts().link("nvlink4"), *fabric = *facts().link("ib-ndr400");
  CHECK(shape(cluster, {3, 1, 1}).levels.empty());
  CHECK(shape(cluster, {0, 8, 1}).levels == std::vector<CommLevel>{{nvlink, 7, 8, 1, true}});
  CHECK(shape(cluster, {0, 4, 8}).levels == std::vector<CommLevel>{{fabric, 3, 4, 1, false}});
  CHECK(shape(cluster, {0, 32, 1}).levels == std::vector<CommLevel>{{nvlink, 28, 8, 1, true}, {fabric, 3, 4, 8, false}});
  CHECK(shape(cluster, {6, 4, 1}).levels == std::vector<CommLevel>{{nvlink, 2, 2, 1, true}, {fabric, 1, 2, 2, false}});
  Result<CommShape> outside = commShape(cluster, devicesOf({30, 4, 1}), facts());
  REQUIRE(!outside);
  CHECK(outside.error().message == "device 32: the cluster has devices 0 to 31");
  cluster.domains[2].link = "rope";
  Result<CommShape> unknown = commShape(cluster, devicesOf({0, 8, 1}), facts());
  REQUIRE(!unknown);
  CHECK_THAT(unknown.error().message, Catch::StartsWith("domain 'group 0/node 0': no facts about link 'rope'"));
}

TEST_CASE("collectives follow the ring law") {
  LinkFacts link;
  link.protocols = {{1e-6, 2e-6, 1e9}, {10e-6, 2e-6, 4e9}};
  CommShape four{4, {{&link, 3, 4, 1, false}}};
  // Large: the second protocol, 2 x 3 hops, 2 x 3/4 of the bytes.
  CHECK(collectiveSeconds(CommKind::AllReduce, 8e9, four) == Approx(10e-6 + 6 * 2e-6 + 1.5 * 8e9 / 4e9));
  CHECK(collectiveSeconds(CommKind::AllGather, 8e9, four) == Approx(10e-6 + 3 * 2e-6 + 0.75 * 8e9 / 4e9));
  CHECK(collectiveSeconds(CommKind::ReduceScatter, 8e9, four) == collectiveSeconds(CommKind::AllGather, 8e9, four));
  CHECK(collectiveSeconds(CommKind::Broadcast, 8e9, four) == Approx(10e-6 + 3 * 2e-6 + 8e9 / 4e9));
  // Small: the first protocol; by tree in 2 x log2(4) hops.
  CHECK(collectiveSeconds(CommKind::AllReduce, 4, four) == Approx(1e-6 + 4 * 2e-6 + 2 * 6 / 1e9));
  CHECK(collectiveSeconds(CommKind::AllGather, 4, four) == Approx(1e-6 + 3 * 2e-6 + 3 / 1e9));
  CHECK(messageSeconds(8e9, {2, {{&link, 1, 2, 1, true}}}) == Approx(12e-6 + 2));
  CHECK(collectiveSeconds(CommKind::AllReduce, 8e9, CommShape{}) == 0);
  CHECK(messageSeconds(8e9, CommShape{}) == 0);
  CHECK(ringBytes(CommKind::AllReduce, 8, 4) == 12);
}

TEST_CASE("parallel paths lift a slow level") {
  Cluster cluster = h100s(2);
  double one = collectiveSeconds(CommKind::AllReduce, 1e9, shape(cluster, {0, 2, 8}));
  double sixteen = collectiveSeconds(CommKind::AllReduce, 1e9, shape(cluster, {0, 16, 1}));
  CHECK(one == Approx(1e9 / 4.5e10).epsilon(0.02));            // 2 members: every byte over one path each way
  CHECK(sixteen == Approx(1.875 * 1e9 / 3.16e11).epsilon(0.02)); // 8 paths of 45 GB/s exceed the node's own link
}

TEST_CASE("an all-reduce of one node is near the measured times") {
  // NCCL 2.27 on 8 x H100: 2,111 us for 512 MiB (in-switch reduction), 199.8 us for 32 MiB, 15.6 us for 512 B.
  CommShape node = shape(h100s(1), {0, 8, 1});
  CHECK(collectiveSeconds(CommKind::AllReduce, 512, node) == Approx(15.6e-6).epsilon(0.3));
  CHECK(collectiveSeconds(CommKind::AllReduce, 33554432, node) == Approx(199.8e-6).epsilon(0.25));
  CHECK(collectiveSeconds(CommKind::AllReduce, 536870912, node) == Approx(2111e-6).epsilon(0.45));
  CHECK(labelOf(node) == Label::Calibrated);
  CHECK(labelOf(CommShape{}) == Label::Measured);
}
