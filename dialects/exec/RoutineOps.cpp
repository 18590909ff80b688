// Form of routines and programs: every slot and operand that is named exists.
#include "dialects/exec/Syntax.h"
#include "runtime/plan/Kernels.h"

using namespace mlir;

namespace plait::exec {

static ParseResult parseRefs(OpAsmParser &parser, ArrayAttr &list) { return parseShortList<RefAttr>(parser, list); }
static void printRefs(OpAsmPrinter &printer, Operation *, ArrayAttr list) { printShortList<RefAttr>(printer, list); }
static ParseResult parseOffsets(OpAsmParser &parser, ArrayAttr &list) {
  return parseShortList<OffsetAttr>(parser, list);
}
static void printOffsets(OpAsmPrinter &printer, Operation *, ArrayAttr list) {
  printShortList<OffsetAttr>(printer, list);
}

LogicalResult PointwiseOp::verify() {
  for (StringAttr input : getInputs().getAsRange<StringAttr>())
    if (input != "element" && input != "row")
      return emitOpError() << "input is " << input << "; an input is element or row";
  return success();
}

LogicalResult PointwiseOp::verifyRegions() {
  if (failed(plan::verifyChildren(*this, {ComputeOp::getOperationName()})))
    return failure();
  int64_t known = getInputs().size();
  for (ComputeOp op : getBody().getOps<ComputeOp>()) {
    auto kind = static_cast<plait::PointwiseOp>(op.getOp());
    if (pointwiseOpByName(pointwiseOpName(kind)) != kind || kind == plait::PointwiseOp::None)
      return op.emitOpError() << "there is no pointwise operation " << op.getOp();
    if (op.getArgs().size() != pointwiseArity(kind))
      return op.emitOpError() << StringRef(pointwiseOpName(kind)) << " takes " << pointwiseArity(kind)
                              << " operands, not " << op.getArgs().size();
    for (int64_t arg : op.getArgs())
      if (arg < 0 || arg >= known)
        return op.emitOpError() << "operand " << arg << " is not computed yet; " << known << " values are";
    ++known;
  }
  for (int64_t output : getOutputs())
    if (output < 0 || output >= known)
      return emitOpError() << "output " << output << " does not exist; there are " << known << " values";
  return success();
}

/// Fails if `ref` names a slot that the routine of `op` lacks.
static LogicalResult verifySlot(Operation *op, RefAttr ref, size_t slots) {
  if (!ref || ref.getSlot() < slots)
    return success();
  return op->emitOpError() << "slot " << ref.getSlot() << " does not exist; the routine has " << slots
                           << " slots, numbered from 0";
}

LogicalResult RoutineOp::verifyRegions() {
  if (failed(plan::verifyChildren(*this, {SlotOp::getOperationName(), LaunchOp::getOperationName(),
                                          BatchOp::getOperationName(), ZeroOp::getOperationName(),
                                          CopyOp::getOperationName()})))
    return failure();
  size_t slots = llvm::range_size(getBody().getOps<SlotOp>());
  WalkResult result = getBody().walk([&](Operation *op) -> WalkResult {
    SmallVector<RefAttr> refs;
    if (auto launch = dyn_cast<LaunchOp>(op))
      llvm::append_range(refs, launch.getRefs().getAsRange<RefAttr>());
    else if (auto collective = dyn_cast<CollectiveOp>(op))
      refs = {collective.getInAttr(), collective.getOutAttr()};
    else if (auto zero = dyn_cast<ZeroOp>(op))
      refs = {zero.getRef()};
    else if (auto copy = dyn_cast<CopyOp>(op))
      refs = {copy.getFromAttr(), copy.getToAttr()};
    for (RefAttr ref : refs)
      if (failed(verifySlot(op, ref, slots)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult BatchOp::verifyRegions() { return plan::verifyChildren(*this, {CollectiveOp::getOperationName()}); }

LogicalResult ProgramOp::verifyRegions() { return plan::verifyChildren(*this, {CallOp::getOperationName()}); }

} // namespace plait::exec

#define GET_OP_CLASSES
#include "dialects/exec/RoutineOps.cpp.inc"
