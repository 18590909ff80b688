#include "dialects/plan/Syntax.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;

namespace plait::plan {

FailureOr<AxisUseAttr> parseAxisUse(AsmParser &parser) {
  std::string factor;
  SmallVector<int64_t> cuts;
  if (parser.parseKeywordOrString(&factor))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("cuts")) &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(cuts.emplace_back()); }))
    return failure();
  return AxisUseAttr::get(parser.getContext(), factor, cuts);
}

void printAxisUse(AsmPrinter &printer, AxisUseAttr use) {
  printer.printKeywordOrString(use.getFactor());
  if (!use.getCuts().empty())
    printer << " cuts [" << use.getCuts() << "]";
}

ParseResult parseOptionalBody(OpAsmParser &parser, Region &body) {
  OptionalParseResult parsed = parser.parseOptionalRegion(body);
  if (parsed.has_value() && failed(*parsed))
    return failure();
  if (body.empty())
    body.emplaceBlock();
  return success();
}

void printOptionalBody(OpAsmPrinter &printer, Operation *, Region &body) {
  if (body.empty() || body.front().empty())
    return;
  printer << " ";
  printer.printRegion(body);
}

namespace {
struct Unit {
  StringRef name;
  uint64_t bytes;
};
// Binary units first, largest first: the printer takes the first that divides.
constexpr uint64_t kKi = 1024, kK = 1000;
const Unit kUnits[] = {{"TiB", kKi * kKi *kKi *kKi}, {"GiB", kKi *kKi *kKi}, {"MiB", kKi *kKi}, {"KiB", kKi},
                       {"TB", kK * kK *kK *kK},      {"GB", kK *kK *kK},     {"MB", kK *kK},    {"kB", kK},
                       {"B", 1}};
} // namespace

ParseResult parseBytes(OpAsmParser &parser, IntegerAttr &attr) {
  SMLoc loc = parser.getCurrentLocation();
  uint64_t count = 0;
  if (parser.parseInteger(count))
    return failure();
  StringRef name;
  for (const Unit &unit : kUnits)
    if (succeeded(parser.parseOptionalKeyword(unit.name))) {
      std::optional<uint64_t> bytes = llvm::checkedMulUnsigned(count, unit.bytes);
      if (!bytes)
        return parser.emitError(loc) << count << " " << unit.name << " does not fit 64 bits";
      count = *bytes;
      break;
    }
  attr = IntegerAttr::get(IntegerType::get(parser.getContext(), 64, IntegerType::Unsigned), APInt(64, count));
  return success();
}

void printBytes(OpAsmPrinter &printer, Operation *, IntegerAttr attr) {
  uint64_t count = attr.getValue().getZExtValue();
  for (const Unit &unit : ArrayRef(kUnits).take_front(4))
    if (count != 0 && count % unit.bytes == 0) {
      printer << count / unit.bytes << " " << unit.name;
      return;
    }
  printer << count;
}

LogicalResult verifyChildren(Operation *op, ArrayRef<StringRef> allowed) {
  for (Operation &child : op->getRegion(0).front())
    if (!llvm::is_contained(allowed, child.getName().getStringRef()))
      return child.emitOpError() << "cannot stand in " << op->getName() << ", which holds "
                                 << llvm::join(allowed, ", ");
  return success();
}

} // namespace plait::plan
