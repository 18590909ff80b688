// A small model and problem written by hand: embedding, layers, head; tied or not. Enough for rules and costs.
#ifndef PLAIT_TEST_COST_MODEL_TINYMODEL_H
#define PLAIT_TEST_COST_MODEL_TINYMODEL_H

#include "cost_model/problem/Problem.h"

namespace plait::test {

/// The phases of `block`, all with the same operations; fine wherever only names, factors and parameters matter.
inline void addPhases(BlockSummary &block, const std::vector<OpTemplate> &ops) {
  for (const char *variant : {"none", "selective", "full"})
    for (Phase phase : {Phase::Forward, Phase::Backward, Phase::BackwardInput, Phase::BackwardWeight})
      block.phases.push_back({phase, variant, phase == Phase::Forward ? ops : std::vector<OpTemplate>{}, {}, {}});
}

inline OpTemplate op(Kernel kernel, std::vector<Id> operands, std::vector<Id> results, std::vector<int64_t> ints = {}) {
  OpTemplate op;
  op.kernel = kernel;
  op.origin = std::string(kernelName(kernel));
  op.segment = 1;
  op.operands = std::move(operands);
  op.results = std::move(results);
  op.ints = std::move(ints);
  return op;
}

/// Factors s, b, and `factor` of `units`; segments "stream" and `segment`; one weight split along `factor`.
/// The operation x -> y (or logits) runs split along the weight's first dimension.
inline BlockSummary block(const std::string &name, const std::string &segment, const std::string &factor, int64_t units) {
  BlockSummary block;
  block.name = name;
  block.factors = {{"s", 0}, {"b", 0}, {factor, units}};
  block.segments = {"stream", segment};
  Dim s{0, 1}, b{1, 1}, e{kNone, 8}, f{2, 4};
  block.values = {{"x", ElementKind::Activation, {s, b, e}},
                  {"w", ElementKind::Param, {f, e}},
                  {"dw", ElementKind::ParamGrad, {f, e}},
                  {"z", ElementKind::Activation, {s, b, f}},
                  {"y", ElementKind::Activation, {s, b, e}},
                  {"tokens", ElementKind::Index, {s, b}},
                  {"loss", ElementKind::Scalar, {{kNone, 1}}}};
  block.params = {{"w", 1, 2}};
  if (name == "embedding")
    block.tokens = 5;
  else
    block.x = block.dx = 0;
  if (name == "head")
    block.loss = 6;
  else
    block.y = block.dy = 4;
  if (name != "embedding")
    addPhases(block, {op(Kernel::Gemm, {0, 1}, {3}, {0, 1, 0})});
  else
    addPhases(block, {op(Kernel::Embedding, {5, 1}, {4})});
  if (name == "embedding")
    for (PhaseGraph &graph : block.phases)
      for (OpTemplate &each : graph.ops)
        each.reduces = {{2, Reduction::Sum}};
  return block;
}

/// `layers` decoder layers of 6 heads; vocabulary of 31 units. `tied`: embedding and head share one tensor.
inline std::shared_ptr<Model> tinyModel(uint32_t layers, bool tied = false) {
  auto model = std::make_shared<Model>();
  model->name = "tiny";
  model->kinds = {block("embedding", "embedding", "v", 31), block("decoder", "attention", "h", 6), block("head", "head", "v", 31)};
  auto param = [&](const std::string &name, int64_t rows) {
    ParamTensor tensor;
    tensor.name = name;
    tensor.shape = {rows, 8};
    model->params.push_back(tensor);
    return Id(model->params.size() - 1);
  };
  Id embedding = param("embedding", 124);
  model->chain.push_back({0, -1, {embedding}});
  for (uint32_t layer = 0; layer < layers; ++layer)
    model->chain.push_back({1, int32_t(layer), {param("layer" + std::to_string(layer), 24)}});
  model->chain.push_back({2, -1, {tied ? embedding : param("head", 124)}});
  return model;
}

/// One node of `devices` devices with `memory` bytes each.
inline Cluster flatCluster(uint32_t devices, uint64_t memory = 1'000'000) {
  Cluster cluster;
  cluster.name = "flat";
  cluster.classes = {{"small", "cpu", memory, 0}};
  cluster.domains = {{kNone, "root", kNone, 0, "ethernet", false}, {0, "node", 0, devices, "shm", true}};
  return cluster;
}

inline Problem tinyProblem(uint32_t layers, uint32_t devices, int64_t globalBatch, bool tied = false) {
  Problem problem;
  problem.model = tinyModel(layers, tied);
  problem.cluster = flatCluster(devices);
  problem.job.globalBatch = globalBatch;
  problem.job.seqLen = 16;
  return problem;
}

/// A pipeline whose stages have `tp` devices each and end at the given uses; starts at device `first`.
inline Replica pipeline(const std::vector<Id> &ends, uint32_t tp, uint32_t microbatches, uint32_t first = 0) {
  Replica replica;
  replica.microbatches = microbatches;
  Id use = 0;
  for (Id end : ends) {
    Stage stage;
    stage.devices = {first, tp, 1};
    stage.firstUse = use;
    stage.endUse = end;
    if (tp > 1)
      stage.maps = {{"attention", {{"h", {}}}}, {"embedding", {{"v", {}}}}, {"head", {{"v", {}}}}};
    replica.stages.push_back(stage);
    use = end;
    first += tp;
  }
  return replica;
}

} // namespace plait::test

#endif
