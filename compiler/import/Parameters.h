// The logical tensors of a model, their places in a Hugging Face checkpoint, and the chain of blocks that uses them.
//
// A weight is always [out, in], whatever the checkpoint stores: GPT-2 keeps [in, out] with queries, keys and values
// side by side; GPT-NeoX interleaves them by head. Such a tensor is named after the checkpoint's plus its part, as
// "transformer.h.0.attn.c_attn.weight#q", and its view says which elements it is.
#ifndef PLAIT_COMPILER_IMPORT_PARAMETERS_H
#define PLAIT_COMPILER_IMPORT_PARAMETERS_H

#include "compiler/import/ModelSpec.h"
#include "cost_model/problem/Problem.h"

namespace plait {

/// A parameter in its role inside a block: "norm1.weight", "q.weight", "gate.weight", "down.bias", ...
struct RoleParam {
  std::string role;
  Id param = 0; ///< index into ModelParameters::params
};

/// Blocks of one kind have the same structure and the same roles in the same order.
struct ChainBlock {
  std::string kind;   ///< "embedding", "decoder", "decoder_window", "head"
  int32_t layer = -1; ///< -1 for embedding and head
  std::vector<RoleParam> params;
};

struct ModelParameters {
  std::vector<ParamTensor> params; ///< a tied tensor appears once
  std::vector<ChainBlock> chain;   ///< embedding, layers, head
  int64_t elements = 0;
};

/// Error: more elements than 64 bits count.
Result<ModelParameters> modelParameters(const ModelSpec &spec);

} // namespace plait

#endif
