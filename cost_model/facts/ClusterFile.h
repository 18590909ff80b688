// The cluster file: {"name", "groups": [{"device", "nodes", "devices_per_node", "intra_link", "inter_link"}],
// "inter_group_link"}. It becomes a domain tree root > group > node; devices are numbered group by group, node by node.
// Optional per group: "name", "memory_bytes" and "reserved_bytes" (else those of the facts), and "nodes" (else 1).
// "inter_link" may be left out for one node, "inter_group_link" for one group.
#ifndef PLAIT_COST_MODEL_FACTS_CLUSTERFILE_H
#define PLAIT_COST_MODEL_FACTS_CLUSTERFILE_H

#include "cost_model/facts/Facts.h"
#include "cost_model/problem/Problem.h"

namespace plait {

/// Error Usage: names `origin`, the group, the key, and what would work (unknown keys, devices and links: nearest names).
Result<Cluster> readCluster(const std::string &json, const std::string &origin, const Facts &facts);

} // namespace plait

#endif
