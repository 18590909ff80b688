// Names of tasks, as traces, simulations, messages and faults spell them.
#ifndef PLAIT_RUNTIME_PLAN_TASKNAMES_H
#define PLAIT_RUNTIME_PLAN_TASKNAMES_H

#include "runtime/plan/plan.pb.h"
#include <string_view>

namespace plait {

/// "zero", "load", "run", ...; "none" for anything else.
std::string_view taskName(pb::TaskKind kind);

} // namespace plait

#endif
