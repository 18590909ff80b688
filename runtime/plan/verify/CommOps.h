// The communication of a role, in the order in which a rank issues it.
#ifndef PLAIT_RUNTIME_PLAN_VERIFY_COMMOPS_H
#define PLAIT_RUNTIME_PLAN_VERIFY_COMMOPS_H

#include "runtime/plan/plan.pb.h"
#include <map>
#include <string>
#include <vector>

namespace plait {

/// Where a part of an operation meets its counterparts: a group of a family (kWorld: all ranks), or an end of a channel.
struct CommEnd {
  enum Kind : uint32_t { Group, Send, Receive };
  static constexpr uint32_t kWorld = ~0u;
  Kind kind = Group;
  uint32_t index = 0; ///< family or channel
  auto operator<=>(const CommEnd &) const = default;
};

/// One part of a batch. Parts that meet must have equal signatures.
struct CommPart {
  CommEnd end;
  uint32_t signature = 0; ///< index into CommOps::signatures
};

struct CommOp {
  int task = 0, call = -1, instr = -1; ///< call and instr of a collective inside a program
  uint32_t batch = 0;                  ///< index into CommOps::batches
};

struct CommOps {
  std::vector<std::string> signatures;        ///< "all_reduce sum of 64 f32", "512 bytes"
  std::vector<std::vector<CommPart>> batches;
  std::vector<std::vector<CommOp>> roles;     ///< by role
  /// "task 3 (RUN 'forward', call 0, instruction 5 'mlp.down'): all_reduce sum of 64 f32"
  std::string describe(const pb::Plan &plan, uint32_t role, const CommOp &op, const CommPart &part) const;
};

/// Groups of one member communicate nothing and are left out.
CommOps commOpsOf(const pb::Plan &plan);

} // namespace plait

#endif
