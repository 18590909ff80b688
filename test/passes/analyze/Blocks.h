// Small models for tests of differentiation and analysis, built op by op.
#ifndef PLAIT_TEST_PASSES_ANALYZE_BLOCKS_H
#define PLAIT_TEST_PASSES_ANALYZE_BLOCKS_H

#include "cost_model/problem/Problem.h"

namespace plait::test {

/// One block with its uses, differentiated and analysed.
/// "llama": grouped heads (4 over 2 of 4 elements), head norms, rotation, gated MLP; width 12 and FFN width 10.
/// "gpt": layer norm, biases, as many key/value heads as heads, tanh GELU.
/// "parallel": both branches read x; partial interleaved rotation, window 3, exact GELU; `scale` and `mul` on the way.
/// "embedding": tokens and positions. "head": norm, logits, cross entropy of 11 ids.
/// "square": x + x w^T with w[12, 12].
Model analyzedModel(const std::string &block);

} // namespace plait::test

#endif
