#include "test/passes/analyze/Blocks.h"
#include "dialects/model/Model.h"
#include "mlir/IR/Verifier.h"
#include "passes/analyze/Analyze.h"
#include "passes/differentiate/Passes.h"
#include <stdexcept>

using namespace mlir;

namespace plait::test {

namespace {

using mlir::Value;
using Named = std::vector<std::pair<std::string, std::vector<int64_t>>>;

class BlockWriter {
public:
  BlockWriter(ModuleOp module, const std::string &name, const std::vector<std::string> &inputs, const Named &params)
      : builder(module.getContext()) {
    SmallVector<StringRef> names(inputs.begin(), inputs.end());
    SmallVector<Type> types;
    Type f32 = builder.getF32Type();
    for (const std::string &input : inputs)
      types.push_back(input == "x"            ? RankedTensorType::get({kDynamic, kDynamic, 12}, f32)
                      : input == "loss_scale" ? RankedTensorType::get({1}, f32)
                                              : RankedTensorType::get({kDynamic, kDynamic}, builder.getI32Type()));
    SmallVector<Attribute> references;
    builder.setInsertionPointToEnd(module.getBody());
    for (const auto &[param, shape] : params) {
      names.push_back(param);
      types.push_back(RankedTensorType::get(shape, f32));
      model::ParamOp::create(builder, location, builder.getStringAttr(param), TypeAttr::get(types.back()),
                             model::InitKindAttr::get(builder.getContext(), model::InitKind::Normal),
                             builder.getF64FloatAttr(0.02), builder.getBoolAttr(true), StringAttr(), DenseI64ArrayAttr(),
                             builder.getI64IntegerAttr(0), DenseI64ArrayAttr(), DenseI64ArrayAttr());
      references.push_back(FlatSymbolRefAttr::get(builder.getContext(), param));
    }
    def = model::BlockDefOp::create(builder, location, StringRef(name), model::BlockPhase::Forward,
                                    ArrayRef<int32_t>{int32_t(inputs.size()), int32_t(params.size()), 0, 0}, names, types);
    model::UseOp::create(builder, location, FlatSymbolRefAttr::get(builder.getContext(), name), IntegerAttr(),
                         builder.getArrayAttr(references));
    builder.setInsertionPointToEnd(&def.getBody().front());
  }

  Value operator[](StringRef name) {
    for (auto [argument, text] : llvm::zip(def.getBody().getArguments(), def.getArgumentNames()))
      if (cast<StringAttr>(text).getValue() == name)
        return argument;
    throw std::logic_error("no argument " + name.str());
  }
  template <typename OpTy, typename... Args> OpTy create(StringRef segment, Args... args) {
    return model::createOp<OpTy>(builder, location, args..., segment);
  }
  Value linear(StringRef segment, Value x, StringRef weight, StringRef bias = "", StringRef biasSegment = "") {
    Value y = create<model::LinearOp>(segment, x, (*this)[weight]).getY();
    return bias.empty() ? y : create<model::BiasAddOp>(biasSegment.empty() ? segment : biasSegment, y, (*this)[bias]).getY();
  }
  Value add(Value a, Value b) { return create<model::AddOp>("stream", a, b).getY(); }
  void yield(Value output) { model::YieldOp::create(builder, location, output, ValueRange(), ValueRange(), ValueRange()); }

private:
  static constexpr int64_t kDynamic = ShapedType::kDynamic;
  OpBuilder builder;
  Location location = builder.getUnknownLoc();
  model::BlockDefOp def;
};

constexpr double eps = 1e-5;

void writeLlama(ModuleOp module) {
  BlockWriter w(module, "decoder", {"x"}, {{"norm1", {12}}, {"wq", {16, 12}}, {"wk", {8, 12}}, {"wv", {8, 12}},
                                           {"q_norm", {4}}, {"k_norm", {4}}, {"wo", {12, 16}}, {"norm2", {12}},
                                           {"gate", {10, 12}}, {"up", {10, 12}}, {"down", {12, 10}}});
  Value n = w.create<model::RmsNormOp>("stream", w["x"], w["norm1"], eps).getY();
  auto rotated = [&](StringRef weight, StringRef norm) {
    Value y = w.create<model::RmsNormOp>("attention", w.linear("attention", n, weight), w[norm], eps).getY();
    return w.create<model::RopeOp>("attention", y, 4, 4, ArrayRef<double>{1.0, 0.3}, false, 1.1, false).getY();
  };
  Value q = rotated("wq", "q_norm"), k = rotated("wk", "k_norm"), v = w.linear("attention", n, "wv");
  Value o = w.create<model::AttentionOp>("attention", q, k, v, 4, 2, 4, 0.5, true, 0).getO();
  Value x1 = w.add(w["x"], w.linear("attention", o, "wo"));
  Value n2 = w.create<model::RmsNormOp>("stream", x1, w["norm2"], eps).getY();
  Value a = w.create<model::GatedActivationOp>("mlp", w.linear("mlp", n2, "gate"), w.linear("mlp", n2, "up"),
                                               model::ActivationKind::Silu).getY();
  w.yield(w.add(x1, w.linear("mlp", a, "down")));
}

void writeGpt(ModuleOp module) {
  BlockWriter w(module, "decoder", {"x"}, {{"norm1", {12}}, {"norm1.bias", {12}}, {"wq", {12, 12}}, {"bq", {12}},
                                           {"wk", {12, 12}}, {"bk", {12}}, {"wv", {12, 12}}, {"bv", {12}}, {"wo", {12, 12}},
                                           {"bo", {12}}, {"norm2", {12}}, {"norm2.bias", {12}}, {"up", {10, 12}},
                                           {"bup", {10}}, {"down", {12, 10}}, {"bdown", {12}}});
  Value n = w.create<model::LayerNormOp>("stream", w["x"], w["norm1"], w["norm1.bias"], eps).getY();
  Value q = w.linear("attention", n, "wq", "bq"), k = w.linear("attention", n, "wk", "bk"), v = w.linear("attention", n, "wv", "bv");
  Value o = w.create<model::AttentionOp>("attention", q, k, v, 3, 3, 4, 0.5, true, 0).getO();
  Value x1 = w.add(w["x"], w.linear("attention", o, "wo", "bo", "stream"));
  Value n2 = w.create<model::LayerNormOp>("stream", x1, w["norm2"], w["norm2.bias"], eps).getY();
  Value a = w.create<model::ActivationOp>("mlp", w.linear("mlp", n2, "up", "bup"), model::ActivationKind::GeluTanh).getY();
  w.yield(w.add(x1, w.linear("mlp", a, "down", "bdown", "stream")));
}

void writeParallel(ModuleOp module) {
  BlockWriter w(module, "decoder", {"x"}, {{"norm1", {12}}, {"wq", {12, 12}}, {"wk", {4, 12}}, {"wv", {4, 12}},
                                           {"wo", {12, 12}}, {"up", {10, 12}}, {"other", {10, 12}}, {"down", {12, 10}}});
  Value n = w.create<model::RmsNormOp>("stream", w["x"], w["norm1"], eps).getY();
  auto rotated = [&](StringRef weight) {
    return w.create<model::RopeOp>("attention", w.linear("attention", n, weight), 4, 2, ArrayRef<double>{0.7}, true, 1.0, false).getY();
  };
  Value q = rotated("wq"), k = rotated("wk"), v = w.linear("attention", n, "wv");
  Value o = w.create<model::AttentionOp>("attention", q, k, v, 3, 1, 4, 0.5, true, 3).getO();
  Value a = w.create<model::ActivationOp>("mlp", w.linear("mlp", n, "up"), model::ActivationKind::Gelu).getY();
  Value product = w.create<model::MulOp>("mlp", a, w.linear("mlp", n, "other")).getY();
  Value scaled = w.create<model::ScaleOp>("mlp", product, 0.5).getY();
  w.yield(w.add(w["x"], w.add(w.linear("attention", o, "wo"), w.linear("mlp", scaled, "down"))));
}

void writeEmbedding(ModuleOp module) {
  BlockWriter w(module, "embedding", {"tokens"}, {{"w", {11, 12}}, {"positions", {7, 12}}});
  Value y = w.create<model::EmbeddingOp>("embedding", w["tokens"], w["w"]).getY();
  w.yield(w.create<model::PositionEmbeddingOp>("stream", y, w["positions"]).getY());
}

void writeHead(ModuleOp module) {
  BlockWriter w(module, "head", {"x", "labels", "loss_scale"}, {{"norm", {12}}, {"w", {11, 12}}});
  Value n = w.create<model::RmsNormOp>("stream", w["x"], w["norm"], eps).getY();
  Value logits = w.linear("head", n, "w");
  Value m = w.create<model::RowMaxOp>("head", logits).getM();
  Value z = w.create<model::RowSumExpOp>("head", logits, m).getZ();
  Value t = w.create<model::RowPickOp>("head", logits, w["labels"]).getT();
  w.yield(w.create<model::CrossEntropyOp>("head", m, z, t, w["labels"]).getLoss());
}

void writeSquare(ModuleOp module) {
  BlockWriter w(module, "square", {"x"}, {{"w", {12, 12}}});
  w.yield(w.add(w["x"], w.linear("mlp", w["x"], "w")));
}

} // namespace

Model analyzedModel(const std::string &block) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<model::ModelDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  Builder builder(&context);
  (*module)->setAttr(model::kNameAttr, builder.getStringAttr("test"));
  (*module)->setAttr(model::kFamilyAttr, builder.getStringAttr("llama"));
  (*module)->setAttr(model::kVocabSizeAttr, builder.getI64IntegerAttr(11));
  static const std::map<std::string, void (*)(ModuleOp)> writers = {
      {"llama", writeLlama}, {"gpt", writeGpt}, {"parallel", writeParallel},
      {"embedding", writeEmbedding}, {"head", writeHead}, {"square", writeSquare}};
  writers.at(block)(*module);
  if (failed(verify(*module)) || failed(differentiateModule(*module)) || failed(verify(*module)) ||
      failed(verifyDifferentiated(*module)))
    throw std::logic_error("block " + block + " is not well formed");
  FailureOr<Model> model = analyzeModule(*module);
  if (failed(model))
    throw std::logic_error("block " + block + " has no summary");
  return *model;
}

} // namespace plait::test
