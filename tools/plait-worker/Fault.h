// A fault planted for tests: "RANK:STEP:TASK" kills the worker of a rank before the first such task of a step.
#ifndef PLAIT_TOOLS_PLAIT_WORKER_FAULT_H
#define PLAIT_TOOLS_PLAIT_WORKER_FAULT_H

#include "runtime/plan/Result.h"
#include "runtime/plan/plan.pb.h"
#include <string>

namespace plait {

struct Fault {
  uint32_t rank = 0;
  int64_t step = 0;
  pb::TaskKind task = pb::TASK_NONE; ///< NONE: no fault
};

/// "1:3:apply". Error Usage names the part that is wrong, and the tasks there are.
Result<Fault> parseFault(const std::string &text);

} // namespace plait

#endif
