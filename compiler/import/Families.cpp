#include "compiler/import/Families.h"
#include <cmath>

namespace plait {

static constexpr IntegerRange kWidth{1, kMaxWidth};

/// Hugging Face's name of an activation -> ours; the tanh forms differ only in how they are computed.
static std::string readActivation(ConfigReader &reader, const std::string &key, const std::string &fallback) {
  static const std::pair<const char *, const char *> names[] = {
      {"silu", "silu"},          {"swish", "silu"},     {"gelu", "gelu"},
      {"gelu_new", "gelu_tanh"}, {"gelu_fast", "gelu_tanh"}, {"gelu_pytorch_tanh", "gelu_tanh"},
      {"relu", "relu"},          {"relu2", "relu2"}};
  std::string name = reader.string(key, fallback), known;
  for (const auto &[theirs, ours] : names) {
    if (name == theirs)
      return ours;
    known += (known.empty() ? "" : ", ") + std::string(theirs);
  }
  reader.fail(key, "unknown activation; known: " + known);
  return "silu";
}

/// head_dim wins; without it hidden / heads, which must then divide.
static int64_t headDimOr(ConfigReader &reader, std::optional<int64_t> explicitDim, const ModelSpec &spec) {
  if (explicitDim)
    return *explicitDim;
  if (spec.hidden % spec.heads != 0)
    reader.fail("hidden size " + std::to_string(spec.hidden) + " is not divisible by " + std::to_string(spec.heads) +
                " attention heads and the file has no head_dim; what works: a divisor, or head_dim");
  return spec.hidden / spec.heads;
}

/// Layers from `firstSliding` on see `window` keys; `layer_types`, if present, says so layer by layer.
static void readWindows(ConfigReader &reader, ModelSpec &spec, int64_t window, int64_t firstSliding) {
  spec.windows.assign(size_t(spec.layers), 0);
  std::vector<std::string> types = reader.strings("layer_types");
  if (!types.empty() && types.size() != spec.windows.size()) {
    reader.fail("'layer_types' names " + std::to_string(types.size()) + " layers of " + std::to_string(spec.layers));
    return;
  }
  for (size_t layer = 0; layer < spec.windows.size(); ++layer) {
    bool sliding = types.empty() ? int64_t(layer) >= firstSliding : types[layer] == "sliding_attention";
    if (!types.empty() && !sliding && types[layer] != "full_attention")
      return reader.fail("layer_types", types[layer].substr(0, 60) +
                                            " is unknown; known: full_attention, sliding_attention");
    if (!types.empty() && sliding && window == 0)
      return reader.fail("layer_types", "names sliding_attention but there is no sliding window");
    if (sliding)
      spec.windows[layer] = window;
  }
}

/// What Llama's relatives share: gated SiLU, RMS norm, rotary positions. Defaults in the order of the parameters.
struct LlamaDefaults {
  int64_t vocab, hidden, ffn;
  std::optional<int64_t> kvHeads; ///< absent: as many as query heads
  int64_t maxPositions;
  std::optional<int64_t> headDim;
};

static void readLlamaLike(ConfigReader &reader, ModelSpec &spec, const LlamaDefaults &defaults) {
  spec.vocab = reader.integer("vocab_size", defaults.vocab, kWidth);
  spec.hidden = reader.integer("hidden_size", defaults.hidden, kWidth);
  spec.ffn = reader.integer("intermediate_size", defaults.ffn, kWidth);
  spec.layers = reader.integer("num_hidden_layers", 32, {1, kMaxLayers});
  spec.heads = reader.integer("num_attention_heads", 32, kWidth);
  std::optional<int64_t> kvHeads = reader.optionalInteger("num_key_value_heads", kWidth);
  if (!kvHeads && !reader.isNull("num_key_value_heads"))
    kvHeads = defaults.kvHeads;
  spec.kvHeads = kvHeads.value_or(spec.heads);
  std::optional<int64_t> headDim = reader.optionalInteger("head_dim", {1, kMaxHeadDim});
  spec.headDim = headDimOr(reader, headDim ? headDim : defaults.headDim, spec);
  spec.maxPositions = reader.integer("max_position_embeddings", defaults.maxPositions, {1, INT32_MAX});
  spec.gated = true;
  spec.activation = readActivation(reader, "hidden_act", "silu");
  spec.normEps = reader.number("rms_norm_eps", 1e-6, 1e-30, 1);
  spec.tied = reader.boolean("tie_word_embeddings", false);
  spec.initStd = spec.residualInitStd = reader.number("initializer_range", 0.02, 0, 1e3);
  reader.ignore({"attention_dropout", "pretraining_tp"});
  RotaryDefaults rotary;
  rotary.theta = reader.number("rope_theta", 10000, 1.0000001, 1e15);
  rotary.headDim = spec.headDim;
  rotary.maxPositions = spec.maxPositions;
  spec.rotary = readRotary(reader, rotary);
}

static void readLlama(ConfigReader &reader, ModelSpec &spec) {
  readLlamaLike(reader, spec, {32000, 4096, 11008, std::nullopt, 2048, std::nullopt});
  spec.qkvBias = spec.outBias = reader.boolean("attention_bias", false);
  spec.mlpBias = reader.boolean("mlp_bias", false);
  spec.windows.assign(size_t(spec.layers), 0);
}

static void readMistral(ConfigReader &reader, ModelSpec &spec) {
  readLlamaLike(reader, spec, {32000, 4096, 14336, 8, 4096 * 32, std::nullopt});
  // An absent window is the default of 4096; null switches it off.
  int64_t absent = reader.isNull("sliding_window") ? 0 : 4096;
  spec.windows.assign(size_t(spec.layers), reader.optionalInteger("sliding_window", {1, INT32_MAX}).value_or(absent));
}

static void readQwenWindows(ConfigReader &reader, ModelSpec &spec) {
  bool use = reader.boolean("use_sliding_window", false);
  int64_t absent = reader.isNull("sliding_window") ? 0 : 4096;
  int64_t window = reader.optionalInteger("sliding_window", {1, INT32_MAX}).value_or(absent);
  readWindows(reader, spec, use ? window : 0, reader.integer("max_window_layers", 28, {0, kMaxLayers}));
}

static void readQwen2(ConfigReader &reader, ModelSpec &spec) {
  readLlamaLike(reader, spec, {151936, 4096, 22016, 32, 32768, std::nullopt});
  spec.qkvBias = true;
  readQwenWindows(reader, spec);
}

static void readQwen3(ConfigReader &reader, ModelSpec &spec) {
  readLlamaLike(reader, spec, {151936, 4096, 22016, 32, 32768, 128});
  spec.qkvBias = spec.outBias = reader.boolean("attention_bias", false);
  spec.qkNorm = true;
  readQwenWindows(reader, spec);
}

static void readGpt2(ConfigReader &reader, ModelSpec &spec) {
  spec.vocab = reader.integer("vocab_size", 50257, kWidth);
  spec.hidden = reader.integer("n_embd", 768, kWidth);
  spec.layers = reader.integer("n_layer", 12, {1, kMaxLayers});
  spec.heads = spec.kvHeads = reader.integer("n_head", 12, kWidth);
  spec.headDim = headDimOr(reader, std::nullopt, spec);
  spec.ffn = reader.optionalInteger("n_inner", kWidth).value_or(4 * spec.hidden);
  spec.maxPositions = reader.integer("n_positions", 1024, kWidth);
  spec.activation = readActivation(reader, "activation_function", "gelu_new");
  spec.layerNorm = spec.learnedPositions = true;
  spec.normEps = reader.number("layer_norm_epsilon", 1e-5, 1e-30, 1);
  spec.qkvBias = spec.outBias = spec.mlpBias = true;
  spec.tied = reader.boolean("tie_word_embeddings", true);
  spec.initStd = reader.number("initializer_range", 0.02, 0, 1e3);
  spec.residualInitStd = spec.initStd / std::sqrt(2.0 * double(spec.layers));
  spec.windows.assign(size_t(spec.layers), 0);
  reader.requireFlag("scale_attn_weights", true, "attention without 1/sqrt(head size) is not understood");
  reader.requireFlag("scale_attn_by_inverse_layer_idx", false, "a scale that differs by layer is not understood");
  reader.ignore({"attn_pdrop", "embd_pdrop", "resid_pdrop", "n_ctx", "reorder_and_upcast_attn", "summary_activation",
                 "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj"});
}

static void readGptNeox(ConfigReader &reader, ModelSpec &spec) {
  spec.vocab = reader.integer("vocab_size", 50432, kWidth);
  spec.hidden = reader.integer("hidden_size", 6144, kWidth);
  spec.layers = reader.integer("num_hidden_layers", 44, {1, kMaxLayers});
  spec.heads = spec.kvHeads = reader.integer("num_attention_heads", 64, kWidth);
  spec.headDim = headDimOr(reader, std::nullopt, spec);
  spec.ffn = reader.integer("intermediate_size", 24576, kWidth);
  spec.maxPositions = reader.integer("max_position_embeddings", 2048, {1, INT32_MAX});
  spec.activation = readActivation(reader, "hidden_act", "gelu");
  spec.layerNorm = true;
  spec.normEps = reader.number("layer_norm_eps", 1e-5, 1e-30, 1);
  spec.qkvBias = spec.outBias = reader.boolean("attention_bias", true);
  spec.mlpBias = true;
  spec.parallelResidual = reader.boolean("use_parallel_residual", true);
  spec.tied = reader.boolean("tie_word_embeddings", false);
  spec.initStd = spec.residualInitStd = reader.number("initializer_range", 0.02, 0, 1e3);
  spec.windows.assign(size_t(spec.layers), 0);
  reader.ignore({"attention_dropout", "attention_probs_dropout_prob", "hidden_dropout", "hidden_dropout_prob",
                 "classifier_dropout"});
  RotaryDefaults rotary;
  rotary.theta = reader.number("rotary_emb_base", 10000, 1.0000001, 1e15);
  rotary.partial = reader.number("rotary_pct", 0.25, 0, 1);
  rotary.headDim = spec.headDim;
  rotary.maxPositions = spec.maxPositions;
  spec.rotary = readRotary(reader, rotary);
}

static constexpr Family kFamilies[] = {{"llama", readLlama}, {"mistral", readMistral}, {"qwen2", readQwen2},
                                       {"qwen3", readQwen3}, {"gpt2", readGpt2},       {"gpt_neox", readGptNeox}};

std::span<const Family> families() { return kFamilies; }

const Family *findFamily(const std::string &modelType) {
  for (const Family &family : kFamilies)
    if (modelType == family.modelType)
      return &family;
  return nullptr;
}

} // namespace plait
