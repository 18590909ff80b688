// Form of a solution: every number can be read, every index exists. Whether the plan is legal is decided by the rules.
#include "dialects/plan/Syntax.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace plait::plan {

static ParseResult parseAxisUses(OpAsmParser &parser, ArrayAttr &uses) {
  SmallVector<Attribute> list;
  auto parseOne = [&]() -> ParseResult {
    FailureOr<AxisUseAttr> use = parseAxisUse(parser);
    if (failed(use))
      return failure();
    list.push_back(*use);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  uses = parser.getBuilder().getArrayAttr(list);
  return success();
}

static void printAxisUses(OpAsmPrinter &printer, Operation *, ArrayAttr uses) {
  printer << "[";
  llvm::interleaveComma(uses.getAsRange<AxisUseAttr>(), printer, [&](AxisUseAttr use) { printAxisUse(printer, use); });
  printer << "]";
}

LogicalResult SolutionOp::verify() {
  if (getMicroBatch() < 1)
    return emitOpError() << "micro_batch is " << getMicroBatch() << "; it counts sequences and is at least 1";
  return success();
}

LogicalResult SolutionOp::verifyRegions() {
  if (failed(verifyChildren(*this, {ReplicaOp::getOperationName(), OverrideOp::getOperationName()})))
    return failure();
  if (getBody().getOps<ReplicaOp>().empty())
    return emitOpError("has no replica; a plan needs at least one plan.replica");
  return success();
}

LogicalResult ReplicaOp::verify() {
  if (getCopies() == 0)
    return emitOpError("has 0 copies; leave `copies` out for one");
  if (getCopies() > 1 && getCopyStride() == 0)
    return emitOpError() << "puts " << getCopies() << " copies on the same devices; give copy_stride";
  return success();
}

LogicalResult ReplicaOp::verifyRegions() {
  if (failed(verifyChildren(*this, {StageOp::getOperationName()})))
    return failure();
  if (getBody().front().empty())
    return emitOpError("has no stage; a replica needs at least one plan.stage");
  return success();
}

LogicalResult StageOp::verify() {
  if (getCount() == 0)
    return emitOpError("has no device; count is at least 1");
  if (getCount() > 1 && getStride() == 0)
    return emitOpError() << "names one device " << getCount() << " times; stride is at least 1";
  if (getFirstUse() >= getEndUse())
    return emitOpError() << "uses " << getFirstUse() << " to " << getEndUse()
                         << " is empty; `uses A to B` runs A, ..., B - 1 of the chain";
  return success();
}

LogicalResult StageOp::verifyRegions() {
  if (failed(verifyChildren(*this, {MapOp::getOperationName()})))
    return failure();
  llvm::StringMap<Location> seen;
  for (MapOp map : getBody().getOps<MapOp>()) {
    auto [first, inserted] = seen.try_emplace(map.getSegment(), map.getLoc());
    if (inserted)
      continue;
    InFlightDiagnostic diagnostic = map.emitOpError();
    diagnostic << "segment \"" << map.getSegment() << "\" has two maps in one stage";
    diagnostic.attachNote(first->second) << "first map is here";
    return diagnostic;
  }
  return success();
}

LogicalResult MapOp::verify() {
  if (getUses().empty())
    return emitOpError("splits no factor; leave the map out to replicate the segment");
  llvm::StringSet<> seen;
  for (AxisUseAttr use : getUses().getAsRange<AxisUseAttr>()) {
    if (!seen.insert(use.getFactor()).second)
      return emitOpError() << "splits factor \"" << use.getFactor() << "\" twice";
    int64_t previous = 0;
    for (int64_t cut : use.getCuts()) {
      if (cut <= previous)
        return emitOpError() << "cuts [" << use.getCuts() << "] of factor \"" << use.getFactor()
                             << "\" do not ascend from 1; they are interior boundaries in units of the factor";
      previous = cut;
    }
  }
  return success();
}

LogicalResult OverrideOp::verify() {
  auto solution = cast<SolutionOp>((*this)->getParentOp());
  auto replicas = llvm::to_vector(solution.getBody().getOps<ReplicaOp>());
  for (auto [word, index] : {std::pair("replica", getReplica()), std::pair("executor", getExecutor())})
    if (index >= replicas.size())
      return emitOpError() << word << " " << index << " does not exist; the solution has " << replicas.size()
                           << " replicas, numbered from 0";
  for (uint32_t index : {getReplica(), getExecutor()}) {
    size_t stages = llvm::range_size(replicas[index].getBody().front());
    if (getStage() >= stages)
      return emitOpError() << "stage " << getStage() << " does not exist; replica " << index << " has " << stages
                           << " stages, numbered from 0";
  }
  return success();
}

} // namespace plait::plan

#define GET_OP_CLASSES
#include "dialects/plan/SolutionOps.cpp.inc"
