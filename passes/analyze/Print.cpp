#include "passes/analyze/Analyze.h"

namespace plait {

namespace {

/// Text of one block's parts.
class Printer {
public:
  Printer(llvm::raw_ostream &os, const BlockSummary &block) : os(os), block(block) {}

  void run() {
    os << "block " << block.name << "\n";
    for (const Factor &factor : block.factors)
      printFactor(factor);
    printEnds();
    for (const BlockParam &param : block.params)
      os << "  param " << param.name << " grad " << name(param.grad) << "\n";
    for (const Value &value : block.values)
      os << "  value " << value.name << " " << kindName(value.kind) << " " << dims(value) << "\n";
    for (const PhaseGraph &graph : block.phases)
      printPhase(graph);
  }

private:
  void printFactor(const Factor &factor) {
    os << "  factor " << factor.name << " " << factor.size;
    if (factor.follows != kNone)
      os << " follows " << block.factors[factor.follows].name << " ratio " << factor.ratio;
    os << "\n";
  }

  void printEnds() {
    for (auto [role, id] : {std::pair{"x", block.x}, {"y", block.y}, {"dx", block.dx}, {"dy", block.dy},
                            {"tokens", block.tokens}, {"labels", block.labels}, {"loss", block.loss},
                            {"loss_scale", block.lossScale}})
      if (id != kNone)
        os << "  " << role << " = " << name(id) << "\n";
  }

  void printPhase(const PhaseGraph &graph) {
    static constexpr const char *phases[] = {"none", "forward", "backward", "backward_input", "backward_weight"};
    os << "  phase " << phases[static_cast<unsigned>(graph.phase)] << " " << graph.variant << " saved("
       << names(graph.saved) << ") carried(" << names(graph.carried) << ")\n";
    for (const OpTemplate &op : graph.ops)
      printOp(op);
  }

  void printOp(const OpTemplate &op) {
    os << "    " << op.origin << " [" << kernelName(op.kernel) << ", " << block.segments[op.segment] << "] "
       << names(op.operands) << " -> " << names(op.results);
    for (const ReducedFactor &reduced : op.reduces)
      os << (reduced.reduction == Reduction::Max ? " max " : " sum ") << block.factors[reduced.factor].name;
    for (Id factor : op.whole)
      os << " whole " << block.factors[factor].name;
    for (Id factor : op.offsetFactors)
      os << " offset " << block.factors[factor].name;
    if (op.pointwise >= 0)
      os << " program " << block.pointwise[op.pointwise].name;
    os << "\n";
  }

  std::string dims(const Value &value) const {
    std::string text;
    for (const Dim &dim : value.dims) {
      std::string unit = std::to_string(dim.unit);
      std::string factor = dim.factor == kNone ? unit : block.factors[dim.factor].name + (dim.unit == 1 ? "" : "*" + unit);
      text += (text.empty() ? "" : " ") + factor;
    }
    return "[" + text + "]";
  }
  std::string names(const std::vector<Id> &ids) const {
    std::string text;
    for (Id id : ids)
      text += (text.empty() ? "" : ", ") + name(id);
    return text;
  }
  const std::string &name(Id id) const { return block.values[id].name; }
  static const char *kindName(ElementKind kind) {
    static constexpr const char *names[] = {"activation", "param", "param_grad", "statistic", "index", "scalar"};
    return names[static_cast<unsigned>(kind)];
  }

  llvm::raw_ostream &os;
  const BlockSummary &block;
};

} // namespace

void printSummary(llvm::raw_ostream &os, const Model &model) {
  os << "model " << model.name << " family " << model.family << " vocabulary " << model.vocabSize << "\n";
  for (const BlockSummary &block : model.kinds)
    Printer(os, block).run();
  for (const BlockUse &use : model.chain) {
    os << "use " << model.kinds[use.kind].name;
    if (use.layer >= 0)
      os << " layer " << use.layer;
    for (Id param : use.params)
      os << " " << model.params[param].name;
    os << "\n";
  }
}

} // namespace plait
