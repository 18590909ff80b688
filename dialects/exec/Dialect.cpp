#include "dialects/exec/Exec.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/exec/ExecDialect.cpp.inc"
#include "dialects/exec/ExecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttrs.cpp.inc"

namespace plait::exec {

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/exec/ExecAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/PlanOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/RoutineOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/ScheduleOps.cpp.inc"
      >();
}

LogicalResult RankSetAttr::verify(function_ref<InFlightDiagnostic()> emitError, uint32_t, ArrayRef<int64_t> counts,
                                  ArrayRef<int64_t> strides, ArrayRef<int64_t> listed) {
  if (counts.size() != strides.size())
    return emitError() << "rank set has " << counts.size() << " counts and " << strides.size() << " strides";
  for (ArrayRef<int64_t> list : {counts, strides, listed})
    for (int64_t value : list)
      if (value < 0 || value > std::numeric_limits<uint32_t>::max())
        return emitError() << "rank set lists " << value << "; its numbers are not negative and fit 32 bits";
  return success();
}

// ---- <2 + 128 [4, 8] strides [16, 1] bf16> ----

Attribute RefAttr::parse(AsmParser &parser, Type) {
  uint32_t slot = 0;
  uint64_t offset = 0;
  SmallVector<int64_t> shape, stride;
  auto parseInts = [&](SmallVector<int64_t> &list, AsmParser::Delimiter delimiter) {
    return parser.parseCommaSeparatedList(delimiter, [&] { return parser.parseInteger(list.emplace_back()); });
  };
  if (parser.parseLess() || parser.parseInteger(slot) ||
      (succeeded(parser.parseOptionalPlus()) && parser.parseInteger(offset)) ||
      parseInts(shape, AsmParser::Delimiter::OptionalSquare) ||
      (succeeded(parser.parseOptionalKeyword("strides")) && parseInts(stride, AsmParser::Delimiter::Square)))
    return {};
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return {};
  std::optional<DType> type = symbolizeDType(word);
  if (!type) {
    parser.emitError(loc) << "there is no element type '" << word << "'; types are f32, bf16, f16, f64, i32, none";
    return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), slot, offset, shape, stride, *type);
}

void RefAttr::print(AsmPrinter &printer) const {
  printer << "<" << getSlot();
  if (getOffset() != 0)
    printer << " + " << getOffset();
  if (!getShape().empty())
    printer << " [" << getShape() << "]";
  if (!getStride().empty())
    printer << " strides [" << getStride() << "]";
  printer << " " << stringifyDType(getDtype()) << ">";
}

// ---- <64 + 32 * axis 0> ----

Attribute OffsetAttr::parse(AsmParser &parser, Type) {
  int64_t constant = 0, perCoord = 0;
  uint32_t axis = 0;
  if (parser.parseLess() || parser.parseInteger(constant))
    return {};
  if (succeeded(parser.parseOptionalPlus()) &&
      (parser.parseInteger(perCoord) || parser.parseStar() || parser.parseKeyword("axis") || parser.parseInteger(axis)))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), constant, perCoord, axis);
}

void OffsetAttr::print(AsmPrinter &printer) const {
  printer << "<" << getConstant();
  if (getPerCoord() != 0 || getAxis() != 0)
    printer << " + " << getPerCoord() << " * axis " << getAxis();
  printer << ">";
}

// ---- <send channel 1 port 0 offset 64 bytes 32> ----

/// Reads `word N` if it stands next, else leaves `value`.
template <typename T> static ParseResult parseOptionalField(AsmParser &parser, StringRef word, T &value) {
  return failed(parser.parseOptionalKeyword(word)) ? success() : parser.parseInteger(value);
}

Attribute P2pAttr::parse(AsmParser &parser, Type) {
  uint32_t channel = 0, port = 0;
  uint64_t offset = 0, bytes = 0;
  if (parser.parseLess())
    return {};
  bool send = succeeded(parser.parseOptionalKeyword("send"));
  if ((!send && parser.parseKeyword("recv", " or `send`")) || parser.parseKeyword("channel") ||
      parser.parseInteger(channel) || parser.parseKeyword("port") || parser.parseInteger(port) ||
      parseOptionalField(parser, "offset", offset) || parseOptionalField(parser, "bytes", bytes) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), send, channel, port, offset, bytes);
}

void P2pAttr::print(AsmPrinter &printer) const {
  printer << "<" << (getSend() ? "send" : "recv") << " channel " << getChannel() << " port " << getPort();
  if (getOffset() != 0)
    printer << " offset " << getOffset();
  if (getBytes() != 0)
    printer << " bytes " << getBytes();
  printer << ">";
}

// ---- <1024 rows 4 of 8 stride 16 decay> ----

Attribute PieceAttr::parse(AsmParser &parser, Type) {
  uint64_t offset = 0, rows = 0, elements = 0, stride = 0;
  if (parser.parseLess() || parser.parseInteger(offset) || parser.parseKeyword("rows") || parser.parseInteger(rows) ||
      parser.parseKeyword("of") || parser.parseInteger(elements) || parseOptionalField(parser, "stride", stride))
    return {};
  bool decay = succeeded(parser.parseOptionalKeyword("decay"));
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), offset, rows, elements, stride, decay);
}

void PieceAttr::print(AsmPrinter &printer) const {
  printer << "<" << getOffset() << " rows " << getRows() << " of " << getRowElements();
  if (getRowStride() != 0)
    printer << " stride " << getRowStride();
  printer << (getDecay() ? " decay>" : ">");
}

} // namespace plait::exec
