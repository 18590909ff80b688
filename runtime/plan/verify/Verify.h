// What a reader of a plan may rely on. verifyPlan() checks the structure, verifyComm() that the communication of all ranks
// admits one global order. Both take any message that parses: they never crash, and they stay cheap for 16,384 ranks.
#ifndef PLAIT_RUNTIME_PLAN_VERIFY_VERIFY_H
#define PLAIT_RUNTIME_PLAN_VERIFY_VERIFY_H

#include "runtime/plan/Result.h"
#include "runtime/plan/plan.pb.h"
#include <string>
#include <vector>

namespace plait {

/// Faults of the plan, each "<place>: <what is wrong>"; empty: none. Checked in this order, and later checks, which rely
/// on the earlier, are left out once there is a fault:
/// - tables: tensors and their checkpoint views, job, families, channels, works, pointwise programs;
/// - routines and programs: operands inside slots, slots bound, known kernels, collectives that fit together;
/// - ranks: each covered once, coordinates defined along every axis of the role;
/// - roles: slots inside arenas and frames, ports, tasks (order of the optimizer step, dependencies, frames, channels);
/// - state: residences inside tensors and arenas, every stored element in one Sync, Sync parts of all members over the
///   same logical elements in one order, every logical element in exactly one Sync group;
/// - channels: sends and receives agree in number, order and bytes.
std::vector<std::string> verifyPlan(const pb::Plan &plan);

/// Walks the communication of all ranks as the strictest backend runs it: in list order, unbuffered, matched by order
/// within a group or a pair of ranks, the parts of a batch together. Empty: all ranks reach the end. Else the faults name
/// two ranks and their operations that wait for each other, or that meet and do not fit. Ranks that behave alike are
/// walked once. Precondition: verifyPlan() is empty.
std::vector<std::string> verifyComm(const pb::Plan &plan);

/// Both. Error CheckFailed with the first faults, a line each.
Status verify(const pb::Plan &plan);

} // namespace plait

#endif
