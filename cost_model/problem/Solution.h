// Solution: what was chosen. Plain data; mirrors pb::Decisions and the plan dialect field for field.
#ifndef PLAIT_COST_MODEL_PROBLEM_SOLUTION_H
#define PLAIT_COST_MODEL_PROBLEM_SOLUTION_H

#include "cost_model/workload/Summary.h"
#include <string>
#include <vector>

namespace plait {

/// One factor of a segment split over the stage's tensor axis.
struct AxisUse {
  std::string factor;
  std::vector<int64_t> cuts; ///< interior boundaries in factor units (shards - 1 of them); empty: even, the first
                             ///< size % shards shards one unit larger
  bool operator==(const AxisUse &) const = default;
};

/// Which factors of one segment are split over the tensor axis. A segment that is not listed is replicated.
/// Megatron: attention [h], mlp [i], embedding [v], head [v]; with sequence parallelism also stream [s].
struct SegmentMap {
  std::string segment;
  std::vector<AxisUse> uses;
  bool operator==(const SegmentMap &) const = default;
};

/// Devices first, first + stride, ...; numbered as the cluster's leaves.
struct DeviceRange {
  uint32_t first = 0, count = 1, stride = 1;
  bool operator==(const DeviceRange &) const = default;
};

/// Uses [firstUse, endUse) of the chain on one tensor-parallel group of devices.
struct Stage {
  DeviceRange devices; ///< of copy 0 of the replica; count is the tensor-parallel degree
  Id firstUse = 0, endUse = 0;
  std::vector<SegmentMap> maps;
  std::string recompute = "none"; ///< variant of every block: "none" | "selective" | "full"
  bool splitWeightGrad = false;   ///< backward as two tasks, input gradient first
  bool operator==(const Stage &) const = default;
};

/// `copies` identical pipelines; copy c uses devices shifted by c * copyStride. Each copy takes `microbatches`
/// micro-batches of the global batch: replica after replica, copy after copy, in order.
struct Replica {
  uint32_t copies = 1, copyStride = 0;
  std::vector<Stage> stages;
  uint32_t microbatches = 1;
  bool operator==(const Replica &) const = default;
};

/// Micro-batch `microbatch` of replica `replica` runs its stage `stage` on the same stage of replica `executor`.
/// Only between replicas with one copy whose stages cut the chain at the same places.
struct Override {
  Id replica = 0, stage = 0, microbatch = 0, executor = 0;
  bool operator==(const Override &) const = default;
};

struct Solution {
  std::vector<Replica> replicas;
  std::vector<Override> overrides;
  std::string schedule = "1f1b";  ///< "1f1b" | "gpipe"
  std::string sharding = "none";  ///< "none" | "optimizer" (ZeRO-1)
  int64_t microBatch = 1;         ///< sequences
  bool operator==(const Solution &) const = default;
};

} // namespace plait

#endif
