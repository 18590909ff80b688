// Parts of the assembly that several ops of the exec dialect share; used by the generated parsers and printers.
#ifndef PLAIT_DIALECTS_EXEC_SYNTAX_H
#define PLAIT_DIALECTS_EXEC_SYNTAX_H

#include "dialects/exec/Exec.h"
#include "dialects/plan/Syntax.h"

namespace plait::exec {

using plan::parseOptionalBody;
using plan::printOptionalBody;

/// `[<...>, <...>]`: a list of one attribute, without its dialect prefix.
template <typename Attr> mlir::ParseResult parseShortList(mlir::OpAsmParser &parser, mlir::ArrayAttr &list) {
  llvm::SmallVector<mlir::Attribute> entries;
  auto parseEntry = [&]() -> mlir::ParseResult {
    entries.push_back(Attr::parse(parser, mlir::Type()));
    return mlir::success(entries.back() != nullptr);
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square, parseEntry))
    return mlir::failure();
  list = parser.getBuilder().getArrayAttr(entries);
  return mlir::success();
}

template <typename Attr> void printShortList(mlir::OpAsmPrinter &printer, mlir::ArrayAttr list) {
  printer << "[";
  llvm::interleaveComma(list.getAsRange<Attr>(), printer, [&](Attr entry) { entry.print(printer); });
  printer << "]";
}

/// A number of the catalogue of Kernels.h as its name, or as the number where it has none.
mlir::ParseResult parseKernel(mlir::OpAsmParser &, mlir::IntegerAttr &);
void printKernel(mlir::OpAsmPrinter &, mlir::Operation *, mlir::IntegerAttr);
mlir::ParseResult parsePointwiseName(mlir::OpAsmParser &, mlir::IntegerAttr &);
void printPointwiseName(mlir::OpAsmPrinter &, mlir::Operation *, mlir::IntegerAttr);

/// `(element, row)`.
mlir::ParseResult parseWords(mlir::OpAsmParser &, mlir::ArrayAttr &);
void printWords(mlir::OpAsmPrinter &, mlir::Operation *, mlir::ArrayAttr);

} // namespace plait::exec

#endif
