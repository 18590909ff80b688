// Block summaries: factors, ids across phases, saved sets.
#include "test/passes/analyze/Blocks.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

namespace plait::test {

static const Factor &factor(const BlockSummary &block, const std::string &name) {
  Id id = indexOfName(block.factors, name);
  INFO("factor " << name);
  REQUIRE(id != kNone);
  return block.factors[id];
}

/// Dimensions of a value as "factor*unit".
static std::string dims(const BlockSummary &block, Id value) {
  std::string text;
  for (const Dim &dim : block.values.at(value).dims)
    text += (text.empty() ? "" : " ") + (dim.factor == kNone ? std::string("1") : block.factors[dim.factor].name) + "*" +
            std::to_string(dim.unit);
  return text;
}

static Id param(const BlockSummary &block, const std::string &name) {
  Id index = indexOfName(block.params, name);
  REQUIRE(index != kNone);
  return block.params[index].value;
}

TEST_CASE("query heads are h, key/value heads are g and follow") {
  Model model = analyzedModel("llama");
  const BlockSummary &block = model.kinds.at(0);
  std::vector<std::string> names;
  for (const Factor &f : block.factors)
    names.push_back(f.name);
  // The two head norms have a weight width each.
  CHECK(names == std::vector<std::string>{"s", "b", "e", "h", "g", "d", "d1", "i"});
  CHECK(factor(block, "s").size == 0);
  CHECK(factor(block, "b").size == 0);
  CHECK(factor(block, "e").size == 12);
  CHECK(factor(block, "i").size == 10);
  CHECK(factor(block, "h").size == 4);
  CHECK(factor(block, "h").follows == kNone);
  CHECK(factor(block, "g").size == 2);
  CHECK(block.factors.at(factor(block, "g").follows).name == "h");
  CHECK(factor(block, "g").ratio == 2);
  CHECK(dims(block, param(block, "wq")) == "h*4 e*1");
  CHECK(dims(block, param(block, "wk")) == "g*4 e*1");
  CHECK(dims(block, param(block, "wo")) == "e*1 h*4");
  CHECK(dims(block, param(block, "q_norm")) == "d*1");
  CHECK(dims(block, param(block, "down")) == "e*1 i*1");
}

TEST_CASE("as many key/value heads as heads follow with ratio 1") {
  Model model = analyzedModel("gpt");
  const BlockSummary &block = model.kinds.at(0);
  CHECK(factor(block, "h").size == 3);
  CHECK(factor(block, "g").size == 3);
  CHECK(factor(block, "g").ratio == 1);
  CHECK(dims(block, param(block, "bk")) == "g*4");
  CHECK(dims(block, param(block, "bo")) == "e*1");
}

TEST_CASE("a head norm has one statistic per head and sums its weight gradient over heads") {
  Model model = analyzedModel("llama");
  const BlockSummary &block = model.kinds.at(0);
  Id rstd = indexOfName(block.values, "rms_norm1.rstd");
  REQUIRE(rstd != kNone);
  CHECK(block.values[rstd].kind == ElementKind::Statistic);
  CHECK(dims(block, rstd) == "s*1 b*1 h*1");
  Id grad = block.params[indexOfName(block.params, "k_norm")].grad;
  for (const OpTemplate &op : block.find(Phase::Backward, "none")->ops)
    if (op.results == std::vector<Id>{grad}) {
      std::set<std::string> reduced;
      for (const ReducedFactor &r : op.reduces)
        reduced.insert(block.factors[r.factor].name);
      CHECK(reduced == std::set<std::string>{"s", "b", "g"});
      return;
    }
  FAIL("no op makes the gradient of k_norm");
}

TEST_CASE("a gradient has the factors of its value") {
  for (const char *name : {"llama", "gpt", "parallel", "embedding", "head", "square"}) {
    Model model = analyzedModel(name);
    const BlockSummary &block = model.kinds.at(0);
    INFO(name);
    for (const BlockParam &p : block.params) {
      CHECK(dims(block, p.value) == dims(block, p.grad));
      CHECK(block.values[p.value].kind == ElementKind::Param);
      CHECK(block.values[p.grad].kind == ElementKind::ParamGrad);
    }
    if (block.x != kNone)
      CHECK(dims(block, block.x) == dims(block, block.dx));
    if (block.y != kNone)
      CHECK(dims(block, block.y) == dims(block, block.dy));
  }
}

TEST_CASE("no value has a factor twice") {
  for (const char *name : {"llama", "gpt", "parallel", "square"}) {
    Model model = analyzedModel(name);
    const BlockSummary &block = model.kinds.at(0);
    for (const Value &value : block.values) {
      std::set<Id> seen;
      for (const Dim &dim : value.dims)
        CHECK((dim.factor == kNone || seen.insert(dim.factor).second));
    }
  }
  // Through a square weight the residual stream would; its output keeps a factor of its own.
  Model model = analyzedModel("square");
  const BlockSummary &block = model.kinds.at(0);
  CHECK(dims(block, param(block, "w")) == "n*1 e*1");
  CHECK(dims(block, block.y) == "s*1 b*1 e*1");
}

TEST_CASE("phases share ids: each reads what it is given or computes, and computes nothing twice") {
  for (const char *name : {"llama", "gpt", "parallel", "embedding", "head"}) {
    Model model = analyzedModel(name);
    const BlockSummary &block = model.kinds.at(0);
    CHECK(block.phases.size() == 12);
    for (const PhaseGraph &graph : block.phases) {
      std::set<Id> available{block.tokens, block.labels, block.lossScale};
      for (const BlockParam &p : block.params)
        available.insert(p.value);
      if (graph.phase == Phase::Forward)
        available.insert(block.x);
      else
        available.insert(graph.saved.begin(), graph.saved.end());
      if (graph.phase == Phase::Backward || graph.phase == Phase::BackwardInput)
        available.insert(block.dy);
      if (graph.phase == Phase::BackwardWeight)
        available.insert(graph.carried.begin(), graph.carried.end());
      INFO(name << " phase " << int(graph.phase) << " " << graph.variant);
      for (const OpTemplate &op : graph.ops) {
        for (Id operand : op.operands)
          CHECK(available.count(operand) == 1);
        for (Id result : op.results)
          CHECK(available.insert(result).second);
      }
      if (graph.phase == Phase::Forward)
        for (Id saved : graph.saved)
          CHECK(available.count(saved) == 1);
      if (graph.phase == Phase::BackwardInput)
        for (Id carried : graph.carried)
          CHECK(available.count(carried) == 1);
    }
  }
}

TEST_CASE("recompute variants keep less and less") {
  Model model = analyzedModel("llama");
  const BlockSummary &block = model.kinds.at(0);
  auto saved = [&](const char *variant) {
    std::set<std::string> names;
    for (Id id : block.find(Phase::Forward, variant)->saved)
      names.insert(block.values[id].name);
    return names;
  };
  CHECK(saved("full") == std::set<std::string>{"x"});
  CHECK(saved("selective") == std::set<std::string>{"x", "linear0.y", "linear1.y", "linear2.y", "attention0.o",
                                                    "attention0.lse", "add0.y", "linear4.y", "linear5.y"});
  CHECK(saved("none").count("rms_norm0.y") == 1);
  CHECK(saved("none").count("linear3.y") == 0); // the product before a residual sum is read by no gradient
  // The loss accumulates, so that its log-sum-exp is kept where all else is computed again.
  Model last = analyzedModel("head");
  const PhaseGraph &full = *last.kinds[0].find(Phase::Backward, "full");
  CHECK(std::none_of(full.ops.begin(), full.ops.end(), [](const OpTemplate &op) { return op.kernel == Kernel::CrossEntropy; }));
  CHECK(full.saved.size() == 2);
}

TEST_CASE("the chain and the parameters are the module's") {
  Model model = analyzedModel("gpt");
  CHECK(model.name == "test");
  CHECK(model.vocabSize == 11);
  REQUIRE(model.chain.size() == 1);
  CHECK(model.chain[0].layer == -1);
  CHECK(model.chain[0].params.size() == model.kinds[0].params.size());
  CHECK(model.params[2].name == "wq");
  CHECK(model.params[2].hfName == "wq");
  CHECK(model.params[2].hfStrides == std::vector<int64_t>{12, 1});
}

} // namespace plait::test
