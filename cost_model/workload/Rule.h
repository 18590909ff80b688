// Rule: the sharding rule of an op, parsed from text, at compile time for op classes.
//
//   rule   := tensor, ... `->` tensor, ... [`|` mark, ...]
//   tensor := name `[` dim ... `]`                       e.g. x[s b k], loss[1], a[...], x[... n]
//   dim    := factor | `(` factor factor ... `)` | `1` | `...`
//   mark   := `sum` factor ... | `max` factor ... | `whole` factor ... | `free` factor ... | `stat` tensor ...
//
// A factor is a dimension of the computation. `(g r d)` is one dimension whose index runs over d fastest; `...` stands
// for any number of leading dimensions, the same in every tensor that has it; `1` has one element. Marks: sum and max
// combine partial results of a factor's parts; whole factors cannot be split by this op; free factors occur in results
// only; stat names results that are statistics (always f32). A factor that operands have and no result has must be
// marked sum, max or whole: silently losing one is the most likely slip.
#ifndef PLAIT_COST_MODEL_WORKLOAD_RULE_H
#define PLAIT_COST_MODEL_WORKLOAD_RULE_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace plait {

/// Factors of one dimension, outermost first. No factor: the dimension is 1.
struct RuleDim {
  std::array<uint8_t, 4> factors{};
  uint8_t count = 0;
};

struct RuleTensor {
  std::string_view name;
  std::array<RuleDim, 6> dims{};
  uint8_t count = 0;       ///< dims, without the ellipsis
  bool ellipsis = false;   ///< leading `...`
  bool statistic = false;
};

struct RuleFactor {
  std::string_view name;
  bool sum = false, max = false, whole = false, free = false;
  bool inOperands = false, inResults = false;
};

/// Names are views of the parsed text, which must outlive the rule.
struct Rule {
  static constexpr unsigned kMaxTensors = 12, kMaxFactors = 16;
  std::array<RuleTensor, kMaxTensors> tensors{};
  std::array<RuleFactor, kMaxFactors> factors{};
  uint8_t operands = 0, results = 0, factorCount = 0;
  std::string_view error;  ///< empty: the rule is well formed
  std::string_view where;  ///< rest of the text at the error

  constexpr const RuleTensor &operand(unsigned i) const { return tensors[i]; }
  constexpr const RuleTensor &result(unsigned i) const { return tensors[operands + i]; }
  /// Index of the factor called `name`, or -1.
  constexpr int factorIndex(std::string_view name) const {
    for (int i = 0; i < factorCount; ++i)
      if (factors[i].name == name)
        return i;
    return -1;
  }
};

namespace detail {

class RuleParser {
public:
  constexpr explicit RuleParser(std::string_view text) : rest(text) {}

  constexpr Rule parse() {
    parseTensors(/*results=*/false);
    if (!accept("->"))
      fail("expected '->'");
    parseTensors(/*results=*/true);
    if (accept("|"))
      do
        parseMark();
      while (ok() && accept(","));
    skipBlanks();
    if (!rest.empty())
      fail("unexpected text");
    for (int i = 0; i < rule.factorCount; ++i)
      checkFactor(rule.factors[i]);
    return rule;
  }

private:
  Rule rule;
  std::string_view rest;

  constexpr bool ok() const { return rule.error.empty(); }
  constexpr void fail(std::string_view message) {
    if (!ok())
      return;
    rule.error = message;
    rule.where = rest;
  }
  constexpr void skipBlanks() {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\n'))
      rest.remove_prefix(1);
  }
  constexpr bool accept(std::string_view token) {
    skipBlanks();
    if (!rest.starts_with(token))
      return false;
    rest.remove_prefix(token.size());
    return true;
  }
  static constexpr bool isWord(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  constexpr std::string_view word() {
    skipBlanks();
    size_t length = 0;
    while (length < rest.size() && isWord(rest[length]))
      ++length;
    std::string_view result = rest.substr(0, length);
    rest.remove_prefix(length);
    return result;
  }

  constexpr void parseTensors(bool results) {
    do
      parseTensor(results);
    while (ok() && accept(","));
  }

  constexpr void parseTensor(bool isResult) {
    if (rule.operands + rule.results == Rule::kMaxTensors)
      return fail("too many tensors");
    RuleTensor &tensor = rule.tensors[rule.operands + rule.results];
    (isResult ? rule.results : rule.operands) += 1;
    tensor.name = word();
    if (tensor.name.empty())
      return fail("expected the name of a tensor");
    if (!accept("["))
      return fail("expected '['");
    tensor.ellipsis = accept("...");
    while (ok() && !accept("]"))
      parseDim(tensor, isResult);
  }

  constexpr void parseDim(RuleTensor &tensor, bool isResult) {
    if (tensor.count == tensor.dims.size())
      return fail("too many dimensions");
    RuleDim &dim = tensor.dims[tensor.count++];
    if (accept("(")) {
      while (ok() && !accept(")"))
        addFactor(dim, isResult);
      if (dim.count == 0)
        fail("empty dimension");
      return;
    }
    skipBlanks();
    if (rest.starts_with("1") && (rest.size() < 2 || !isWord(rest[1])))
      return rest.remove_prefix(1);
    addFactor(dim, isResult);
  }

  constexpr void addFactor(RuleDim &dim, bool isResult) {
    std::string_view name = word();
    if (name.empty())
      return fail("expected a factor");
    int index = rule.factorIndex(name);
    if (index < 0) {
      if (rule.factorCount == Rule::kMaxFactors)
        return fail("too many factors");
      index = rule.factorCount++;
      rule.factors[index].name = name;
    }
    if (dim.count == dim.factors.size())
      return fail("too many factors in one dimension");
    dim.factors[dim.count++] = static_cast<uint8_t>(index);
    (isResult ? rule.factors[index].inResults : rule.factors[index].inOperands) = true;
  }

  constexpr void parseMark() {
    std::string_view mark = word();
    if (mark != "sum" && mark != "max" && mark != "whole" && mark != "free" && mark != "stat")
      return fail("expected 'sum', 'max', 'whole', 'free' or 'stat'");
    unsigned marked = 0;
    for (std::string_view name = word(); ok() && !name.empty(); name = word(), ++marked)
      setMark(mark, name);
    if (marked == 0)
      fail("mark without names");
  }

  constexpr void setMark(std::string_view mark, std::string_view name) {
    if (mark == "stat") {
      for (int i = rule.operands; i < rule.operands + rule.results; ++i)
        if (rule.tensors[i].name == name) {
          rule.tensors[i].statistic = true;
          return;
        }
      return fail("'stat' names no result");
    }
    int index = rule.factorIndex(name);
    if (index < 0)
      return fail("mark of an unknown factor");
    RuleFactor &factor = rule.factors[index];
    factor.sum |= mark == "sum";
    factor.max |= mark == "max";
    factor.whole |= mark == "whole";
    factor.free |= mark == "free";
  }

  constexpr void checkFactor(const RuleFactor &factor) {
    if (factor.sum && factor.max)
      fail("a factor is marked both sum and max");
    if (!factor.inResults && !factor.sum && !factor.max && !factor.whole)
      fail("a factor disappears without a mark");
    if (!factor.inOperands && !factor.free)
      fail("a factor occurs in results only and is not marked free");
  }
};

/// Text as a template argument.
template <size_t N> struct RuleText {
  char chars[N];
  constexpr RuleText(const char (&text)[N]) { std::copy_n(text, N, chars); }
  constexpr std::string_view view() const { return {chars, N - 1}; }
};

template <RuleText Text> struct ParsedRule {
  static constexpr Rule rule = RuleParser(Text.view()).parse();
  static_assert(rule.error.empty(), "malformed sharding rule");
};

} // namespace detail

/// Parses `text`; Rule::error says what is wrong with it.
constexpr Rule parseRule(std::string_view text) { return detail::RuleParser(text).parse(); }

/// The rule of an op class; a malformed one stops the build.
template <detail::RuleText Text> inline constexpr const Rule &ruleOf = detail::ParsedRule<Text>::rule;

} // namespace plait

#endif
