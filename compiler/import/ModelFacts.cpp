#include "compiler/import/ModelFacts.h"
#include <algorithm>

namespace plait {

const char *flopsDefinition() {
  return "model FLOPs per token of a training step: 3 x forward (backward counts twice); forward is 2 per weight of "
         "every linear layer, logits included, plus 4 x query width x keys seen, of which causal attention sees half "
         "the sequence on average (a window of w sees w - w^2 / 2s); a multiply and an add are two; recomputation, "
         "norms and element-wise work are not counted";
}

/// Keys that the average query of a causal sequence sees.
static double meanKeys(int64_t sequence, int64_t window) {
  double s = double(sequence), w = window == 0 ? s : std::min(s, double(window));
  return w - w * w / (2 * s);
}

static double forwardFlopsPerToken(const ModelSpec &spec, int64_t sequence) {
  double hidden = double(spec.hidden), qWidth = double(spec.heads * spec.headDim);
  double kvWidth = double(spec.kvHeads * spec.headDim);
  double attention = hidden * (2 * qWidth + 2 * kvWidth);
  double mlp = hidden * double(spec.ffn) * (spec.gated ? 3 : 2);
  double flops = 2 * (double(spec.layers) * (attention + mlp) + hidden * double(spec.vocab));
  for (int64_t window : spec.windows)
    flops += 4 * qWidth * meanKeys(sequence, window);
  return flops;
}

static std::vector<int64_t> evenDegrees(const ModelSpec &spec) {
  std::vector<int64_t> degrees;
  for (int64_t degree = 1; degree <= spec.heads; ++degree) {
    bool kvEven = spec.kvHeads % degree == 0 || degree % spec.kvHeads == 0;
    if (spec.heads % degree == 0 && spec.ffn % degree == 0 && spec.vocab % degree == 0 && kvEven)
      degrees.push_back(degree);
  }
  return degrees;
}

ModelFacts modelFacts(const ModelSpec &spec, const ModelParameters &parameters, int64_t sequence) {
  ModelFacts facts;
  facts.parameters = parameters.elements;
  facts.flopsPerToken = 3 * forwardFlopsPerToken(spec, sequence);
  facts.sequence = sequence;
  facts.layers = spec.layers;
  facts.blocks = int64_t(parameters.chain.size());
  facts.maxTensorParallel = std::min({spec.heads, spec.ffn, spec.vocab});
  facts.evenTensorParallel = evenDegrees(spec);
  return facts;
}

} // namespace plait
