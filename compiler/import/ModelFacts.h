// What can be said of a model before any cluster is known.
#ifndef PLAIT_COMPILER_IMPORT_MODELFACTS_H
#define PLAIT_COMPILER_IMPORT_MODELFACTS_H

#include "compiler/import/Parameters.h"

namespace plait {

struct ModelFacts {
  int64_t parameters = 0;         ///< tied tensors once
  double flopsPerToken = 0;       ///< one training step at `sequence`; see flopsDefinition()
  int64_t sequence = 0;           ///< tokens
  int64_t layers = 0, blocks = 0; ///< blocks: layers, embedding and head
  int64_t maxTensorParallel = 0;  ///< every degree from 1 to this is legal, shards then differ by one unit
  std::vector<int64_t> evenTensorParallel; ///< degrees that divide heads, FFN columns and vocabulary, and KV heads or
                                           ///< are divided by them
};

ModelFacts modelFacts(const ModelSpec &spec, const ModelParameters &parameters, int64_t sequence);

/// One sentence that says what flopsPerToken counts, to be printed with it.
const char *flopsDefinition();

} // namespace plait

#endif
