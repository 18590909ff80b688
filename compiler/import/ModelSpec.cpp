#include "compiler/import/ModelSpec.h"
#include "compiler/import/Families.h"
#include "cost_model/problem/Names.h"
#include <cmath>
#include <filesystem>

namespace plait {

double ModelSpec::attentionScale() const { return 1.0 / std::sqrt(double(headDim)); }

std::vector<std::string> knownModelTypes() {
  std::vector<std::string> names;
  for (const Family &family : families())
    names.push_back(family.modelType);
  return names;
}

static std::string modelName(const std::string &place) {
  std::filesystem::path path(place);
  bool generic = path.filename() == "config.json" && path.has_parent_path();
  return generic ? path.parent_path().filename().string() : path.stem().string();
}

/// Keys that say nothing about the mathematics of training.
static void ignoreHarmless(ConfigReader &reader) {
  reader.ignore({"architectures", "transformers_version", "torch_dtype", "dtype", "use_cache", "_name_or_path",
                 "name_or_path", "_commit_hash", "auto_map", "attn_implementation", "_attn_implementation",
                 "_attn_implementation_autoset", "gradient_checkpointing", "tokenizer_class",
                 "keys_to_ignore_at_inference"});
  reader.ignore({"bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "sep_token_id", "cls_token_id",
                 "mask_token_id", "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id"});
  reader.ignore({"output_attentions", "output_hidden_states", "return_dict", "return_dict_in_generate", "output_scores",
                 "torchscript", "use_bfloat16", "tf_legacy_loss", "problem_type", "finetuning_task",
                 "task_specific_params", "id2label", "label2id", "prefix", "chunk_size_feed_forward"});
  reader.ignore({"do_sample", "max_length", "min_length", "temperature", "top_k", "top_p", "typical_p",
                 "num_beams", "num_beam_groups", "num_return_sequences", "repetition_penalty", "length_penalty",
                 "diversity_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids",
                 "begin_suppress_tokens", "suppress_tokens", "early_stopping", "remove_invalid_values",
                 "exponential_decay_length_penalty"});
}

/// Settings that would make another kind of model.
static void refuseOtherModels(ConfigReader &reader) {
  reader.requireFlag("is_encoder_decoder", false, "only decoder-only models are understood");
  reader.requireFlag("add_cross_attention", false, "only decoder-only models are understood");
  reader.ignore({"is_decoder", "cross_attention_hidden_size", "tie_encoder_decoder", "pruned_heads"});
  if (reader.has("cross_attention_hidden_size"))
    reader.fail("cross_attention_hidden_size", "only decoder-only models are understood; what works: null");
  if (reader.has("pruned_heads"))
    reader.merge(reader.object("pruned_heads"));
  reader.ignore({"quantization_config"});
  if (reader.has("quantization_config"))
    reader.fail("quantization_config", "quantised weights are not run; what works: the configuration and checkpoint of "
                                       "the unquantised model");
}

/// Relations between settings; each was in range by itself.
static void checkSpec(ConfigReader &reader, const ModelSpec &spec) {
  if (spec.heads % spec.kvHeads != 0)
    reader.fail(std::to_string(spec.heads) + " query heads cannot share " + std::to_string(spec.kvHeads) +
                " key-value heads evenly; what works: a number of key-value heads that divides the query heads");
  if (spec.heads * spec.headDim > kMaxWidth)
    reader.fail("heads x head_dim is " + std::to_string(spec.heads * spec.headDim) + "; the widest allowed is " +
                std::to_string(kMaxWidth));
}

static Result<ModelSpec> readSpec(ConfigReader reader, const std::string &place) {
  std::string type = reader.string("model_type", std::nullopt);
  if (reader.failed())
    return usageError(reader.finish().error().message + "; known model types: " + joined(knownModelTypes()));
  ModelSpec spec;
  spec.name = modelName(place);
  spec.family = type;
  const Family *family = findFamily(type);
  if (!family) {
    reader.fail("model_type", "unknown; known model types: " + joined(knownModelTypes()) + "; the nearest is '" +
                                  nearestNames(type, knownModelTypes(), 1).front() + "'");
    return reader.finish().error();
  }
  ignoreHarmless(reader);
  refuseOtherModels(reader);
  family->read(reader, spec);
  if (!reader.failed())
    checkSpec(reader, spec);
  if (Status status = reader.finish(); !status)
    return status.error();
  return spec;
}

Result<ModelSpec> readModelSpec(const std::string &path) {
  Result<ConfigReader> reader = ConfigReader::open(path);
  if (!reader)
    return reader.error();
  return readSpec(std::move(*reader), path);
}

Result<ModelSpec> parseModelSpec(const std::string &text, const std::string &place) {
  Result<ConfigReader> reader = ConfigReader::parse(text, place);
  if (!reader)
    return reader.error();
  return readSpec(std::move(*reader), place);
}

} // namespace plait
