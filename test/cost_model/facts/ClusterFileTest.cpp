#include "cost_model/facts/ClusterFile.h"
#include <catch2/catch.hpp>

using namespace plait;

namespace {

std::string message(const std::string &json) {
  Result<Cluster> cluster = readCluster(json, "c.json", Facts::builtin());
  return cluster ? std::string() : cluster.error().message;
}

} // namespace

TEST_CASE("a cluster of two groups becomes a tree of domains") {
  Result<Cluster> cluster = readCluster(R"({"name": "mixed", "inter_group_link": "ethernet", "groups": [
      {"device": "h100-sxm-80gb", "nodes": 2, "devices_per_node": 8, "intra_link": "nvlink4", "inter_link": "ib-ndr400"},
      {"name": "old", "device": "v100-sxm-32gb", "devices_per_node": 4, "intra_link": "nvlink2", "memory_bytes": 1000,
       "reserved_bytes": 10},
      {"device": "v100-sxm-32gb", "devices_per_node": 1}]})",
                                        "c.json", Facts::builtin());
  REQUIRE(cluster);
  CHECK(cluster->name == "mixed");
  CHECK(cluster->deviceCount() == 21);
  REQUIRE(cluster->classes.size() == 3);
  CHECK(cluster->classes[0].memoryBytes == uint64_t((*Facts::builtin().device("h100-sxm-80gb"))->memoryBytes));
  CHECK(cluster->classes[1].name == "v100-sxm-32gb");
  CHECK(cluster->classes[1].memoryBytes == 1000);
  CHECK(cluster->classes[1].reservedBytes == 10);
  CHECK(cluster->classes[2].name == "v100-sxm-32gb#2");
  CHECK(cluster->classOf(15) == 0);
  CHECK(cluster->classOf(16) == 1);
  CHECK(cluster->domains[cluster->commonDomain(0, 7)].link == "nvlink4");
  CHECK(cluster->domains[cluster->commonDomain(0, 8)].link == "ib-ndr400");
  CHECK(cluster->domains[cluster->commonDomain(15, 16)].link == "ethernet");
  CHECK(cluster->domains[cluster->commonDomain(16, 19)].name == "old/node 0");
}

TEST_CASE("errors of a cluster file name the place and what works") {
  CHECK(message("[]") == "c.json: it is not a JSON object");
  CHECK(message("{\"groups\": []}") == "c.json: \"groups\" is not a list with at least one group");
  CHECK(message(R"({"group": []})") == "c.json: cluster: key 'group' is not known; what works: groups, name, inter_group_link");
  CHECK(message(R"({"name": 3, "groups": [{}]})") == "c.json: cluster: 'name' is not text");
  CHECK(message(R"({"groups": [4]})") == "c.json: group 0 is not an object");
  CHECK(message(R"({"groups": [{}]})") == "c.json: group 0: key 'device' is missing");
  CHECK_THAT(message(R"({"groups": [{"device": "gpu"}]})"), Catch::StartsWith("c.json: group 0: no facts about device 'gpu'; nearest known: cpu"));
  CHECK_THAT(message(R"({"groups": [{"device": "cpu", "device_per_node": 2}]})"),
             Catch::StartsWith("c.json: group 0: key 'device_per_node' is not known; what works: devices_per_node"));
  CHECK(message(R"({"groups": [{"device": "cpu", "devices_per_node": 2}]})") == "c.json: group 0: key 'intra_link' is missing");
  CHECK(message(R"({"groups": [{"device": "cpu", "devices_per_node": 0}]})") ==
        "c.json: group 0: 'devices_per_node' is 0; what works: a whole number from 1 to 1048576");
  CHECK(message(R"({"groups": [{"device": "cpu", "devices_per_node": 1e30}]})") ==
        "c.json: group 0: 'devices_per_node' is 1e+30; what works: a whole number from 1 to 1048576");
  CHECK_THAT(message(R"({"groups": [{"device": "cpu", "devices_per_node": 2, "intra_link": "smh"}]})"),
             Catch::StartsWith("c.json: group 0: 'intra_link': no facts about link 'smh'; nearest known: shm"));
  CHECK(message(R"({"groups": [{"device": "cpu", "nodes": 2, "devices_per_node": 1}]})") ==
        "c.json: group 0: key 'inter_link' is missing");
  CHECK(message(R"({"groups": [{"device": "cpu", "devices_per_node": 1}, {"device": "cpu", "devices_per_node": 1}]})") ==
        "c.json: cluster: key 'inter_group_link' is missing");
  CHECK(message(R"({"inter_group_link": "shm", "groups": [
        {"device": "cpu", "devices_per_node": 1048576, "intra_link": "shm"}, {"device": "cpu", "devices_per_node": 1}]})") ==
        "c.json: more than 1048576 devices");
}
