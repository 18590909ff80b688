// The imported module: structure, segments and locations of every op, parameters, text round trip.
#include "compiler/import/ImportConfig.h"
#include "dialects/model/Model.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace plait;
using Catch::Contains;

static std::string modelPath(const std::string &name) {
  return std::string(PLAIT_TEST_DATA) + "/models/" + name + ".json";
}

static OwningOpRef<ModuleOp> import(MLIRContext &context, const std::string &name) {
  Result<OwningOpRef<ModuleOp>> module = importConfig(context, modelPath(name));
  INFO((module ? "" : module.error().message));
  REQUIRE(module);
  return std::move(*module);
}

static OwningOpRef<ModuleOp> parsed(MLIRContext &context, const std::string &config) {
  Result<ModelSpec> spec = parseModelSpec(config, "test.json");
  REQUIRE(spec);
  Result<ModelParameters> parameters = modelParameters(*spec);
  REQUIRE(parameters);
  Result<OwningOpRef<ModuleOp>> module = buildModel(context, *spec, *parameters);
  REQUIRE(module);
  return std::move(*module);
}

static std::string text(ModuleOp module) {
  std::string result;
  llvm::raw_string_ostream stream(result);
  module.print(stream, OpPrintingFlags().enableDebugInfo());
  return result;
}

static std::vector<model::BlockDefOp> definitions(ModuleOp module) {
  auto range = module.getOps<model::BlockDefOp>();
  return {range.begin(), range.end()};
}

static model::BlockDefOp definition(ModuleOp module, StringRef name) {
  auto def = module.lookupSymbol<model::BlockDefOp>(name);
  REQUIRE(def);
  return def;
}

/// "linear q [attention]" for each op.
static std::vector<std::string> listing(model::BlockDefOp def) {
  std::vector<std::string> result;
  for (Operation &op : def.getBody().front().without_terminator()) {
    auto location = dyn_cast<NameLoc>(op.getLoc());
    REQUIRE(location);
    result.push_back(op.getName().stripDialect().str() + " " + location.getName().str() + " [" +
                     cast<model::ComputeOpInterface>(op).segmentName().str() + "]");
  }
  return result;
}

template <typename OpTy> static OpTy only(model::BlockDefOp def) {
  auto range = def.getBody().getOps<OpTy>();
  REQUIRE(range.begin() != range.end());
  return *range.begin();
}

TEST_CASE("every model imports, and its text reads back to the same module") {
  auto name = GENERATE(as<std::string>{}, "llama-2-7b", "llama-3.2-1b", "llama-3.1-405b", "mistral-7b-v0.1", "qwen2-7b",
                       "qwen3-8b", "gpt2-xl", "gpt-neox-20b", "tiny-llama", "tiny-llama-untied", "tiny-qwen3",
                       "tiny-gpt2", "tiny-neox", "byte-llama");
  INFO(name);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = import(context, name);
  std::string printed = text(*module);
  OwningOpRef<ModuleOp> again = parseSourceString<ModuleOp>(printed, ParserConfig(&context));
  REQUIRE(again);
  CHECK(text(*again) == printed);
  CHECK(text(*import(context, name)) == printed);

  Result<ModelSpec> spec = readModelSpec(modelPath(name));
  Result<ModelParameters> parameters = modelParameters(*spec);
  int64_t elements = 0;
  for (model::ParamOp param : module->getOps<model::ParamOp>())
    elements += cast<RankedTensorType>(param.getType()).getNumElements();
  CHECK(elements == parameters->elements);
  auto uses = module->getOps<model::UseOp>();
  CHECK(std::distance(uses.begin(), uses.end()) == spec->layers + 2);
  CHECK(definitions(*module).size() == 3);
  CHECK((*module)->getAttrOfType<StringAttr>(model::kNameAttr).getValue() == name);
  CHECK((*module)->getAttrOfType<IntegerAttr>(model::kVocabSizeAttr).getInt() == spec->vocab);
}

TEST_CASE("Llama's blocks") {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = import(context, "tiny-llama");
  CHECK(listing(definition(*module, "embedding")) == std::vector<std::string>{"embedding embedding [embedding]"});
  model::BlockDefOp decoder = definition(*module, "decoder");
  CHECK(listing(decoder) ==
        std::vector<std::string>{"rms_norm norm1 [stream]", "linear q [attention]", "rope rope q [attention]",
                                 "linear k [attention]", "rope rope k [attention]", "linear v [attention]",
                                 "attention attention [attention]", "linear o [attention]", "add residual 1 [stream]",
                                 "rms_norm norm2 [stream]", "linear gate [mlp]", "linear up [mlp]",
                                 "gated_activation activation [mlp]", "linear down [mlp]", "add residual 2 [stream]"});
  CHECK(listing(definition(*module, "head")) ==
        std::vector<std::string>{"rms_norm norm [stream]", "linear head [head]", "row_max row max [head]",
                                 "row_sum_exp row sum [head]", "row_pick row pick [head]",
                                 "cross_entropy loss [head]"});
  auto attention = only<model::AttentionOp>(decoder);
  CHECK((attention.getHeads() == 6 && attention.getKvHeads() == 2 && attention.getHeadDim() == 16));
  CHECK((attention.getScale() == 0.25 && attention.getCausal() && attention.getWindow() == 0));
  auto rope = only<model::RopeOp>(decoder);
  CHECK((rope.getHeadDim() == 16 && rope.getRotaryDim() == 16 && rope.getInvFreq().size() == 8));
  CHECK((!rope.getInterleaved() && !rope.getInverse() && rope.getFactor() == 1));
  CHECK(only<model::RmsNormOp>(decoder).getEps() == 1e-5);
  CHECK(decoder.argumentName(0) == "x");
  CHECK(decoder.argumentName(1) == "norm1.weight");
  // The head's weight is the embedding's.
  auto uses = module->getOps<model::UseOp>();
  model::UseOp first = *uses.begin(), last = *std::next(uses.begin(), 7);
  CHECK(last.getParams()[1] == first.getParams()[0]);
  CHECK_FALSE(first.getLayer().has_value());
  CHECK((*std::next(uses.begin(), 6)).getLayer() == 5);
}

TEST_CASE("GPT-2's blocks have biases, layer norms and learned positions") {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = import(context, "tiny-gpt2");
  CHECK(listing(definition(*module, "embedding")) ==
        std::vector<std::string>{"embedding embedding [embedding]", "position_embedding positions [stream]"});
  CHECK(listing(definition(*module, "decoder")) ==
        std::vector<std::string>{"layer_norm norm1 [stream]", "linear q [attention]", "bias_add q bias [attention]",
                                 "linear k [attention]", "bias_add k bias [attention]", "linear v [attention]",
                                 "bias_add v bias [attention]", "attention attention [attention]",
                                 "linear o [attention]", "bias_add o bias [stream]", "add residual 1 [stream]",
                                 "layer_norm norm2 [stream]", "linear up [mlp]", "bias_add up bias [mlp]",
                                 "activation activation [mlp]", "linear down [mlp]", "bias_add down bias [stream]",
                                 "add residual 2 [stream]"});
  CHECK(only<model::ActivationOp>(definition(*module, "decoder")).getKind() == model::ActivationKind::GeluTanh);
  auto k = module->lookupSymbol<model::ParamOp>("transformer.h.1.attn.c_attn.weight#k");
  REQUIRE(k);
  CHECK((k.getHfName() == "transformer.h.1.attn.c_attn.weight" && k.getHfBase() == 64 && k.getDecay()));
  CHECK(*k.getHfStrides() == ArrayRef<int64_t>{1, 192});
  auto norm = module->lookupSymbol<model::ParamOp>("transformer.ln_f.weight");
  REQUIRE(norm);
  CHECK((!norm.getHfShape() && !norm.getHfName() && norm.getInit() == model::InitKind::Ones && !norm.getDecay()));
}

TEST_CASE("GPT-NeoX adds both branches to x") {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = import(context, "tiny-neox");
  model::BlockDefOp decoder = definition(*module, "decoder");
  mlir::Value x = decoder.input("x");
  SmallVector<std::string> readers;
  for (Operation *user : x.getUsers())
    readers.push_back(cast<NameLoc>(user->getLoc()).getName().str());
  llvm::sort(readers);
  CHECK(readers == SmallVector<std::string>{"norm1", "norm2", "residual"});
  CHECK(only<model::RopeOp>(decoder).getRotaryDim() == 4);
  OwningOpRef<ModuleOp> serial = parsed(context, R"({"model_type": "gpt_neox", "use_parallel_residual": false})");
  CHECK(listing(definition(*serial, "decoder")).back() == "add residual 2 [stream]");
}

TEST_CASE("Qwen3 normalises queries and keys by head, Qwen2 adds biases to them") {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> qwen3 = import(context, "tiny-qwen3");
  std::vector<std::string> ops = listing(definition(*qwen3, "decoder"));
  CHECK(std::vector<std::string>(ops.begin() + 1, ops.begin() + 7) ==
        std::vector<std::string>{"linear q [attention]", "rms_norm q norm [attention]", "rope rope q [attention]",
                                 "linear k [attention]", "rms_norm k norm [attention]", "rope rope k [attention]"});
  OwningOpRef<ModuleOp> qwen2 = import(context, "qwen2-7b");
  ops = listing(definition(*qwen2, "decoder"));
  CHECK(ops[2] == "bias_add q bias [attention]");
  CHECK(std::count_if(ops.begin(), ops.end(), [](const std::string &op) { return op.rfind("bias_add", 0) == 0; }) == 3);
}

TEST_CASE("layers with and without a window are two kinds of blocks") {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parsed(context, R"({"model_type": "qwen2", "num_hidden_layers": 3,
      "use_sliding_window": true, "sliding_window": 128, "max_window_layers": 1})");
  CHECK(definitions(*module).size() == 4);
  CHECK(only<model::AttentionOp>(definition(*module, "decoder")).getWindow() == 0);
  CHECK(only<model::AttentionOp>(definition(*module, "decoder_window")).getWindow() == 128);
  std::vector<std::string> kinds;
  for (model::UseOp use : module->getOps<model::UseOp>())
    kinds.push_back(use.getBlock().str());
  CHECK(kinds == std::vector<std::string>{"embedding", "decoder", "decoder_window", "decoder_window", "head"});
  // Mistral: every layer has the window, so one kind suffices.
  OwningOpRef<ModuleOp> mistral = import(context, "mistral-7b-v0.1");
  CHECK(only<model::AttentionOp>(definition(*mistral, "decoder")).getWindow() == 4096);
}

TEST_CASE("errors of every step come through") {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Result<OwningOpRef<ModuleOp>> module = importConfig(context, "/nonexistent.json");
  REQUIRE_FALSE(module);
  CHECK(module.error().message == "/nonexistent.json: cannot be read");
  module = importConfig(context, modelPath("tiny-llama"), {"/nonexistent"});
  REQUIRE_FALSE(module);
  CHECK_THAT(module.error().message, Contains("/nonexistent: no safetensors checkpoint"));
}
