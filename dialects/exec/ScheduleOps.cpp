#include "dialects/exec/Syntax.h"

using namespace mlir;

namespace plait::exec {

static ParseResult parseP2ps(OpAsmParser &parser, ArrayAttr &list) { return parseShortList<P2pAttr>(parser, list); }
static void printP2ps(OpAsmPrinter &printer, Operation *, ArrayAttr list) { printShortList<P2pAttr>(printer, list); }
static ParseResult parsePieces(OpAsmParser &parser, ArrayAttr &list) { return parseShortList<PieceAttr>(parser, list); }
static void printPieces(OpAsmPrinter &printer, Operation *, ArrayAttr list) {
  printShortList<PieceAttr>(printer, list);
}
static ParseResult parseOffsets(OpAsmParser &parser, ArrayAttr &list) {
  return parseShortList<OffsetAttr>(parser, list);
}
static void printOffsets(OpAsmPrinter &printer, Operation *, ArrayAttr list) {
  printShortList<OffsetAttr>(printer, list);
}

LogicalResult SyncOp::verify() {
  for (int64_t member : getSilent())
    if (member < 0 || member > std::numeric_limits<uint32_t>::max())
      return emitOpError() << "silent lists member " << member << "; members are not negative and fit 32 bits";
  return success();
}

LogicalResult ScheduleOp::verifyRegions() {
  if (failed(plan::verifyChildren(*this, {TaskOp::getOperationName()})))
    return failure();
  int64_t index = 0;
  for (TaskOp task : getBody().getOps<TaskOp>()) {
    for (int64_t dep : task.getDeps())
      if (dep < 0 || dep >= index)
        return task.emitOpError() << "task " << index << " waits for task " << dep
                                  << ", which does not stand before it";
    ++index;
  }
  return success();
}

LogicalResult RoleOp::verifyRegions() {
  return plan::verifyChildren(*this, {FrameOp::getOperationName(), PortOp::getOperationName(),
                                      SyncPartOp::getOperationName(), ResidenceOp::getOperationName(),
                                      ComponentOp::getOperationName()});
}

} // namespace plait::exec

#define GET_OP_CLASSES
#include "dialects/exec/ScheduleOps.cpp.inc"
