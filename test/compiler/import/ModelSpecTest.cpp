// What config.json files mean: defaults by family, and the text of every refusal.
#include "compiler/import/ModelSpec.h"
#include "compiler/import/Parameters.h"
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

using namespace plait;
using Catch::Contains;

static ModelSpec parsed(const std::string &text) {
  Result<ModelSpec> spec = parseModelSpec(text, "m/config.json");
  INFO((spec ? "" : spec.error().message));
  REQUIRE(spec);
  return *spec;
}

static std::string refusal(const std::string &text) {
  Result<ModelSpec> spec = parseModelSpec(text, "m/config.json");
  REQUIRE_FALSE(spec);
  CHECK(spec.error().code == ExitCode::Usage);
  CHECK_THAT(spec.error().message, Catch::StartsWith("m/config.json: "));
  return spec.error().message;
}

/// A Llama of two layers with more settings.
static std::string llama(const std::string &more) {
  return R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4)" +
         (more.empty() ? "" : ", " + more) + "}";
}

TEST_CASE("defaults of absent keys differ by family") {
  ModelSpec spec = parsed(R"({"model_type": "llama"})");
  CHECK(spec.name == "m");
  CHECK((spec.layers == 32 && spec.hidden == 4096 && spec.kvHeads == 32 && spec.headDim == 128 && spec.ffn == 11008));
  CHECK((!spec.tied && !spec.qkvBias && !spec.mlpBias && spec.gated && spec.activation == "silu"));
  CHECK((spec.normEps == 1e-6 && spec.vocab == 32000));

  spec = parsed(R"({"model_type": "mistral"})");
  CHECK((spec.kvHeads == 8 && spec.windows == std::vector<int64_t>(32, 4096)));
  spec = parsed(R"({"model_type": "mistral", "sliding_window": null, "num_key_value_heads": null})");
  CHECK((spec.kvHeads == 32 && spec.windows == std::vector<int64_t>(32, 0)));

  spec = parsed(R"({"model_type": "qwen2"})");
  CHECK((spec.qkvBias && !spec.outBias && !spec.qkNorm && spec.kvHeads == 32 && spec.windows.back() == 0));
  spec = parsed(R"({"model_type": "qwen3"})");
  CHECK((!spec.qkvBias && spec.qkNorm && spec.headDim == 128));

  spec = parsed(R"({"model_type": "gpt2"})");
  CHECK((spec.tied && spec.layerNorm && spec.learnedPositions && spec.ffn == 3072 && spec.rotary.dim == 0));
  CHECK((spec.activation == "gelu_tanh" && spec.qkvBias && spec.outBias && spec.mlpBias && !spec.gated));

  spec = parsed(R"({"model_type": "gpt_neox"})");
  CHECK((!spec.tied && spec.parallelResidual && spec.rotary.dim == 24 && spec.activation == "gelu"));
}

TEST_CASE("the head size wins over hidden / heads") {
  ModelSpec spec = parsed(llama(R"("head_dim": 24, "num_key_value_heads": 2)"));
  CHECK(spec.headDim == 24);
  Result<ModelParameters> parameters = modelParameters(spec);
  REQUIRE(parameters);
  CHECK(parameters->params[2].shape == std::vector<int64_t>{96, 64}); // q
  CHECK(parameters->params[3].shape == std::vector<int64_t>{48, 64}); // k
}

TEST_CASE("windows by layer") {
  std::string base = R"({"model_type": "qwen2", "num_hidden_layers": 4, "use_sliding_window": true,
                         "sliding_window": 128)";
  CHECK(parsed(base + R"(, "max_window_layers": 3})").windows == std::vector<int64_t>{0, 0, 0, 128});
  std::string types = R"(, "layer_types": ["sliding_attention", "full_attention", "full_attention", )";
  ModelSpec spec = parsed(base + types + R"("sliding_attention"]})");
  CHECK(spec.windows == std::vector<int64_t>{128, 0, 0, 128});
  Result<ModelParameters> parameters = modelParameters(spec);
  REQUIRE(parameters);
  CHECK(parameters->chain[1].kind == "decoder_window");
  CHECK(parameters->chain[2].kind == "decoder");
  CHECK_THAT(refusal(base + types + R"("chunked_attention"]})"),
             Contains("chunked_attention is unknown; known: full_attention, sliding_attention"));
  CHECK_THAT(refusal(base + R"(, "layer_types": ["full_attention"]})"), Contains("'layer_types' names 1 layers of 4"));
  CHECK_THAT(refusal(R"({"model_type": "qwen2", "num_hidden_layers": 1, "layer_types": ["sliding_attention"]})"),
             Contains("names sliding_attention but there is no sliding window"));
}

TEST_CASE("unknown names are refused with the nearest known one") {
  CHECK_THAT(refusal(R"({"model_type": "llama4"})"),
             Contains("'model_type' is \"llama4\": unknown; known model types: llama, mistral, qwen2, qwen3, gpt2, "
                      "gpt_neox; the nearest is 'llama'"));
  CHECK_THAT(refusal("{}"), Contains("'model_type' is missing and has no default; known model types: llama"));
  CHECK_THAT(refusal(llama(R"("num_key_value_head": 2)")),
             Contains("unknown key 'num_key_value_head' (2), which could change what the model computes; the nearest "
                      "known key is 'num_key_value_heads'"));
  CHECK_THAT(refusal(llama(R"("hidden_act": "mish")")),
             Contains("'hidden_act' is \"mish\": unknown activation; known: silu, swish, gelu"));
  CHECK_THAT(refusal(llama(R"("rope_scaling": {"rope_type": "linear", "factor": 2, "facto": 1})")),
             Contains("m/config.json: 'rope_scaling': unknown key 'facto'"));
}

TEST_CASE("harmless keys and dropout are understood") {
  parsed(llama(R"("architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "eos_token_id": [1, 2],
                  "transformers_version": "4.43.0", "attention_dropout": 0.1, "use_cache": true)"));
}

TEST_CASE("wrong types and sizes are refused with key, value and range") {
  CHECK_THAT(refusal(llama(R"("intermediate_size": -3)")),
             Contains("'intermediate_size' is -3: expected an integer from 1 to 16777216"));
  CHECK_THAT(refusal(llama(R"("vocab_size": 0)")), Contains("'vocab_size' is 0: expected an integer from 1"));
  CHECK_THAT(refusal(llama(R"("vocab_size": "many")")), Contains("'vocab_size' is \"many\": expected an integer"));
  CHECK_THAT(refusal(llama(R"("vocab_size": 1.5)")), Contains("'vocab_size' is 1.5: expected an integer"));
  CHECK_THAT(refusal(llama(R"("vocab_size": 18446744073709551615)")), Contains("expected an integer"));
  CHECK_THAT(refusal(llama(R"("vocab_size": 1e300)")), Contains("expected an integer"));
  CHECK_THAT(refusal(R"({"model_type": "llama", "num_hidden_layers": 100000000})"),
             Contains("'num_hidden_layers' is 100000000: expected an integer from 1 to 10000"));
  CHECK_THAT(refusal(llama(R"("rms_norm_eps": 0)")),
             Contains("'rms_norm_eps' is 0: expected a number from 1e-30 to 1"));
  CHECK_THAT(refusal(llama(R"("rope_theta": "ten")")), Contains("'rope_theta' is \"ten\": expected a number"));
  CHECK_THAT(refusal(llama(R"("tie_word_embeddings": 1)")),
             Contains("'tie_word_embeddings' is 1: expected true or false"));
  CHECK_THAT(refusal(llama(R"("hidden_act": 3)")), Contains("'hidden_act' is 3: expected a string"));
  CHECK_THAT(refusal(llama(R"("rope_scaling": 3)")), Contains("'rope_scaling' is 3: expected an object"));
  CHECK_THAT(refusal(R"({"model_type": "qwen2", "layer_types": 3})"),
             Contains("'layer_types' is 3: expected a list of strings"));
  CHECK_THAT(refusal(R"({"model_type": 7})"), Contains("'model_type' is 7: expected a string"));
}

TEST_CASE("sizes that do not fit together are refused") {
  CHECK_THAT(refusal(llama(R"("num_key_value_heads": 3)")),
             Contains("4 query heads cannot share 3 key-value heads evenly; what works: a number of key-value heads "
                      "that divides the query heads"));
  CHECK_THAT(refusal(R"({"model_type": "llama", "hidden_size": 100, "num_attention_heads": 3})"),
             Contains("hidden size 100 is not divisible by 3 attention heads and the file has no head_dim"));
  CHECK_THAT(refusal(llama(R"("head_dim": 15)")), Contains("the rotary embedding covers 15 of 15 elements of a head"));
  CHECK_THAT(refusal(R"({"model_type": "llama", "num_attention_heads": 16777216, "head_dim": 65536})"),
             Contains("heads x head_dim is 1099511627776; the widest allowed is 16777216"));
}

TEST_CASE("models of other kinds are refused") {
  CHECK_THAT(refusal(llama(R"("quantization_config": {"quant_method": "gptq", "bits": 4})")),
             Contains("quantised weights are not run; what works: the configuration and checkpoint of the unquantised "
                      "model"));
  CHECK_THAT(refusal(llama(R"("is_encoder_decoder": true)")),
             Contains("'is_encoder_decoder' is true: only decoder-only models are understood; what works: false"));
  CHECK_THAT(refusal(R"({"model_type": "gpt2", "scale_attn_by_inverse_layer_idx": true})"),
             Contains("a scale that differs by layer is not understood; what works: false"));
  CHECK_THAT(refusal(R"({"model_type": "gpt2", "scale_attn_weights": false})"),
             Contains("attention without 1/sqrt(head size) is not understood; what works: true"));
  CHECK_THAT(refusal(llama(R"("pruned_heads": {"1": [0]})")), Contains("'pruned_heads': unknown key '1'"));
  CHECK_THAT(refusal(llama(R"("cross_attention_hidden_size": 64)")), Contains("what works: null"));
}

TEST_CASE("files that are not configurations") {
  CHECK_THAT(refusal("[1]"), Contains("expected a JSON object, found [1]"));
  CHECK_THAT(refusal("{\"model_type\": "), Contains("not valid JSON"));
  CHECK_THAT(refusal("\xff\xfe"), Contains("not valid JSON"));
  CHECK_THAT(refusal(std::string(100'000, '[')), Contains("not valid JSON"));
  Result<ModelSpec> absent = readModelSpec("/nonexistent/config.json");
  REQUIRE_FALSE(absent);
  CHECK(absent.error().message == "/nonexistent/config.json: cannot be read");
  Result<ModelSpec> folder = readModelSpec(PLAIT_TEST_DATA);
  REQUIRE_FALSE(folder);
  CHECK_THAT(folder.error().message, Contains("cannot be read; expected a file"));
}

TEST_CASE("no truncation or change of one byte crashes") {
  std::string text = llama(R"("rope_scaling": {"type": "yarn", "factor": 4.0}, "num_key_value_heads": 2)");
  int refused = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    refused += !parseModelSpec(text.substr(0, at), "t");
    for (char byte : {'\0', '9', '"', '{', '-', 'e'}) {
      std::string changed = text;
      changed[at] = byte;
      refused += !parseModelSpec(changed, "t");
    }
  }
  CHECK(refused > int(text.size()));
}
