// Form of a problem: names resolve, numbers can be read.
#include "dialects/plan/Syntax.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace plait::plan {

/// Fails if `op` holds more than one `Child`, or none although one is required.
template <typename Child> static LogicalResult verifyOne(ProblemOp op, bool required) {
  auto children = llvm::to_vector(op.getBody().getOps<Child>());
  if (children.empty() && required)
    return op.emitOpError() << "has no " << Child::getOperationName();
  if (children.size() < 2)
    return success();
  InFlightDiagnostic diagnostic = children[1].emitOpError("stands twice in one problem");
  diagnostic.attachNote(children[0].getLoc()) << "first one is here";
  return diagnostic;
}

LogicalResult ProblemOp::verifyRegions() {
  if (failed(verifyChildren(*this, {ClusterOp::getOperationName(), JobOp::getOperationName(),
                                    SpaceOp::getOperationName(), CostsOp::getOperationName(),
                                    ExpectOp::getOperationName()})))
    return failure();
  return success(succeeded(verifyOne<ClusterOp>(*this, true)) && succeeded(verifyOne<JobOp>(*this, true)) &&
                 succeeded(verifyOne<SpaceOp>(*this, false)) && succeeded(verifyOne<CostsOp>(*this, false)));
}

LogicalResult ClusterOp::verifyRegions() {
  if (failed(verifyChildren(*this, {ClassOp::getOperationName(), DomainOp::getOperationName()})))
    return failure();
  llvm::StringSet<> classes, domains;
  for (ClassOp op : getBody().getOps<ClassOp>())
    if (!classes.insert(op.getName()).second)
      return op.emitOpError() << "device class \"" << op.getName() << "\" is defined twice";
  for (DomainOp op : getBody().getOps<DomainOp>()) {
    if (domains.empty() && op.getParent())
      return op.emitOpError("is the first domain, the root, and cannot be `in` another");
    if (!domains.empty() && !op.getParent())
      return op.emitOpError() << "domain \"" << op.getName() << "\" names no parent; only the first domain is a root";
    if (op.getParent() && !domains.contains(*op.getParent()))
      return op.emitOpError() << "parent \"" << *op.getParent() << "\" is not a domain above this one";
    if (op.getDeviceClass() && !classes.contains(*op.getDeviceClass()))
      return op.emitOpError() << "device class \"" << *op.getDeviceClass() << "\" is not defined in this cluster";
    if (op.getDeviceClass().has_value() != (op.getDevices() > 0))
      return op.emitOpError("holds devices only with both `class` and `devices`");
    if (!domains.insert(op.getName()).second)
      return op.emitOpError() << "domain \"" << op.getName() << "\" is defined twice";
  }
  if (domains.empty())
    return emitOpError("has no domain; a cluster needs at least one plan.domain");
  return success();
}

LogicalResult JobOp::verify() {
  if (getGlobalBatch() < 1 || getSeqLen() < 1)
    return emitOpError("global_batch counts sequences, seq_len tokens; both are at least 1");
  return success();
}

LogicalResult SpaceOp::verify() {
  for (auto [name, list] : {std::pair("tp", getTp()), std::pair("pp", getPp()), std::pair("dp", getDp()),
                            std::pair("micro_batch", getMicroBatch())})
    for (int64_t value : list.value_or(ArrayRef<int64_t>()))
      if (value < 1 || value > std::numeric_limits<uint32_t>::max())
        return emitOpError() << name << " lists " << value << "; degrees are at least 1 and fit 32 bits";
  return success();
}

/// Fails unless every named number is finite and not negative.
static LogicalResult verifySeconds(Operation *op, ArrayRef<std::pair<StringRef, APFloat>> numbers) {
  for (const auto &[name, value] : numbers)
    if (value.isNegative() || !value.isFinite())
      return op->emitOpError() << name << " is " << value.convertToDouble() << "; it is finite and not negative";
  return success();
}

LogicalResult CostsOp::verify() {
  for (FloatAttr factor : getSlowdown().value_or(ArrayAttr::get(getContext(), {})).getAsRange<FloatAttr>())
    if (!(factor.getValueAsDouble() > 0))
      return emitOpError() << "slowdown lists " << factor.getValueAsDouble() << "; factors are positive";
  return verifySeconds(*this, {{"boundary", getBoundary()}, {"latency", getLatency()}, {"tail", getTail()}});
}

LogicalResult CostsOp::verifyRegions() { return verifyChildren(*this, {CostOp::getOperationName()}); }

LogicalResult CostOp::verify() {
  if (getTp() == 0)
    return emitOpError("tp is 0; a degree is at least 1");
  return verifySeconds(*this, {{"forward", getForward()},
                               {"backward_input", getBackwardInput()},
                               {"backward_weight", getBackwardWeight()}});
}

LogicalResult ExpectOp::verify() {
  auto module = (*this)->getParentOfType<ModuleOp>();
  if (!module || !isa_and_present<SolutionOp>(SymbolTable::lookupSymbolIn(module, getSolutionAttr())))
    return emitOpError() << getSolutionAttr() << " is not a plan.solution of this module";
  return success();
}

} // namespace plait::plan

#define GET_OP_CLASSES
#include "dialects/plan/ProblemOps.cpp.inc"
