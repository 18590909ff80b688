// Communicator: collectives and point-to-point of one rank, with the semantics of the strictest backend, so that a plan
// that runs here runs on NCCL: unbuffered rendezvous (a send does not return before its receive took the data), matching
// by order within a group or pair and never by tag, batches as group calls (all parts make progress together),
// every wait bounded by a deadline. A failed or expired call ends the epoch: later calls fail at once.
#ifndef PLAIT_RUNTIME_COMM_COMMUNICATOR_H
#define PLAIT_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/plan/DType.h"
#include "runtime/plan/Result.h"
#include "runtime/plan/plan.pb.h"
#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace plait {

/// An ordered set of ranks that communicate; `index` is this rank's position. All members pass equal ranks and name.
struct CommGroup {
  uint32_t id = 0;      ///< equal on all members; distinct groups have distinct ids
  std::string name;     ///< for messages: "tp of stage 1"
  std::vector<uint32_t> ranks;
  uint32_t index = 0;
};

/// AllReduce: in, out hold `elements`. AllGather: in holds this member's part, out all `elements` in member order.
/// ReduceScatter: in holds all `elements`, out this member's part. Broadcast: `elements` from `root`. Part sizes are
/// counts[i], or elements / members. in == out is allowed for AllReduce and Broadcast, and where this member's part
/// lies in place. Sums run in member order in f32 (f64 for F64, f32 accumulation for BF16, rounded once), so that
/// every member gets equal bits.
struct CollectiveCall {
  pb::CollectiveKind kind = pb::COLLECTIVE_NONE;
  const CommGroup *group = nullptr;
  const void *in = nullptr;
  void *out = nullptr;
  uint64_t elements = 0;
  DType dtype = DType::F32;
  pb::ReduceKind reduce = pb::REDUCE_NONE;
  std::span<const int64_t> counts;
  uint32_t root = 0;
  const char *origin = "";  ///< for messages
};

struct P2pCall {
  bool send = false;
  uint32_t peer = 0;        ///< rank
  void *data = nullptr;
  uint64_t bytes = 0;
  const char *origin = "";
};

class Communicator {
public:
  using Clock = std::chrono::steady_clock;
  virtual ~Communicator() = default;
  virtual uint32_t rank() const = 0;
  virtual uint32_t worldSize() const = 0;
  /// COMM arena memory that peers can read without a copy; nullptr if the backend has none (plain memory works too).
  virtual void *arena(uint64_t bytes) = 0;
  /// One group call: all parts are posted before any is waited for. Returns when all are complete.
  /// Error Runtime names group, operation, sequence number and the missing ranks, or the rank whose failure aborted it.
  virtual Status run(std::span<const CollectiveCall> collectives, std::span<const P2pCall> p2ps,
                     Clock::time_point deadline) = 0;
  /// Ends the epoch for every rank with this cause; their waits return at once.
  virtual void abort(const std::string &cause) = 0;
  /// Payload bytes this rank has sent since construction (collectives: as a ring would send).
  virtual uint64_t bytesSent() const = 0;
};

} // namespace plait

#endif
