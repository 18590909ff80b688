#include "runtime/plan/TaskNames.h"

namespace plait {

std::string_view taskName(pb::TaskKind kind) {
  switch (kind) {
  case pb::TASK_ZERO: return "zero";
  case pb::TASK_LOAD: return "load";
  case pb::TASK_RUN: return "run";
  case pb::TASK_TRANSFER: return "transfer";
  case pb::TASK_GRAD_SYNC: return "grad_sync";
  case pb::TASK_VOTE: return "vote";
  case pb::TASK_APPLY: return "apply";
  case pb::TASK_PARAM_GATHER: return "param_gather";
  case pb::TASK_COMMIT: return "commit";
  default: return "none";
  }
}

} // namespace plait
