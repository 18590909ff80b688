// Compares the tensors that a config.json implies with those that its checkpoint really holds, from the headers of the
// safetensors files alone. A configuration that disagrees with its weights is refused, not guessed around.
//
// Format: 8 bytes little-endian header length, then JSON {name: {dtype, shape, data_offsets: [begin, end]}}, then data.
// Headers may lie or be cut off: every length and offset is checked against the file before it is used.
#ifndef PLAIT_COMPILER_IMPORT_CHECKPOINT_H
#define PLAIT_COMPILER_IMPORT_CHECKPOINT_H

#include "compiler/import/Parameters.h"
#include <map>

namespace plait {

struct CheckpointTensor {
  std::string file;
  bool headerRead = false;    ///< false: only the index names the tensor, its file is not there
  std::string dtype;          ///< as written: "F32", "BF16", ...
  std::vector<int64_t> shape;
};
using Checkpoint = std::map<std::string, CheckpointTensor>;

/// Reads `model.safetensors.index.json` in `folder`, if there is one, and the headers of the files it names; else the
/// headers of all *.safetensors files. Without any shard at hand the index alone gives the names.
/// Errors: nothing found, some shards missing, damaged headers, a tensor in two files.
Result<Checkpoint> readCheckpointHeaders(const std::string &folder);

/// Checks that every parameter is in the checkpoint with its shape and a floating-point type and that the checkpoint
/// holds nothing else but known buffers (attention masks, rotary frequencies, a copy of a tied head). A checkpoint of
/// the base model lacks the first part of each name ("model.", "transformer."): hfName is then set to the shorter one.
Status matchCheckpoint(const Checkpoint &checkpoint, const std::string &folder, ModelParameters &parameters);

} // namespace plait

#endif
