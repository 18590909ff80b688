// The definitions of the three kinds of blocks in ops of the model dialect.
#ifndef PLAIT_COMPILER_IMPORT_BLOCKS_H
#define PLAIT_COMPILER_IMPORT_BLOCKS_H

#include "compiler/import/Parameters.h"
#include "mlir/IR/Builders.h"

namespace plait {

/// Adds the definition of `block`'s kind at the builder's insertion point. Arguments carry the roles' names; every op
/// has a location that names its role ("q", "rope k", "residual 1").
///
/// Segments: embedding lookup "embedding"; norms, residual sums, positions and the biases behind row-parallel products
/// "stream"; query, key, value, rotation, attention and output product "attention"; gate, up, activation and down
/// "mlp"; logits and loss "head".
void buildBlock(mlir::OpBuilder &builder, const ModelSpec &spec, const ChainBlock &block,
                const ModelParameters &parameters);

} // namespace plait

#endif
