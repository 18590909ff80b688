// The text form of sharding rules.
#include "cost_model/workload/Rule.h"
#include <catch2/catch.hpp>
#include <string>

namespace plait {

TEST_CASE("a rule names tensors, dimensions and factors") {
  constexpr const Rule &rule = ruleOf<"q[s b (g r d)], k[t b (g d)] -> o[s b (g r d)], lse[s b (g r)] | whole t d, stat lse">;
  CHECK(rule.operands == 2);
  CHECK(rule.results == 2);
  CHECK(rule.operand(1).name == "k");
  CHECK(rule.result(1).statistic);
  CHECK_FALSE(rule.result(0).statistic);
  const RuleDim &heads = rule.operand(0).dims[2];
  REQUIRE(heads.count == 3);
  CHECK(rule.factors[heads.factors[0]].name == "g");
  CHECK(rule.factors[heads.factors[2]].name == "d");
  CHECK(rule.factors[heads.factors[2]].whole);
  CHECK(rule.factors[rule.factorIndex("t")].whole);
  CHECK_FALSE(rule.factors[rule.factorIndex("s")].whole);
  CHECK(rule.factorIndex("x") == -1);
}

TEST_CASE("marks, the ellipsis and dimensions of one element") {
  Rule rule = parseRule("x[... n], b[n], s[1] -> y[... n], m[1] | sum n");
  REQUIRE(rule.error.empty());
  CHECK(rule.operand(0).ellipsis);
  CHECK_FALSE(rule.operand(1).ellipsis);
  CHECK(rule.operand(0).count == 1);
  CHECK(rule.operand(2).dims[0].count == 0);
  CHECK(rule.factors[0].sum);
  Rule both = parseRule("x[s v] -> m[s], z[s] | max v");
  CHECK(both.factors[both.factorIndex("v")].max);
  CHECK(parseRule("dy[s b] -> dw[v b] | sum s, free v").error.empty());
}

TEST_CASE("malformed rules say what is wrong and where") {
  auto errorOf = [](const char *text) {
    Rule rule = parseRule(text);
    return std::string(rule.error) + " @" + std::string(rule.where);
  };
  CHECK(errorOf("x[s b] y[s b]") == "expected '->' @y[s b]");
  CHECK(errorOf("x[s b -> y[s b]") == "expected a factor @-> y[s b]");
  CHECK(errorOf("x(s b) -> y[s b]") == "expected '[' @(s b) -> y[s b]");
  CHECK(errorOf("[s b] -> y[s b]") == "expected the name of a tensor @[s b] -> y[s b]");
  CHECK(errorOf("x[()] -> y[s]") == "empty dimension @] -> y[s]");
  CHECK(errorOf("x[s b k] -> y[s b]") == "a factor disappears without a mark @");
  CHECK(errorOf("x[s b] -> y[s b v]") == "a factor occurs in results only and is not marked free @");
  CHECK(errorOf("x[s b] -> y[s] | sum b, max b") == "a factor is marked both sum and max @");
  CHECK(errorOf("x[s b] -> y[s b] | sum q") == "mark of an unknown factor @");
  CHECK(errorOf("x[s b] -> y[s b] | total b") == "expected 'sum', 'max', 'whole', 'free' or 'stat' @ b");
  CHECK(errorOf("x[s b] -> y[s b] | sum") == "mark without names @");
  CHECK(errorOf("x[s b] -> y[s b] | stat x") == "'stat' names no result @");
  CHECK(errorOf("x[s b] -> y[s b] and more") == "unexpected text @and more");
  CHECK(errorOf("x[a b c d e f g] -> y[a]") == "too many dimensions @g] -> y[a]");
  CHECK(errorOf("x[(a b c d e)] -> y[a]") == "too many factors in one dimension @)] -> y[a]");
}

TEST_CASE("any text parses or is refused") {
  const std::string alphabet = "xs[] ()->|,1.sumfreestat";
  uint32_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int j = 0; j < 40; ++j) {
      state = state * 1664525u + 1013904223u;
      text += alphabet[(state >> 16) % alphabet.size()];
    }
    Rule rule = parseRule(text);
    CHECK(rule.operands + rule.results <= int(Rule::kMaxTensors));
  }
}

} // namespace plait
