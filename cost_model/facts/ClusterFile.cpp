#include "cost_model/facts/ClusterFile.h"
#include "cost_model/problem/Names.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace plait {

namespace {

using Json = nlohmann::json;
constexpr int64_t kMostDevices = 1 << 20;

class Reader {
public:
  Reader(std::string origin, const Facts &facts) : origin(std::move(origin)), facts(facts) {}

  Result<Cluster> run(const std::string &text) {
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded() || !json.is_object())
      return usageError(origin + ": it is not a JSON object");
    if (Status s = keys(json, "cluster", {"name", "groups", "inter_group_link"}); !s)
      return s.error();
    if (Status s = textOf(json, "cluster", "name", cluster.name, false); !s)
      return s.error();
    Json groups = json.value("groups", Json());
    if (!groups.is_array() || groups.empty())
      return usageError(origin + ": \"groups\" is not a list with at least one group");
    cluster.domains.push_back({kNone, cluster.name.empty() ? "cluster" : cluster.name, kNone, 0, "", false});
    if (Status s = link(json, "cluster", "inter_group_link", groups.size() > 1, cluster.domains[0].link); !s)
      return s.error();
    for (size_t i = 0; i < groups.size(); ++i)
      if (Status s = group(groups[i], "group " + std::to_string(i)); !s)
        return s.error();
    return std::move(cluster);
  }

private:
  Status keys(const Json &json, const std::string &place, const std::vector<std::string> &known) {
    if (!json.is_object())
      return usageError(origin + ": " + place + " is not an object");
    for (const auto &[key, value] : json.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        return usageError(origin + ": " + place + ": key '" + key +
                          "' is not known; what works: " + joined(nearestNames(key, known)));
    return success();
  }

  Status textOf(const Json &json, const std::string &place, const char *key, std::string &out, bool needed) {
    if (!json.contains(key))
      return needed ? Status(usageError(origin + ": " + place + ": key '" + key + "' is missing")) : success();
    if (!json[key].is_string())
      return usageError(origin + ": " + place + ": '" + key + "' is not text");
    out = json[key].get<std::string>();
    return success();
  }

  Status count(const Json &json, const std::string &place, const char *key, int64_t low, int64_t high, int64_t &out,
               bool needed) {
    if (!json.contains(key))
      return needed ? Status(usageError(origin + ": " + place + ": key '" + key + "' is missing")) : success();
    const Json &value = json[key];
    if (!value.is_number_integer() || value.get<int64_t>() < low || value.get<int64_t>() > high)
      return usageError(origin + ": " + place + ": '" + key + "' is " + value.dump() +
                        "; what works: a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    out = value.get<int64_t>();
    return success();
  }

  Status link(const Json &json, const std::string &place, const char *key, bool needed, std::string &out) {
    if (Status s = textOf(json, place, key, out, needed); !s)
      return s;
    if (out.empty())
      return success();
    Result<const LinkFacts *> known = facts.link(out);
    return known ? success() : Status(usageError(origin + ": " + place + ": '" + key + "': " + known.error().message));
  }

  /// Class with these facts and this memory; a new one if there is none.
  Id deviceClass(const std::string &device, uint64_t memory, uint64_t reserved) {
    Id same = 0;
    for (Id c = 0; c < cluster.classes.size(); ++c) {
      const DeviceClass &known = cluster.classes[c];
      if (known.facts == device && known.memoryBytes == memory && known.reservedBytes == reserved)
        return c;
      same += known.facts == device;
    }
    cluster.classes.push_back({same ? device + "#" + std::to_string(same + 1) : device, device, memory, reserved});
    return Id(cluster.classes.size() - 1);
  }

  Status group(const Json &json, const std::string &place) {
    if (Status s = keys(
            json, place,
            {"name", "device", "nodes", "devices_per_node", "intra_link", "inter_link", "memory_bytes", "reserved_bytes"});
        !s)
      return s;
    std::string name = place, device, intra, inter;
    int64_t nodes = 1, perNode = 0;
    if (Status s = textOf(json, place, "name", name, false); !s)
      return s;
    if (Status s = textOf(json, place, "device", device, true); !s)
      return s;
    Result<const DeviceFacts *> known = facts.device(device);
    if (!known)
      return usageError(origin + ": " + place + ": " + known.error().message);
    int64_t memory = int64_t((*known)->memoryBytes), reserved = int64_t((*known)->reserveBytes);
    if (Status s = count(json, place, "nodes", 1, kMostDevices, nodes, false); !s)
      return s;
    if (Status s = count(json, place, "devices_per_node", 1, kMostDevices / nodes, perNode, true); !s)
      return s;
    if (Status s = count(json, place, "memory_bytes", 1, int64_t(1) << 50, memory, false); !s)
      return s;
    if (Status s = count(json, place, "reserved_bytes", 0, memory, reserved, false); !s)
      return s;
    if (Status s = link(json, place, "intra_link", perNode > 1, intra); !s)
      return s;
    if (Status s = link(json, place, "inter_link", nodes > 1, inter); !s)
      return s;
    if ((total += nodes * perNode) > kMostDevices)
      return usageError(origin + ": more than " + std::to_string(kMostDevices) + " devices");
    Id parent = Id(cluster.domains.size());
    cluster.domains.push_back({0, name, kNone, 0, inter, false});
    Id kind = deviceClass(device, uint64_t(memory), uint64_t(reserved));
    for (int64_t node = 0; node < nodes; ++node)
      cluster.domains.push_back({parent, name + "/node " + std::to_string(node), kind, uint32_t(perNode), intra, true});
    return success();
  }

  std::string origin;
  const Facts &facts;
  Cluster cluster;
  int64_t total = 0;
};

} // namespace

Result<Cluster> readCluster(const std::string &json, const std::string &origin, const Facts &facts) {
  return Reader(origin, facts).run(json);
}

} // namespace plait
