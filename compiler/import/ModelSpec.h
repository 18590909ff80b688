// ModelSpec: a decoder-only language model as a Hugging Face config.json describes it, with every default filled in and
// every derived quantity explicit. Plain data; no JSON, no MLIR.
//
// Understood model types: llama, mistral, qwen2, qwen3 (dense), gpt2, gpt_neox. Defaults of absent keys are those of
// Hugging Face transformers for the same model type. Dropout settings are understood and off: training here is
// deterministic unless dropout is asked for elsewhere. Keys that say nothing about the mathematics (token ids, class
// names, generation defaults) are passed over; any other key is an error.
#ifndef PLAIT_COMPILER_IMPORT_MODELSPEC_H
#define PLAIT_COMPILER_IMPORT_MODELSPEC_H

#include "compiler/import/Rotary.h"
#include "runtime/plan/Result.h"
#include <cstdint>
#include <string>
#include <vector>

namespace plait {

struct ModelSpec {
  std::string name;   ///< the file's name without .json, or its folder's if the file is config.json
  std::string family; ///< model_type
  int64_t layers = 0, hidden = 0;
  int64_t heads = 0, kvHeads = 0, headDim = 0; ///< query width is heads * headDim, not always hidden
  int64_t ffn = 0;
  bool gated = false;       ///< down(act(gate x) * up x); else down(act(up x))
  std::string activation;   ///< "silu", "gelu", "gelu_tanh", "relu", "relu2"
  bool layerNorm = false;   ///< layer norm with bias; else RMS norm
  double normEps = 0;
  bool qkvBias = false, outBias = false, mlpBias = false;
  bool qkNorm = false;      ///< RMS norm of each query and key head
  bool tied = false;        ///< the head's weight is the embedding's
  Rotary rotary;            ///< dim 0: none
  bool learnedPositions = false;
  bool parallelResidual = false; ///< x + attention(norm1 x) + mlp(norm2 x)
  std::vector<int64_t> windows;  ///< per layer: keys seen by a query, itself included; 0: all before it
  int64_t vocab = 0, maxPositions = 0;
  double initStd = 0.02;         ///< of every weight but those below
  double residualInitStd = 0.02; ///< of the two projections that write to the residual stream

  double attentionScale() const;
};

/// Reads config.json. Errors name the file, the key, its value and what works.
Result<ModelSpec> readModelSpec(const std::string &path);
/// The same from text; `place` stands for the file in messages and names the model.
Result<ModelSpec> parseModelSpec(const std::string &text, const std::string &place);

/// Known values of model_type.
std::vector<std::string> knownModelTypes();

} // namespace plait

#endif
