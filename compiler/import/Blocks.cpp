#include "compiler/import/Blocks.h"
#include "dialects/model/Model.h"

using namespace mlir;

namespace plait {

namespace {

using mlir::Value; // not a value of a BlockSummary

/// A block definition under construction.
class BlockBuilder {
public:
  BlockBuilder(OpBuilder &outer, const ModelSpec &spec, const ChainBlock &block, const ModelParameters &parameters)
      : builder(outer), spec(spec), block(block), parameters(parameters) {}

  void embedding() {
    begin({{"tokens", activation(builder.getI32Type())}});
    Value y = create<model::EmbeddingOp>("embedding", "embedding", input(0), param("embedding.weight")).getY();
    if (spec.learnedPositions)
      y = create<model::PositionEmbeddingOp>("positions", "stream", y, param("positions.weight")).getY();
    yield(y);
  }

  void decoder() {
    begin({{"x", activation(builder.getF32Type(), spec.hidden)}});
    Value x = input(0);
    Value attended = attention(norm("norm1", x));
    Value middle = spec.parallelResidual ? x : add("residual 1", x, attended);
    Value fed = mlp(norm("norm2", middle));
    // Parallel: both branches read x, and their outputs are summed before x, as the reference implementation does.
    yield(spec.parallelResidual ? add("residual", x, add("branches", attended, fed)) : add("residual 2", middle, fed));
  }

  void head() {
    begin({{"x", activation(builder.getF32Type(), spec.hidden)},
           {"labels", activation(builder.getI32Type())},
           {"loss_scale", RankedTensorType::get({1}, builder.getF32Type())}});
    Value labels = input(1);
    Value logits = linear("head", "head", norm("norm", input(0)));
    Value m = create<model::RowMaxOp>("row max", "head", logits).getM();
    Value z = create<model::RowSumExpOp>("row sum", "head", logits, m).getZ();
    Value t = create<model::RowPickOp>("row pick", "head", logits, labels).getT();
    yield(create<model::CrossEntropyOp>("loss", "head", m, z, t, labels).getLoss());
  }

private:
  using Input = std::pair<StringRef, Type>;

  /// [sequence, batch] or [sequence, batch, width].
  Type activation(Type element, int64_t width = 0) {
    SmallVector<int64_t> shape{ShapedType::kDynamic, ShapedType::kDynamic};
    if (width > 0)
      shape.push_back(width);
    return RankedTensorType::get(shape, element);
  }

  Location named(const Twine &name) { return NameLoc::get(builder.getStringAttr(name)); }

  void begin(ArrayRef<Input> inputs) {
    SmallVector<StringRef> names;
    SmallVector<Type> types;
    for (const auto &[name, type] : inputs) {
      names.push_back(name);
      types.push_back(type);
    }
    for (const RoleParam &role : block.params) {
      names.push_back(role.role);
      types.push_back(RankedTensorType::get(parameters.params[role.param].shape, builder.getF32Type()));
    }
    def = model::BlockDefOp::create(builder, named(block.kind), block.kind, model::BlockPhase::Forward,
                                    ArrayRef<int32_t>{int32_t(inputs.size()), int32_t(block.params.size()), 0, 0},
                                    names, types);
    builder.setInsertionPointToEnd(&def.getBody().front());
  }

  void yield(Value output) {
    model::YieldOp::create(builder, named("yield"), ValueRange(output), ValueRange(), ValueRange(), ValueRange());
    builder.setInsertionPointAfter(def);
  }

  Value input(unsigned index) { return def.group(model::BlockDefOp::Inputs)[index]; }

  /// The argument of a role; null if the kind has none.
  Value optionalParam(const Twine &role) {
    std::string name = role.str();
    for (auto [entry, argument] : llvm::zip(block.params, def.group(model::BlockDefOp::Params)))
      if (entry.role == name)
        return argument;
    return {};
  }
  Value param(const Twine &role) {
    Value value = optionalParam(role);
    assert(value && "a role that modelParameters() always gives");
    return value;
  }

  template <typename OpTy, typename... Args> OpTy create(const Twine &name, StringRef segment, Args &&...args) {
    return model::createOp<OpTy>(builder, named(name), std::forward<Args>(args)..., segment);
  }

  Value add(StringRef name, Value a, Value b) { return create<model::AddOp>(name, "stream", a, b).getY(); }

  Value norm(StringRef role, Value x) {
    Value weight = param(role + ".weight");
    if (spec.layerNorm)
      return create<model::LayerNormOp>(role, "stream", x, weight, param(role + ".bias"), spec.normEps)
          .getY();
    return create<model::RmsNormOp>(role, "stream", x, weight, spec.normEps).getY();
  }

  /// x w^T, and the bias if the role has one. A product that sums over the split factor of its segment leaves a bias
  /// to be added once, in the stream.
  Value linear(StringRef role, StringRef segment, Value x, StringRef biasSegment = "") {
    Value y = create<model::LinearOp>(role, segment, x, param(role + ".weight")).getY();
    if (Value bias = optionalParam(role + ".bias"))
      y = create<model::BiasAddOp>(role + " bias", biasSegment.empty() ? segment : biasSegment, y, bias).getY();
    return y;
  }

  /// A query or key projection with its head norm and rotation.
  Value rotated(StringRef role, Value x) {
    Value y = linear(role, "attention", x);
    if (spec.qkNorm)
      y = create<model::RmsNormOp>(role + " norm", "attention", y, param(role + "_norm.weight"),
                                   spec.normEps)
              .getY();
    if (spec.rotary.dim > 0)
      y = create<model::RopeOp>("rope " + role, "attention", y, spec.headDim, spec.rotary.dim,
                                ArrayRef<double>(spec.rotary.invFreq), /*interleaved=*/false,
                                spec.rotary.factor, /*inverse=*/false)
              .getY();
    return y;
  }

  Value attention(Value x) {
    Value q = rotated("q", x), k = rotated("k", x), v = linear("v", "attention", x);
    Value o = create<model::AttentionOp>("attention", "attention", q, k, v, spec.heads, spec.kvHeads, spec.headDim,
                                         spec.attentionScale(), /*causal=*/true,
                                         spec.windows[size_t(block.layer)])
                  .getO();
    return linear("o", "attention", o, "stream");
  }

  Value mlp(Value x) {
    std::optional<model::ActivationKind> kind = model::symbolizeActivationKind(spec.activation);
    assert(kind && "the names of ModelSpec::activation are the dialect's");
    Value gate = spec.gated ? linear("gate", "mlp", x) : Value(), up = linear("up", "mlp", x);
    Value y = spec.gated ? create<model::GatedActivationOp>("activation", "mlp", gate, up, *kind).getY()
                         : create<model::ActivationOp>("activation", "mlp", up, *kind).getY();
    return linear("down", "mlp", y, "stream");
  }

  OpBuilder &builder;
  const ModelSpec &spec;
  const ChainBlock &block;
  const ModelParameters &parameters;
  model::BlockDefOp def;
};

} // namespace

void buildBlock(OpBuilder &builder, const ModelSpec &spec, const ChainBlock &block, const ModelParameters &parameters) {
  BlockBuilder blocks(builder, spec, block, parameters);
  if (block.kind == "embedding")
    blocks.embedding();
  else if (block.kind == "head")
    blocks.head();
  else
    blocks.decoder();
}

} // namespace plait
