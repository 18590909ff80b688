// The numbered rules as data: one sentence each and, per target, whether the rule applies. docs/rules.md is written from
// this table. check() uses F-01 to F-05, verify() F-06 to F-26 (of which project() finds F-10 to F-16), checkMemory() F-30.
#ifndef PLAIT_COST_MODEL_PROBLEM_RULES_H
#define PLAIT_COST_MODEL_PROBLEM_RULES_H

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// Targets in the order of PlanRule::applies.
inline constexpr std::array<std::string_view, 3> kTargets{"plait", "megatron", "torchtitan"};

struct PlanRule {
  std::string_view number, sentence;
  std::array<bool, kTargets.size()> applies;
};

std::span<const PlanRule> planRules();
/// Does rule `number` bind a target such as "plait" or "megatron@core_v0.14"? False for unknown rules and targets.
bool ruleApplies(std::string_view number, std::string_view target);
/// Index into kTargets of a target, its "@version" ignored; kTargets.size() if unknown.
size_t targetIndex(std::string_view target);
/// The table as Markdown.
std::string rulesMarkdown();

/// Names that a Solution may use.
const std::vector<std::string> &scheduleNames();
const std::vector<std::string> &shardingNames();
const std::vector<std::string> &recomputeNames();
const std::vector<std::string> &optimizerNames();

} // namespace plait

#endif
