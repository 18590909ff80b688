#include "compiler/import/Parameters.h"
#include <set>

namespace plait {

namespace {

/// Tensor names of a family in Hugging Face's state dict; those with a layer number are prefixed by "<layers><n>.".
struct Names {
  const char *embedding, *positions, *layers, *norm1, *q, *k, *v, *o, *norm2, *gate, *up, *down, *finalNorm, *head;
};

constexpr Names kLlamaNames = {"model.embed_tokens", "",
                               "model.layers.",      "input_layernorm",
                               "self_attn.q_proj",   "self_attn.k_proj",
                               "self_attn.v_proj",   "self_attn.o_proj",
                               "post_attention_layernorm",
                               "mlp.gate_proj",      "mlp.up_proj",
                               "mlp.down_proj",      "model.norm",
                               "lm_head"};
constexpr Names kGpt2Names = {"transformer.wte", "transformer.wpe", "transformer.h.", "ln_1",
                              "attn.c_attn",     "attn.c_attn",     "attn.c_attn",    "attn.c_proj",
                              "ln_2",            "",                "mlp.c_fc",       "mlp.c_proj",
                              "transformer.ln_f", "lm_head"};
constexpr Names kNeoxNames = {"gpt_neox.embed_in",         "",
                              "gpt_neox.layers.",          "input_layernorm",
                              "attention.query_key_value", "attention.query_key_value",
                              "attention.query_key_value", "attention.dense",
                              "post_attention_layernorm",  "",
                              "mlp.dense_h_to_4h",         "mlp.dense_4h_to_h",
                              "gpt_neox.final_layer_norm", "embed_out"};

/// How the checkpoint stores the weights of linear layers.
enum class Storage { Plain, Gpt2, Neox };

class ParameterList {
public:
  explicit ParameterList(const ModelSpec &spec)
      : spec(spec), storage(spec.family == "gpt2"       ? Storage::Gpt2
                            : spec.family == "gpt_neox" ? Storage::Neox
                                                        : Storage::Plain),
        names(storage == Storage::Gpt2   ? kGpt2Names
              : storage == Storage::Neox ? kNeoxNames
                                         : kLlamaNames),
        mixedWindows(std::set<int64_t>(spec.windows.begin(), spec.windows.end()).size() > 1) {}

  Result<ModelParameters> build() {
    addEmbedding();
    for (int64_t layer = 0; layer < spec.layers; ++layer)
      addLayer(layer);
    addHead();
    for (const ParamTensor &param : result.params)
      if (!count(param))
        return usageError(spec.name + ": the parameters are more than 64 bits can count");
    return std::move(result);
  }

private:
  void begin(std::string kind, int64_t layer) { result.chain.push_back({std::move(kind), int32_t(layer), {}}); }

  void add(const std::string &role, ParamTensor tensor) {
    tensor.decay = tensor.shape.size() > 1;
    result.chain.back().params.push_back({role, Id(result.params.size())});
    result.params.push_back(std::move(tensor));
  }

  /// A tensor that is stored as it is used.
  void addPlain(const std::string &role, const std::string &name, std::vector<int64_t> shape, ParamTensor::Init init,
                double std = 0) {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t dim = shape.size(); dim-- > 1;)
      strides[dim - 1] = strides[dim] * shape[dim];
    ParamTensor tensor{name, shape, name, shape, 0, shape, std::move(strides), init, std, false};
    add(role, std::move(tensor));
  }

  void addNorm(const std::string &role, const std::string &name, int64_t width, bool bias) {
    addPlain(role + ".weight", name + ".weight", {width}, ParamTensor::Init::Ones);
    if (bias)
      addPlain(role + ".bias", name + ".bias", {width}, ParamTensor::Init::Zeros);
  }

  void addLinear(const std::string &role, const std::string &name, int64_t out, int64_t in, bool bias, double std) {
    if (storage == Storage::Gpt2)
      add(role + ".weight", {name + ".weight", {out, in}, name + ".weight", {in, out}, 0, {out, in}, {1, out},
                             ParamTensor::Init::Normal, std, false});
    else
      addPlain(role + ".weight", name + ".weight", {out, in}, ParamTensor::Init::Normal, std);
    if (bias)
      addPlain(role + ".bias", name + ".bias", {out}, ParamTensor::Init::Zeros);
  }

  /// Part 0 (q), 1 (k) or 2 (v) of a fused projection; all three are as wide.
  void addFusedPart(const std::string &role, const std::string &name, int64_t part) {
    int64_t out = spec.heads * spec.headDim, in = spec.hidden, heads = spec.heads, dim = spec.headDim;
    ParamTensor weight{name + ".weight#" + role, {out, in}, name + ".weight", {}, 0, {}, {}, ParamTensor::Init::Normal,
                       spec.initStd, false};
    ParamTensor bias{name + ".bias#" + role, {out}, name + ".bias", {3 * out}, 0, {}, {}, ParamTensor::Init::Zeros, 0,
                     false};
    if (storage == Storage::Gpt2) {
      // weight [in, 3 out]: the parts lie side by side.
      weight.hfShape = {in, 3 * out};
      weight.hfBase = bias.hfBase = part * out;
      weight.hfSizes = {out, in};
      weight.hfStrides = {1, 3 * out};
      bias.hfSizes = {out};
      bias.hfStrides = {1};
    } else {
      // weight [(heads, 3, dim), in]: the parts alternate by head.
      weight.hfShape = {3 * out, in};
      weight.hfBase = part * dim * in;
      weight.hfSizes = {heads, dim, in};
      weight.hfStrides = {3 * dim * in, in, 1};
      bias.hfBase = part * dim;
      bias.hfSizes = {heads, dim};
      bias.hfStrides = {3 * dim, 1};
    }
    add(role + ".weight", std::move(weight));
    if (spec.qkvBias)
      add(role + ".bias", std::move(bias));
  }

  void addEmbedding() {
    begin("embedding", -1);
    addPlain("embedding.weight", std::string(names.embedding) + ".weight", {spec.vocab, spec.hidden},
             ParamTensor::Init::Normal, spec.initStd);
    if (spec.learnedPositions)
      addPlain("positions.weight", std::string(names.positions) + ".weight", {spec.maxPositions, spec.hidden},
               ParamTensor::Init::Normal, spec.initStd);
  }

  void addQkv(const std::string &prefix) {
    if (storage != Storage::Plain) {
      addFusedPart("q", prefix + names.q, 0);
      addFusedPart("k", prefix + names.k, 1);
      addFusedPart("v", prefix + names.v, 2);
      return;
    }
    int64_t qWidth = spec.heads * spec.headDim, kvWidth = spec.kvHeads * spec.headDim;
    addLinear("q", prefix + names.q, qWidth, spec.hidden, spec.qkvBias, spec.initStd);
    addLinear("k", prefix + names.k, kvWidth, spec.hidden, spec.qkvBias, spec.initStd);
    addLinear("v", prefix + names.v, kvWidth, spec.hidden, spec.qkvBias, spec.initStd);
    if (spec.qkNorm) {
      addNorm("q_norm", prefix + "self_attn.q_norm", spec.headDim, false);
      addNorm("k_norm", prefix + "self_attn.k_norm", spec.headDim, false);
    }
  }

  void addLayer(int64_t layer) {
    bool windowed = mixedWindows && spec.windows[size_t(layer)] != 0;
    begin(windowed ? "decoder_window" : "decoder", layer);
    std::string prefix = names.layers + std::to_string(layer) + ".";
    addNorm("norm1", prefix + names.norm1, spec.hidden, spec.layerNorm);
    addQkv(prefix);
    addLinear("o", prefix + names.o, spec.hidden, spec.heads * spec.headDim, spec.outBias, spec.residualInitStd);
    addNorm("norm2", prefix + names.norm2, spec.hidden, spec.layerNorm);
    if (spec.gated)
      addLinear("gate", prefix + names.gate, spec.ffn, spec.hidden, spec.mlpBias, spec.initStd);
    addLinear("up", prefix + names.up, spec.ffn, spec.hidden, spec.mlpBias, spec.initStd);
    addLinear("down", prefix + names.down, spec.hidden, spec.ffn, spec.mlpBias, spec.residualInitStd);
  }

  void addHead() {
    begin("head", -1);
    addNorm("norm", names.finalNorm, spec.hidden, spec.layerNorm);
    if (spec.tied)
      result.chain.back().params.push_back({"head.weight", 0});
    else
      addPlain("head.weight", std::string(names.head) + ".weight", {spec.vocab, spec.hidden},
               ParamTensor::Init::Normal, spec.initStd);
  }

  bool count(const ParamTensor &param) {
    int64_t elements = 1;
    for (int64_t extent : param.shape)
      if (__builtin_mul_overflow(elements, extent, &elements))
        return false;
    return !__builtin_add_overflow(result.elements, elements, &result.elements);
  }

  const ModelSpec &spec;
  Storage storage;
  const Names &names;
  bool mixedWindows; ///< layers with and without a window
  ModelParameters result;
};

} // namespace

Result<ModelParameters> modelParameters(const ModelSpec &spec) { return ParameterList(spec).build(); }

} // namespace plait
