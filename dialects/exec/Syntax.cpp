#include "dialects/exec/Syntax.h"
#include "runtime/plan/Kernels.h"

using namespace mlir;

namespace plait::exec {

/// A catalogue of names, numbered from 1.
namespace {
struct Catalogue {
  StringRef what;
  uint32_t (*numberOf)(std::string_view name); ///< 0: there is no such name
  std::string_view (*nameOf)(uint32_t number); ///< a text that numberOf does not know: there is no such number
};
} // namespace

static StringRef nearestName(const Catalogue &catalogue, StringRef name) {
  StringRef nearest;
  for (uint32_t number = 1; catalogue.numberOf(catalogue.nameOf(number)) == number; ++number) {
    StringRef known = catalogue.nameOf(number);
    if (nearest.empty() || known.edit_distance(name) < nearest.edit_distance(name))
      nearest = known;
  }
  return nearest;
}

/// A quoted name, or a number.
static ParseResult parseCatalogued(OpAsmParser &parser, IntegerAttr &attr, const Catalogue &catalogue) {
  uint32_t number = 0;
  SMLoc loc = parser.getCurrentLocation();
  std::string name;
  if (succeeded(parser.parseOptionalString(&name))) {
    number = catalogue.numberOf(name);
    if (number == 0)
      return parser.emitError(loc) << "there is no " << catalogue.what << " \"" << name << "\"; the nearest is \""
                                   << nearestName(catalogue, name) << "\"";
  } else if (parser.parseInteger(number)) {
    return failure();
  }
  attr = IntegerAttr::get(IntegerType::get(parser.getContext(), 32, IntegerType::Unsigned), APInt(32, number));
  return success();
}

/// Prints the name if it reads back as the same number.
static void printCatalogued(OpAsmPrinter &printer, IntegerAttr attr, const Catalogue &catalogue) {
  uint64_t number = attr.getValue().getZExtValue();
  std::string_view name = catalogue.nameOf(number);
  if (number != 0 && catalogue.numberOf(name) == number)
    printer << '"' << StringRef(name) << '"';
  else
    printer << number;
}

static const Catalogue kKernels = {
    "kernel", [](std::string_view name) { return static_cast<uint32_t>(kernelByName(name)); },
    [](uint32_t number) { return kernelName(static_cast<Kernel>(number)); }};
static const Catalogue kPointwise = {
    "pointwise operation", [](std::string_view name) { return static_cast<uint32_t>(pointwiseOpByName(name)); },
    [](uint32_t number) { return pointwiseOpName(static_cast<plait::PointwiseOp>(number)); }};

ParseResult parseKernel(OpAsmParser &parser, IntegerAttr &attr) { return parseCatalogued(parser, attr, kKernels); }
void printKernel(OpAsmPrinter &printer, Operation *, IntegerAttr attr) { printCatalogued(printer, attr, kKernels); }

ParseResult parsePointwiseName(OpAsmParser &parser, IntegerAttr &attr) {
  return parseCatalogued(parser, attr, kPointwise);
}

void printPointwiseName(OpAsmPrinter &printer, Operation *, IntegerAttr attr) {
  printCatalogued(printer, attr, kPointwise);
}

ParseResult parseWords(OpAsmParser &parser, ArrayAttr &attr) {
  SmallVector<Attribute> words;
  auto parseWord = [&]() -> ParseResult {
    std::string word;
    if (parser.parseKeywordOrString(&word))
      return failure();
    words.push_back(parser.getBuilder().getStringAttr(word));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseWord))
    return failure();
  attr = parser.getBuilder().getArrayAttr(words);
  return success();
}

void printWords(OpAsmPrinter &printer, Operation *, ArrayAttr words) {
  printer << "(";
  llvm::interleaveComma(words.getAsRange<StringAttr>(), printer,
                        [&](StringAttr word) { printer.printKeywordOrString(word); });
  printer << ")";
}

} // namespace plait::exec
