#include "dialects/plan/Syntax.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/plan/PlanDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttrs.cpp.inc"

namespace plait::plan {

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/plan/PlanAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/plan/SolutionOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/plan/ProblemOps.cpp.inc"
      >();
}

Attribute AxisUseAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<AxisUseAttr> use = parseAxisUse(parser);
  if (failed(use) || parser.parseGreater())
    return {};
  return *use;
}

void AxisUseAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxisUse(printer, *this);
  printer << ">";
}

} // namespace plait::plan
