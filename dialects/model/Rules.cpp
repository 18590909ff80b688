// Binding of sharding rules to ops: ranks, factor sizes, result types.
#include "dialects/model/Model.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace mlir;

namespace plait::model {

static constexpr int64_t kUnknown = ShapedType::kDynamic;

std::string BoundRule::factorName(int id) const {
  if (id < static_cast<int>(Rule::kMaxFactors))
    return std::string(rule->factors[id].name);
  return "..." + std::to_string(id - Rule::kMaxFactors);
}

SmallVector<int64_t> BoundRule::resultShape(unsigned index) const {
  SmallVector<int64_t> shape;
  for (const BoundDim &dim : results[index]) {
    int64_t size = 1;
    for (int factor : dim)
      size = size == kUnknown || sizes[factor] == kUnknown ? kUnknown : size * sizes[factor];
    shape.push_back(size);
  }
  return shape;
}

static void print(llvm::raw_ostream &os, const RuleDim &dim, const Rule &rule) {
  if (dim.count == 0)
    os << "1";
  os << (dim.count > 1 ? "(" : "");
  for (unsigned i = 0; i < dim.count; ++i)
    os << (i ? " " : "") << StringRef(rule.factors[dim.factors[i]].name);
  os << (dim.count > 1 ? ")" : "");
}

/// As in the rule: "q[s b (g r d)]".
static std::string textOf(const RuleTensor &tensor, const Rule &rule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << StringRef(tensor.name) << "[" << (tensor.ellipsis ? "..." : "");
  for (unsigned i = 0; i < tensor.count; ++i) {
    os << (i || tensor.ellipsis ? " " : "");
    print(os, tensor.dims[i], rule);
  }
  os << "]";
  return text;
}

namespace {

/// One tensor of the op beside its entry in the rule.
struct Binding {
  const RuleTensor *entry;
  RankedTensorType type;
  StringRef kind; // "operand" or "result"
  SmallVector<BoundDim> dims;
  std::string name() const { return (kind + " '" + std::string(entry->name) + "'").str(); }
};

class Binder {
public:
  Binder(ComputeOpInterface op, bool operandsOnly) : op(op), rule(op.rule()), operandsOnly(operandsOnly) {}

  FailureOr<BoundRule> run() {
    if (failed(collect()) || failed(expand()))
      return failure();
    bound.sizes.assign(Rule::kMaxFactors + std::max<int64_t>(leading, 0), kUnknown);
    for (int i = 0; i < rule.factorCount; ++i)
      if (int64_t size = op.factorSize(StringRef(rule.factors[i].name)); size > 0)
        bound.sizes[i] = size;
    for (bool composite : {false, true})
      for (Binding &binding : bindings)
        if (failed(unifyDims(binding, composite)))
          return failure();
    bound.rule = &rule;
    return std::move(bound);
  }

private:
  LogicalResult collect() {
    Operation *operation = op;
    if (operation->getNumOperands() != rule.operands)
      return operation->emitOpError("must have ") << int(rule.operands) << " operands, as its rule says, got "
                                                  << operation->getNumOperands();
    if (operation->getNumResults() != rule.results)
      return operation->emitOpError("must have ") << int(rule.results) << " results, as its rule says, got "
                                                  << operation->getNumResults();
    for (unsigned i = 0; i < rule.operands; ++i)
      if (failed(collect(rule.operand(i), operation->getOperand(i).getType(), "operand")))
        return failure();
    for (unsigned i = 0; i < rule.results && !operandsOnly; ++i)
      if (failed(collect(rule.result(i), operation->getResult(i).getType(), "result")))
        return failure();
    return success();
  }

  LogicalResult collect(const RuleTensor &entry, Type type, StringRef kind) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    int64_t rank = tensor ? tensor.getRank() : -1;
    if (rank < entry.count || (rank > entry.count && !entry.ellipsis))
      return op->emitOpError() << kind << " '" << std::string(entry.name) << "' must have rank "
                               << (entry.ellipsis ? "at least " : "") << int(entry.count) << ", as "
                               << textOf(entry, rule) << " says, got " << type;
    if (entry.ellipsis) {
      if (leading >= 0 && leading != rank - entry.count)
        return op->emitOpError() << kind << " '" << std::string(entry.name) << "' has " << rank - entry.count
                                 << " dimensions where '...' is " << leading << " elsewhere, got " << type;
      leading = rank - entry.count;
    }
    bindings.push_back({&entry, tensor, kind, {}});
    return success();
  }

  SmallVector<BoundDim> dimsOf(const RuleTensor &entry) const {
    SmallVector<BoundDim> dims;
    for (int64_t i = 0; entry.ellipsis && i < leading; ++i)
      dims.push_back({static_cast<int>(Rule::kMaxFactors + i)});
    for (unsigned i = 0; i < entry.count; ++i)
      dims.push_back(BoundDim(entry.dims[i].factors.begin(), entry.dims[i].factors.begin() + entry.dims[i].count));
    return dims;
  }

  LogicalResult expand() {
    for (Binding &binding : bindings)
      binding.dims = dimsOf(*binding.entry);
    for (unsigned i = 0; i < rule.operands; ++i)
      bound.operands.push_back(dimsOf(rule.operand(i)));
    for (unsigned i = 0; i < rule.results; ++i)
      bound.results.push_back(dimsOf(rule.result(i)));
    return success();
  }

  LogicalResult unifyDims(Binding &binding, bool composite) {
    for (auto [index, dim] : llvm::enumerate(binding.dims)) {
      int64_t size = binding.type.getDimSize(index);
      if ((dim.size() > 1) != composite || size == kUnknown)
        continue;
      if (failed(dim.empty() ? unifyOne(binding, size) : unify(binding, dim, size)))
        return failure();
    }
    return success();
  }

  LogicalResult unifyOne(Binding &binding, int64_t size) {
    if (size == 1)
      return success();
    return op->emitOpError() << binding.name() << " must have size 1 where " << textOf(*binding.entry, rule)
                             << " says so, got " << binding.type;
  }

  /// `size` must be the product of the factors; a single unknown one follows from it.
  LogicalResult unify(Binding &binding, const BoundDim &dim, int64_t size) {
    int64_t known = 1;
    int unknown = -1;
    for (int factor : dim) {
      if (bound.sizes[factor] == kUnknown) {
        if (unknown >= 0)
          return success();
        unknown = factor;
      } else if (__builtin_mul_overflow(known, bound.sizes[factor], &known)) {
        known = std::numeric_limits<int64_t>::max();
      }
    }
    if (unknown >= 0 && known > 0 && size % known == 0) {
      bound.sizes[unknown] = size / known;
      return success();
    }
    if (unknown < 0 && known == size)
      return success();
    if (dim.size() == 1)
      return op->emitOpError() << "factor '" << name(dim.front()) << "' is " << known << " elsewhere and " << size
                               << " in " << binding.name();
    return op->emitOpError() << binding.name() << " has " << size << " elements in a dimension of "
                             << textOf(*binding.entry, rule) << " that must " << (unknown < 0 ? "have " : "be a multiple of ")
                             << known;
  }

  std::string name(int factor) const {
    BoundRule named;
    named.rule = &rule;
    return named.factorName(factor);
  }

  ComputeOpInterface op;
  const Rule &rule;
  bool operandsOnly;
  int64_t leading = -1; // dimensions that `...` stands for
  SmallVector<Binding> bindings;
  BoundRule bound;
};

} // namespace

FailureOr<BoundRule> bindRule(ComputeOpInterface op, bool operandsOnly) { return Binder(op, operandsOnly).run(); }

LogicalResult verifyAgainstRule(Operation *op) {
  auto compute = cast<ComputeOpInterface>(op);
  if (failed(compute.checkAttributes()))
    return failure();
  return success(succeeded(bindRule(compute)));
}

void inferResultTypes(Operation *op) {
  auto compute = cast<ComputeOpInterface>(op);
  FailureOr<BoundRule> bound = bindRule(compute, /*operandsOnly=*/true);
  if (failed(bound))
    return;
  Type element = Float32Type::get(op->getContext());
  for (OpResult result : op->getResults())
    result.setType(RankedTensorType::get(bound->resultShape(result.getResultNumber()), element));
}

} // namespace plait::model
