// Structure ops: signature syntax, verifiers, symbol uses.
#include "dialects/model/Model.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace plait::model;

// ---- Signature: (%x: t) params(%w: t) saved(%s: t) carried(%c: t) { ... } -----------------------------------------

static constexpr std::array<StringLiteral, 4> kGroupKeywords = {"", "params", "saved", "carried"};

static ParseResult parseBlockSignature(OpAsmParser &parser, Region &body, DenseI32ArrayAttr &groupSizes,
                                       ArrayAttr &names) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<int32_t> sizes;
  for (StringRef keyword : kGroupKeywords) {
    size_t before = arguments.size();
    if (keyword.empty() || succeeded(parser.parseOptionalKeyword(keyword)))
      if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true))
        return failure();
    sizes.push_back(arguments.size() - before);
  }
  SmallVector<StringRef> argumentNames;
  for (OpAsmParser::Argument &argument : arguments)
    argumentNames.push_back(argument.ssaName.name.drop_front());
  groupSizes = parser.getBuilder().getDenseI32ArrayAttr(sizes);
  names = parser.getBuilder().getStrArrayAttr(argumentNames);
  return parser.parseRegion(body, arguments);
}

static void printBlockSignature(OpAsmPrinter &printer, BlockDefOp op, Region &body, DenseI32ArrayAttr groupSizes,
                                ArrayAttr) {
  ArrayRef<BlockArgument> rest = body.getArguments();
  for (auto [keyword, size] : llvm::zip(kGroupKeywords, groupSizes.asArrayRef())) {
    size_t count = std::min<size_t>(std::max(size, 0), rest.size());
    if (count > 0 || keyword.empty()) {
      printer << (keyword.empty() ? "" : " ") << keyword << "(";
      llvm::interleaveComma(rest.take_front(count), printer, [&](BlockArgument a) { printer.printRegionArgument(a); });
      printer << ")";
    }
    rest = rest.drop_front(count);
  }
  printer << " ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

#define GET_OP_CLASSES
#include "dialects/model/StructureOps.cpp.inc"

namespace plait::model {

// ---- Parameters ----------------------------------------------------------------------------------------------------

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    if (size <= 0 || __builtin_mul_overflow(result, size, &result))
      return -1;
  return result;
}

LogicalResult ParamOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  int64_t elements = type.hasStaticShape() ? product(type.getShape()) : -1;
  if (elements < 0)
    return emitOpError("needs positive static sizes whose product fits 64 bits, got ") << type;
  if (!std::isfinite(getInitStd()) || getInitStd() < 0)
    return emitOpError("init_std must be finite and not negative");
  bool sizes = getHfSizes().has_value(), strides = getHfStrides().has_value();
  if (sizes != strides)
    return emitOpError("needs both hf_sizes and hf_strides or neither");
  if (!sizes)
    return success();
  if (getHfSizes()->size() != getHfStrides()->size())
    return emitOpError("hf_sizes and hf_strides must be equally long");
  if (product(*getHfSizes()) != elements)
    return emitOpError("hf_sizes must have as many elements as ") << type;
  return success();
}

// ---- Block definitions ---------------------------------------------------------------------------------------------

void BlockDefOp::build(OpBuilder &builder, OperationState &state, StringRef name, BlockPhase phase,
                       ArrayRef<int32_t> groupSizes, ArrayRef<StringRef> argumentNames, TypeRange argumentTypes,
                       StringRef variant, StringRef of) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.sym_name = builder.getStringAttr(name);
  properties.phase = BlockPhaseAttr::get(builder.getContext(), phase);
  if (!variant.empty())
    properties.variant = builder.getStringAttr(variant);
  if (!of.empty())
    properties.of = FlatSymbolRefAttr::get(builder.getContext(), of);
  properties.group_sizes = builder.getDenseI32ArrayAttr(groupSizes);
  properties.argument_names = builder.getStrArrayAttr(argumentNames);
  Block &block = state.addRegion()->emplaceBlock();
  for (Type type : argumentTypes)
    block.addArgument(type, state.location);
}

Block::BlockArgListType BlockDefOp::group(Group which) {
  ArrayRef<int32_t> sizes = getGroupSizes();
  int32_t begin = 0;
  for (int i = 0; i < which; ++i)
    begin += sizes[i];
  return getBody().getArguments().slice(begin, sizes[which]);
}

StringRef BlockDefOp::argumentName(unsigned index) { return cast<StringAttr>(getArgumentNames()[index]).getValue(); }

Value BlockDefOp::input(StringRef name) {
  for (BlockArgument argument : group(Inputs))
    if (argumentName(argument.getArgNumber()) == name)
      return argument;
  return {};
}

YieldOp BlockDefOp::yield() { return cast<YieldOp>(getBody().front().getTerminator()); }

void BlockDefOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (auto [argument, name] : llvm::zip(region.getArguments(), getArgumentNames()))
    if (auto text = dyn_cast<StringAttr>(name))
      setName(argument, text.getValue());
}

LogicalResult BlockDefOp::verify() {
  ArrayRef<int32_t> sizes = getGroupSizes();
  if (sizes.size() != 4 || llvm::any_of(sizes, [](int32_t size) { return size < 0; }))
    return emitOpError("group_sizes must be four numbers that are not negative");
  size_t total = 0;
  for (int32_t size : sizes)
    total += size;
  if (total != getBody().getNumArguments() || total != getArgumentNames().size())
    return emitOpError("group_sizes and argument_names must describe the ") << getBody().getNumArguments()
                                                                            << " arguments";
  if (getOf().has_value() != getVariant().has_value())
    return emitOpError("needs both 'variant' and 'of', as a made definition has, or neither, as an imported one");
  if (isSource() && (getPhase() != BlockPhase::Forward || sizes[Saved] + sizes[Carried] != 0))
    return emitOpError("without 'of' must be a forward phase without saved or carried arguments");
  if (getVariant() && !llvm::is_contained({"none", "selective", "full"}, *getVariant()))
    return emitOpError("has unknown variant '") << *getVariant() << "'; known are none, selective, full";
  return success();
}

/// Inputs are known by name; each name has its type.
static LogicalResult verifyInputs(BlockDefOp op) {
  bool backward = op.getPhase() != BlockPhase::Forward;
  llvm::SmallDenseSet<StringRef> seen;
  for (BlockArgument argument : op.group(BlockDefOp::Inputs)) {
    StringRef name = op.argumentName(argument.getArgNumber());
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    bool known = llvm::is_contained({"x", "tokens", "labels", "loss_scale"}, name) || (backward && name == "dy");
    if (!known)
      return op.emitOpError("has unknown input '") << name << "'; known are x, tokens, labels, loss_scale"
                                                   << (backward ? ", dy" : "");
    if (!seen.insert(name).second)
      return op.emitOpError("has two inputs '") << name << "'";
    bool ids = name == "tokens" || name == "labels", scalar = name == "loss_scale";
    bool fits = type && (ids ? type.getElementType().isInteger(32) : type.getElementType().isF32()) &&
                (!scalar || (type.getRank() == 1 && type.getDimSize(0) == 1));
    if (!fits)
      return op.emitOpError("input '") << name << "' must be " << (ids ? "a tensor of i32" : scalar ? "tensor<1xf32>" : "a tensor of f32")
                                       << ", got " << argument.getType();
  }
  return success();
}

LogicalResult BlockDefOp::verifyRegions() {
  if (getBody().front().empty() || !isa<YieldOp>(getBody().front().back()))
    return emitOpError("must end with model.yield");
  for (Operation &op : getBody().front().without_terminator())
    if (!isa<ComputeOpInterface>(op))
      return op.emitOpError("is not a computing op of the model dialect");
  for (BlockArgument argument : group(Params)) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !type.hasStaticShape() || !type.getElementType().isF32())
      return emitOpError("parameter '") << argumentName(argument.getArgNumber())
                                        << "' must be a static tensor of f32, got " << argument.getType();
  }
  YieldOp yield = this->yield();
  if (yield.getOutputs().size() > 1)
    return yield.emitOpError("must yield one output at most");
  if (getPhase() == BlockPhase::Forward && yield.getOutputs().empty())
    return yield.emitOpError("of a forward phase must yield y or the loss");
  return verifyInputs(*this);
}

// ---- Uses ----------------------------------------------------------------------------------------------------------

LogicalResult UseOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto def = symbols.lookupNearestSymbolFrom<BlockDefOp>(*this, getBlockAttr());
  if (!def)
    return emitOpError("uses unknown block ") << getBlockAttr();
  if (!def.isSource())
    return emitOpError("must use an imported definition, not ") << getBlockAttr() << ", which is made from "
                                                                << def.getOfAttr();
  auto wanted = def.group(BlockDefOp::Params);
  if (wanted.size() != getParams().size()) {
    InFlightDiagnostic error = emitOpError("gives ") << getParams().size() << " parameters, " << getBlockAttr()
                                                     << " has " << wanted.size();
    error.attachNote(def.getLoc()) << "defined here";
    return error;
  }
  for (auto [attribute, argument] : llvm::zip(getParams(), wanted)) {
    auto reference = cast<FlatSymbolRefAttr>(attribute);
    auto param = symbols.lookupNearestSymbolFrom<ParamOp>(*this, reference);
    if (!param)
      return emitOpError("uses unknown parameter ") << reference;
    if (param.getType() != argument.getType())
      return emitOpError("parameter ") << reference << " has type " << param.getType() << ", "
                                       << getBlockAttr() << " needs " << argument.getType() << " for '"
                                       << def.argumentName(argument.getArgNumber()) << "'";
  }
  if (getLayer() && *getLayer() < 0)
    return emitOpError("layer must not be negative");
  return success();
}

} // namespace plait::model
