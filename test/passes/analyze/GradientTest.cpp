// Gradients of whole blocks against central differences, and every recompute variant against plain storage.
#include "test/passes/analyze/Blocks.h"
#include "test/passes/analyze/PhaseRunner.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace plait::test {

namespace {

/// A block with inputs and parameters; the scalar to differentiate is sum(y * dy), or the loss times its scale.
struct Case {
  Model model;
  BlockSummary &block;
  PhaseRunner runner;
  Tensors inputs;

  explicit Case(const std::string &name) : model(analyzedModel(name)), block(model.kinds.at(0)), runner(block, 5, 2) {
    std::mt19937 generator(7);
    auto fill = [&](Id value, double low, double high) {
      if (value == kNone)
        return;
      std::uniform_real_distribution<double> uniform(low, high);
      for (int64_t i = 0; i < runner.elementsOf(value); ++i)
        inputs[value].push_back(uniform(generator));
    };
    for (const BlockParam &param : block.params)
      fill(param.value, -0.8, 1.0);
    fill(block.x, -1, 1);
    fill(block.dy, -1, 1);
    for (Id ids : {block.tokens, block.labels})
      for (int64_t i = 0; ids != kNone && i < runner.elementsOf(ids); ++i)
        inputs[ids].push_back(ids == block.labels && i == 3 ? -1.0 : double((5 * i + 2) % 11));
    if (block.lossScale != kNone)
      inputs[block.lossScale] = {0.25};
  }

  Tensors forward(const std::string &variant = "none") { return runner.run(*block.find(Phase::Forward, variant), inputs); }

  double objective() {
    Tensors values = forward();
    if (block.loss != kNone)
      return values.at(block.loss)[0] * inputs.at(block.lossScale)[0];
    double sum = 0;
    for (size_t i = 0; i < inputs.at(block.dy).size(); ++i)
      sum += values.at(block.y)[i] * inputs.at(block.dy)[i];
    return sum;
  }

  /// What a backward phase may read: inputs other than x, parameters, and the values listed.
  Tensors given(const std::vector<Id> &crossing, const Tensors &computed) const {
    Tensors result = inputs;
    result.erase(block.x);
    for (Id value : crossing) {
      auto found = computed.find(value);
      result[value] = found != computed.end() ? found->second : inputs.at(value);
    }
    return result;
  }

  Tensors backward(const std::string &variant) {
    const PhaseGraph &graph = *block.find(Phase::Backward, variant);
    return runner.run(graph, given(graph.saved, forward(variant)));
  }

  /// backward_input, then backward_weight from what was saved and carried.
  Tensors splitBackward(const std::string &variant) {
    const PhaseGraph &input = *block.find(Phase::BackwardInput, variant), &weight = *block.find(Phase::BackwardWeight, variant);
    Tensors available = forward(variant);
    Tensors first = runner.run(input, given(input.saved, available));
    available.insert(first.begin(), first.end());
    std::vector<Id> crossing = weight.saved;
    crossing.insert(crossing.end(), weight.carried.begin(), weight.carried.end());
    Tensors start = given(crossing, available);
    if (std::find(weight.carried.begin(), weight.carried.end(), block.dy) == weight.carried.end())
      start.erase(block.dy);
    Tensors second = runner.run(weight, start);
    first.insert(second.begin(), second.end());
    return first;
  }

  std::vector<std::pair<Id, Id>> gradients() const {
    std::vector<std::pair<Id, Id>> pairs;
    if (block.x != kNone)
      pairs.push_back({block.x, block.dx});
    for (const BlockParam &param : block.params)
      pairs.push_back({param.value, param.grad});
    return pairs;
  }
};

} // namespace

TEST_CASE("gradients of a block are those of central differences") {
  Case test(GENERATE("llama", "gpt", "parallel", "embedding", "head", "square"));
  Tensors computed = test.backward("none");
  const double step = 1e-5;
  for (auto [value, grad] : test.gradients()) {
    std::vector<double> &elements = test.inputs.at(value);
    size_t stride = std::max<size_t>(1, elements.size() / 5);
    for (size_t i = 0; i < elements.size(); i += stride) {
      double kept = elements[i];
      elements[i] = kept + step;
      double above = test.objective();
      elements[i] = kept - step;
      double below = test.objective();
      elements[i] = kept;
      INFO(test.block.values[value].name << " element " << i);
      CHECK(computed.at(grad)[i] == Approx((above - below) / (2 * step)).epsilon(1e-6).margin(1e-8));
    }
  }
}

TEST_CASE("every variant, in one backward phase or two, gives the same gradients from what it keeps") {
  Case test(GENERATE("llama", "gpt", "parallel", "embedding", "head"));
  Tensors expected = test.backward("none");
  for (const char *variant : {"none", "selective", "full"})
    for (bool split : {false, true}) {
      Tensors computed = split ? test.splitBackward(variant) : test.backward(variant);
      for (auto [value, grad] : test.gradients()) {
        INFO(variant << (split ? ", split: " : ": ") << test.block.values[grad].name);
        CHECK(computed.at(grad) == expected.at(grad));
      }
    }
}

} // namespace plait::test
