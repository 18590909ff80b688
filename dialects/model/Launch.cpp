// Launch attributes, factor sizes, rule variants and attribute checks of the computing ops.
#include "dialects/model/Pointwise.h"
#include <map>
#include <mutex>

using namespace mlir;

namespace plait::model {

static LaunchAttributes pointwise(PointwiseTemplate program) {
  LaunchAttributes launch;
  launch.pointwise = std::move(program);
  return launch;
}

// ---- Linear --------------------------------------------------------------------------------------------------------

LaunchAttributes LinearOp::launchAttributes() { return {.ints = {0, 1, 0}}; }
LaunchAttributes LinearGradInputOp::launchAttributes() { return {.ints = {0, 0, 0}}; }
LaunchAttributes LinearGradWeightOp::launchAttributes() { return {.ints = {1, 0, 1}}; }

// ---- Elementwise ---------------------------------------------------------------------------------------------------

LaunchAttributes BiasAddOp::launchAttributes() { return pointwise(biasAddProgram()); }
LaunchAttributes AddOp::launchAttributes() { return pointwise(addProgram()); }
LaunchAttributes MulOp::launchAttributes() { return pointwise(mulProgram()); }
LaunchAttributes ScaleOp::launchAttributes() { return pointwise(scaleProgram(getFactor())); }
LaunchAttributes ActivationOp::launchAttributes() { return pointwise(activationProgram(getKind())); }
LaunchAttributes ActivationGradOp::launchAttributes() { return pointwise(activationGradProgram(getKind())); }
LaunchAttributes GatedActivationOp::launchAttributes() { return pointwise(gatedActivationProgram(getKind())); }
LaunchAttributes GatedActivationGradOp::launchAttributes() { return pointwise(gatedActivationGradProgram(getKind())); }

bool AddOp::additive() { return true; }
bool ScaleOp::additive() { return true; }

// ---- Norms ---------------------------------------------------------------------------------------------------------

LaunchAttributes RmsNormOp::launchAttributes() { return {.doubles = {getEps()}}; }
LaunchAttributes LayerNormOp::launchAttributes() { return {.doubles = {getEps()}}; }

/// Whether weight `w` is shorter than the rows of `x`: every head is normalised by itself.
static bool normalisesHeads(Value x, Value w) {
  auto rows = dyn_cast<RankedTensorType>(x.getType());
  auto weight = dyn_cast<RankedTensorType>(w.getType());
  return rows && weight && rows.getRank() > 0 && weight.getRank() == 1 &&
         weight.getDimSize(0) != rows.getShape().back();
}

const Rule &RmsNormOp::rule() {
  return normalisesHeads(getOperand(0), getOperand(1))
             ? ruleOf<"x[s b (h d)], w[d] -> y[s b (h d)], rstd[s b h] | whole d, stat rstd">
             : classRule();
}

const Rule &RmsNormGradOp::rule() {
  return normalisesHeads(getOperand(1), getOperand(2))
             ? ruleOf<"dy[s b (h d)], x[s b (h d)], w[d], rstd[s b h] -> dx[s b (h d)] | whole d">
             : classRule();
}

const Rule &RmsNormGradWeightOp::rule() {
  auto rstd = dyn_cast<RankedTensorType>(getOperand(2).getType());
  return rstd && rstd.getRank() == 3
             ? ruleOf<"dy[s b (h d)], x[s b (h d)], rstd[s b h] -> dw[d] | sum s b h, whole d">
             : classRule();
}

// ---- Rope ----------------------------------------------------------------------------------------------------------

int64_t RopeOp::factorSize(StringRef factor) { return factor == "d" ? getHeadDim() : 0; }

LaunchAttributes RopeOp::launchAttributes() {
  LaunchAttributes launch;
  launch.ints = {getHeadDim(), getRotaryDim(), getInterleaved(), getInverse()};
  launch.doubles.assign(getInvFreq().begin(), getInvFreq().end());
  launch.doubles.push_back(getFactor());
  launch.offsets = {"s"};
  return launch;
}

LogicalResult RopeOp::checkAttributes() {
  if (getRotaryDim() > getHeadDim() || getRotaryDim() % 2 != 0)
    return emitOpError("rotary_dim ") << getRotaryDim() << " must be even and at most head_dim " << getHeadDim();
  if (static_cast<int64_t>(getInvFreq().size()) != getRotaryDim() / 2)
    return emitOpError("needs ") << getRotaryDim() / 2 << " inv_freq, half of rotary_dim, got " << getInvFreq().size();
  return success();
}

// ---- Attention -----------------------------------------------------------------------------------------------------

template <typename OpTy> static int64_t attentionFactorSize(OpTy op, StringRef factor) {
  if (factor == "d")
    return op.getHeadDim();
  if (factor == "g")
    return op.getKvHeads();
  return factor == "r" ? op.getHeads() / op.getKvHeads() : 0;
}

template <typename OpTy> static LaunchAttributes attentionLaunch(OpTy op) {
  return {.ints = {op.getHeadDim(), op.getHeads() / op.getKvHeads(), op.getCausal(), op.getWindow()},
          .doubles = {op.getScale()}};
}

template <typename OpTy> static LogicalResult checkAttention(OpTy op) {
  if (op.getHeads() % op.getKvHeads() == 0)
    return success();
  return op.emitOpError("heads ") << op.getHeads() << " must be a multiple of kv_heads " << op.getKvHeads();
}

int64_t AttentionOp::factorSize(StringRef factor) { return attentionFactorSize(*this, factor); }
int64_t AttentionGradOp::factorSize(StringRef factor) { return attentionFactorSize(*this, factor); }
LaunchAttributes AttentionOp::launchAttributes() { return attentionLaunch(*this); }
LaunchAttributes AttentionGradOp::launchAttributes() { return attentionLaunch(*this); }
LogicalResult AttentionOp::checkAttributes() { return checkAttention(*this); }
LogicalResult AttentionGradOp::checkAttributes() { return checkAttention(*this); }

// ---- Embeddings and the loss ---------------------------------------------------------------------------------------

LaunchAttributes EmbeddingOp::launchAttributes() { return {.offsets = {"v"}}; }
LaunchAttributes EmbeddingGradOp::launchAttributes() { return {.offsets = {"v"}}; }
int64_t EmbeddingGradOp::factorSize(StringRef factor) { return factor == "v" ? getRows() : 0; }
LaunchAttributes PositionEmbeddingOp::launchAttributes() { return {.offsets = {"s"}}; }
LaunchAttributes PositionEmbeddingGradOp::launchAttributes() { return {.offsets = {"s"}}; }
int64_t PositionEmbeddingGradOp::factorSize(StringRef factor) { return factor == "p" ? getRows() : 0; }
LaunchAttributes RowPickOp::launchAttributes() { return {.offsets = {"v"}}; }
LaunchAttributes CrossEntropyGradOp::launchAttributes() { return {.offsets = {"v"}}; }

LogicalResult CrossEntropyOp::checkAttributes() {
  auto max = getM().getDefiningOp<RowMaxOp>();
  auto sum = getZ().getDefiningOp<RowSumExpOp>();
  auto pick = getT().getDefiningOp<RowPickOp>();
  if (!max || !sum || !pick)
    return emitOpError("operands m, z, t must come from row_max, row_sum_exp, row_pick");
  if (max.getLogits() != sum.getLogits() || max.getLogits() != pick.getLogits() || sum.getM() != getM())
    return emitOpError("operands m, z, t must come from the same logits");
  if (pick.getLabels() != getLabels())
    return emitOpError("must have the labels of row_pick");
  return success();
}

// ---- Generic -------------------------------------------------------------------------------------------------------

/// Parsed rules by text; the text of an attribute lives as long as its context, the cache's copy as long as the program.
static const Rule &cachedRule(StringRef text) {
  static std::mutex mutex;
  static std::map<std::string, Rule> cache;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = cache.find(text.str());
  if (found == cache.end()) {
    found = cache.emplace(text.str(), Rule{}).first;
    found->second = parseRule(found->first);
  }
  return found->second;
}

static StringRef nearestKernel(StringRef name) {
  StringRef nearest;
  for (uint32_t i = 1; kernelName(static_cast<Kernel>(i)) != "?"; ++i) {
    StringRef known = kernelName(static_cast<Kernel>(i));
    if (nearest.empty() || name.edit_distance(known) < name.edit_distance(nearest))
      nearest = known;
  }
  return nearest;
}

const Rule &GenericOp::rule() { return cachedRule(getRuleText()); }

Kernel GenericOp::kernel() { return getKernelName() ? kernelByName(std::string_view(*getKernelName())) : Kernel::None; }

Keep GenericOp::keep() { return Keep::Costly; }

LogicalResult GenericOp::checkAttributes() {
  if (std::string_view error = rule().error; !error.empty())
    return emitOpError("malformed rule: ") << StringRef(error) << " at '" << StringRef(rule().where) << "'";
  if (getKernelName() && kernel() == Kernel::None)
    return emitOpError("unknown kernel '") << *getKernelName() << "'; the nearest known is '"
                                           << nearestKernel(*getKernelName()) << "'";
  return success();
}

} // namespace plait::model
