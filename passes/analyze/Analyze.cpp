#include "passes/analyze/Analyze.h"
#include "passes/analyze/Factors.h"

using namespace mlir;
using namespace plait::model;

namespace plait {

namespace {

/// Makes the summary of one kind of block.
class Summarizer {
public:
  explicit Summarizer(BlockDefOp source) : source(source), numbering(source) {}

  FailureOr<BlockSummary> run(ArrayRef<BlockDefOp> made) {
    summary.name = source.getSymName().str();
    for (StringRef variant : {"none", "selective", "full"})
      for (BlockPhase phase : {BlockPhase::Forward, BlockPhase::Backward, BlockPhase::BackwardInput, BlockPhase::BackwardWeight})
        if (failed(addPhase(made, variant, phase)))
          return mlir::failure();
    if (failed(setEnds()))
      return mlir::failure();
    FactorAnalysis analysis(numbering);
    summary.values = numbering.values;
    for (Id value = 0; value < summary.values.size(); ++value)
      summary.values[value].dims = analysis.dims[value];
    summary.factors = analysis.factors;
    for (size_t i = 0; i < numbering.ops.size(); ++i)
      templates.push_back(makeTemplate(analysis, i));
    for (const NumberedPhase &phase : numbering.phases)
      summary.phases.push_back(makeGraph(phase));
    return std::move(summary);
  }

private:
  LogicalResult addPhase(ArrayRef<BlockDefOp> made, StringRef variant, BlockPhase phase) {
    for (BlockDefOp def : made)
      if (def.getPhase() == phase && def.getVariant() == variant)
        return numbering.add(def);
    return source.emitOpError("has no phase ") << stringifyBlockPhase(phase) << ", variant " << variant
                                               << "; run --model-differentiate first";
  }

  /// Inputs, outputs, parameters and their gradients; phases and variants must agree on them.
  LogicalResult setEnds() {
    summary.x = numbering.input("x");
    summary.dy = numbering.input("dy");
    summary.tokens = numbering.input("tokens");
    summary.labels = numbering.input("labels");
    summary.lossScale = numbering.input("loss_scale");
    std::vector<Id> grads;
    for (const NumberedPhase &phase : numbering.phases) {
      BlockDefOp def = phase.def;
      if (phase.outputs.size() == 1) {
        bool forward = def.getPhase() == BlockPhase::Forward;
        bool loss = numbering.values[phase.outputs[0]].kind == ElementKind::Scalar;
        Id &end = forward ? (loss ? summary.loss : summary.y) : summary.dx;
        if (end != kNone && end != phase.outputs[0])
          return def.emitOpError("yields another output than the other variants of @") << source.getSymName();
        end = phase.outputs[0];
      }
      if (grads.empty())
        grads = phase.grads;
      if (!phase.grads.empty() && grads != phase.grads)
        return def.emitOpError("yields other gradients than the other variants of @") << source.getSymName();
    }
    if (grads.size() != numbering.params.size())
      return source.emitOpError("must have one gradient per parameter");
    for (size_t i = 0; i < grads.size(); ++i) {
      numbering.values[grads[i]].kind = ElementKind::ParamGrad;
      summary.params.push_back({numbering.values[numbering.params[i]].name, numbering.params[i], grads[i]});
    }
    return mlir::success();
  }

  OpTemplate makeTemplate(const FactorAnalysis &analysis, size_t index) {
    const NumberedOp &numbered = numbering.ops[index];
    ComputeOpInterface op = numbered.op;
    LaunchAttributes launch = op.launchAttributes();
    OpTemplate result;
    result.kernel = op.kernel();
    result.origin = numbered.origin;
    result.segment = segmentId(op.segmentName().str());
    result.operands = numbered.operands;
    result.results = numbered.results;
    result.additive = op.additive();
    result.ints.assign(launch.ints.begin(), launch.ints.end());
    result.doubles.assign(launch.doubles.begin(), launch.doubles.end());
    const Rule &rule = *numbered.rule.rule;
    for (int i = 0; i < rule.factorCount; ++i) {
      const RuleFactor &factor = rule.factors[i];
      for (Id id : analysis.factorsOf(index, i)) {
        if (factor.sum || factor.max)
          result.reduces.push_back({id, factor.max ? Reduction::Max : Reduction::Sum});
        if (factor.whole)
          result.whole.push_back(id);
      }
    }
    for (StringRef offset : launch.offsets)
      result.offsetFactors.push_back(analysis.factorsOf(index, rule.factorIndex(std::string_view(offset))).front());
    if (launch.pointwise)
      result.pointwise = pointwiseId(std::move(*launch.pointwise));
    return result;
  }

  PhaseGraph makeGraph(const NumberedPhase &phase) {
    BlockDefOp def = phase.def;
    PhaseGraph graph;
    graph.phase = static_cast<Phase>(def.getPhase());
    graph.variant = def.getVariant()->str();
    for (size_t op : phase.ops)
      graph.ops.push_back(templates[op]);
    const NumberedPhase *saver = &phase, *carrier = &phase;
    for (const NumberedPhase &other : numbering.phases) {
      BlockDefOp otherDef = other.def;
      if (otherDef.getVariant() != def.getVariant())
        continue;
      if (otherDef.getPhase() == BlockPhase::Forward)
        saver = &other;
      if (otherDef.getPhase() == BlockPhase::BackwardInput && def.getPhase() == BlockPhase::BackwardWeight)
        carrier = &other;
    }
    graph.saved = saver->saved;
    graph.carried = carrier->carried;
    return graph;
  }

  Id segmentId(const std::string &name) {
    auto found = std::find(summary.segments.begin(), summary.segments.end(), name);
    if (found == summary.segments.end())
      found = summary.segments.insert(found, name);
    return found - summary.segments.begin();
  }

  static bool same(const PointwiseTemplate &a, const PointwiseTemplate &b) {
    auto equal = [](const PointwiseInstruction &x, const PointwiseInstruction &y) {
      return x.op == y.op && x.operands == y.operands && x.immediates == y.immediates;
    };
    return a.name == b.name && a.rowInput == b.rowInput && a.outputs == b.outputs &&
           std::equal(a.instrs.begin(), a.instrs.end(), b.instrs.begin(), b.instrs.end(), equal);
  }

  int32_t pointwiseId(PointwiseTemplate program) {
    for (size_t i = 0; i < summary.pointwise.size(); ++i)
      if (same(summary.pointwise[i], program))
        return i;
    summary.pointwise.push_back(std::move(program));
    return summary.pointwise.size() - 1;
  }

  BlockDefOp source;
  Numbering numbering;
  BlockSummary summary;
  std::vector<OpTemplate> templates;
};

} // namespace

static ParamTensor toParam(ParamOp op) {
  ParamTensor param;
  param.name = op.getSymName().str();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
  param.shape.assign(shape.begin(), shape.end());
  auto listOr = [&](std::optional<ArrayRef<int64_t>> list, std::vector<int64_t> otherwise) {
    return list ? std::vector<int64_t>(list->begin(), list->end()) : otherwise;
  };
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  param.hfName = op.getHfName().value_or(op.getSymName()).str();
  param.hfShape = listOr(op.getHfShape(), param.shape);
  param.hfBase = op.getHfBase();
  param.hfSizes = listOr(op.getHfSizes(), param.shape);
  param.hfStrides = listOr(op.getHfStrides(), strides);
  switch (op.getInit()) {
  case InitKind::Zeros: param.init = ParamTensor::Init::Zeros; break;
  case InitKind::Ones: param.init = ParamTensor::Init::Ones; break;
  case InitKind::Normal: param.init = ParamTensor::Init::Normal; break;
  }
  param.initStd = op.getInitStd();
  param.decay = op.getDecay();
  return param;
}

static LogicalResult readAttributes(ModuleOp module, Model &model) {
  auto name = module->getAttrOfType<StringAttr>(kNameAttr);
  auto family = module->getAttrOfType<StringAttr>(kFamilyAttr);
  auto vocabulary = module->getAttrOfType<IntegerAttr>(kVocabSizeAttr);
  if (!name || !family || !vocabulary || vocabulary.getInt() <= 0)
    return module.emitError("a model needs the attributes '")
           << kNameAttr << "', '" << kFamilyAttr << "' (strings) and '" << kVocabSizeAttr << "' (positive integer)";
  model.name = name.str();
  model.family = family.str();
  model.vocabSize = vocabulary.getInt();
  return mlir::success();
}

FailureOr<Model> analyzeModule(ModuleOp module) {
  Model model;
  if (failed(readAttributes(module, model)))
    return mlir::failure();
  std::map<std::string, Id> params, kinds;
  for (ParamOp op : module.getOps<ParamOp>()) {
    params[op.getSymName().str()] = model.params.size();
    model.params.push_back(toParam(op));
  }
  std::map<std::string, SmallVector<BlockDefOp>> made;
  for (BlockDefOp def : module.getOps<BlockDefOp>())
    if (!def.isSource())
      made[def.getOf()->str()].push_back(def);
  for (BlockDefOp def : module.getOps<BlockDefOp>()) {
    if (!def.isSource())
      continue;
    FailureOr<BlockSummary> summary = Summarizer(def).run(made[def.getSymName().str()]);
    if (failed(summary))
      return mlir::failure();
    kinds[summary->name] = model.kinds.size();
    model.kinds.push_back(std::move(*summary));
  }
  for (UseOp use : module.getOps<UseOp>()) {
    BlockUse entry;
    entry.kind = kinds.at(use.getBlock().str());
    entry.layer = use.getLayer() ? static_cast<int32_t>(*use.getLayer()) : -1;
    for (Attribute param : use.getParams())
      entry.params.push_back(params.at(cast<FlatSymbolRefAttr>(param).getValue().str()));
    model.chain.push_back(std::move(entry));
  }
  return model;
}

} // namespace plait
