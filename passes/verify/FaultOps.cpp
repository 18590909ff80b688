#include "passes/verify/FaultOps.h"

using namespace mlir;

namespace plait {

static Operation *opOf(exec::PlanOp plan, StringRef fault) {
  auto [kind, rest] = fault.split(' ');
  uint64_t index = 0;
  if (rest.consumeInteger(10, index))
    return plan;
  std::string name = ("exec." + kind).str();
  for (Operation &op : plan.getBody().front())
    if (op.getName().getStringRef() == name && index-- == 0)
      return &op;
  return plan;
}

LogicalResult reportFaults(exec::PlanOp plan, const std::vector<std::string> &faults) {
  for (const std::string &fault : faults)
    opOf(plan, fault)->emitError(fault);
  return failure(!faults.empty());
}

} // namespace plait
