#include "passes/analyze/Numbering.h"

using namespace mlir;
using namespace plait::model;

namespace plait {

/// Innermost name of a location, past the wrapping of gradient ops; empty if it has none.
static std::string nameOf(Location location) {
  std::string name;
  for (auto named = dyn_cast<NameLoc>(location); named; named = dyn_cast<NameLoc>(named.getChildLoc()))
    if (named.getName() != "grad")
      name = named.getName().str();
  return name;
}

static ElementKind kindOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (!tensor.getElementType().isF32())
    return ElementKind::Index;
  return tensor.getRank() == 1 && tensor.getDimSize(0) == 1 ? ElementKind::Scalar : ElementKind::Activation;
}

Id Numbering::newValue(std::string name, Type type, ElementKind kind) {
  values.push_back({std::move(name), kind, {}});
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  shapes.emplace_back(shape.begin(), shape.end());
  return values.size() - 1;
}

Id Numbering::input(const std::string &name) const {
  auto found = inputs.find(name);
  return found == inputs.end() ? kNone : found->second;
}

const NumberedPhase *Numbering::find(BlockPhase phase, StringRef variant) const {
  for (const NumberedPhase &candidate : phases)
    if (BlockDefOp(candidate.def).getPhase() == phase && BlockDefOp(candidate.def).getVariant() == variant)
      return &candidate;
  return nullptr;
}

/// Gives the values of `list` to the arguments of `group`, position by position.
static LogicalResult mapGroup(BlockDefOp def, BlockDefOp::Group group, StringRef what, const std::vector<Id> *list,
                              llvm::DenseMap<mlir::Value, Id> &ids) {
  auto arguments = def.group(group);
  if (arguments.empty() && !list)
    return mlir::success();
  if (!list || list->size() != arguments.size())
    return def.emitOpError("takes ") << arguments.size() << " " << what << " values, the phase before it leaves "
                                     << (list ? list->size() : 0);
  for (auto [argument, id] : llvm::zip(arguments, *list))
    ids[argument] = id;
  return mlir::success();
}

LogicalResult Numbering::mapArguments(BlockDefOp def, llvm::DenseMap<mlir::Value, Id> &ids) {
  for (BlockArgument argument : def.group(BlockDefOp::Inputs)) {
    std::string name = def.argumentName(argument.getArgNumber()).str();
    auto [found, inserted] = inputs.try_emplace(name, 0);
    if (inserted)
      found->second = newValue(name, argument.getType(), kindOf(argument.getType()));
    ids[argument] = found->second;
  }
  auto paramArguments = def.group(BlockDefOp::Params);
  if (params.empty())
    for (BlockArgument argument : paramArguments)
      params.push_back(newValue(def.argumentName(argument.getArgNumber()).str(), argument.getType(), ElementKind::Param));
  if (failed(mapGroup(def, BlockDefOp::Params, "parameter", &params, ids)))
    return mlir::failure();
  StringRef variant = def.getVariant().value_or("");
  const NumberedPhase *forward = find(BlockPhase::Forward, variant);
  const NumberedPhase *input = find(BlockPhase::BackwardInput, variant);
  if (def.getPhase() == BlockPhase::Forward)
    return mlir::success();
  if (failed(mapGroup(def, BlockDefOp::Saved, "saved", forward ? &forward->saved : nullptr, ids)))
    return mlir::failure();
  if (def.getPhase() != BlockPhase::BackwardWeight)
    return mlir::success();
  return mapGroup(def, BlockDefOp::Carried, "carried", input ? &input->carried : nullptr, ids);
}

FailureOr<size_t> Numbering::number(ComputeOpInterface op, const std::vector<Id> &operands, unsigned occurrence) {
  Key key{op->getName().getAsOpaquePointer(), op->getAttrDictionary().getAsOpaquePointer(), operands, occurrence};
  auto [found, inserted] = known.try_emplace(key, ops.size());
  if (!inserted)
    return found->second;
  FailureOr<BoundRule> rule = bindRule(op);
  if (failed(rule))
    return mlir::failure();
  NumberedOp numbered{op, operands, {}, std::move(*rule), {}};
  std::string mnemonic = op->getName().stripDialect().str();
  std::string prefix = mnemonic + std::to_string(counts[mnemonic]++) + ".";
  for (OpResult result : op->getResults()) {
    const RuleTensor &entry = numbered.rule.rule->result(result.getResultNumber());
    ElementKind kind = entry.statistic ? ElementKind::Statistic : kindOf(result.getType());
    numbered.results.push_back(newValue(prefix + std::string(entry.name), result.getType(), kind));
  }
  std::string role = nameOf(op->getLoc());
  numbered.origin = mnemonic + (role.empty() ? "" : " " + role);
  ops.push_back(std::move(numbered));
  return found->second;
}

LogicalResult Numbering::add(BlockDefOp def) {
  llvm::DenseMap<mlir::Value, Id> ids;
  NumberedPhase phase;
  phase.def = def;
  if (failed(mapArguments(def, ids)))
    return mlir::failure();
  auto idsOf = [&](ValueRange range) {
    std::vector<Id> list;
    for (mlir::Value value : range)
      list.push_back(ids.lookup(value));
    return list;
  };
  std::map<Key, unsigned> occurrences;
  for (Operation &op : def.getBody().front().without_terminator()) {
    std::vector<Id> operands = idsOf(op.getOperands());
    Key key{op.getName().getAsOpaquePointer(), op.getAttrDictionary().getAsOpaquePointer(), operands, 0};
    FailureOr<size_t> index = number(cast<ComputeOpInterface>(op), operands, occurrences[key]++);
    if (failed(index))
      return mlir::failure();
    for (auto [result, id] : llvm::zip(op.getResults(), ops[*index].results))
      ids[result] = id;
    phase.ops.push_back(*index);
  }
  YieldOp yield = def.yield();
  phase.outputs = idsOf(yield.getOutputs());
  phase.saved = idsOf(yield.getSaved());
  phase.carried = idsOf(yield.getCarried());
  phase.grads = idsOf(yield.getGrads());
  phases.push_back(std::move(phase));
  return mlir::success();
}

} // namespace plait
