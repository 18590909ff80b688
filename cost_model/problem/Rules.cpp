#include "cost_model/problem/Rules.h"
#include <algorithm>

namespace plait {

static constexpr std::array<bool, 3> everywhere{true, true, true};
static constexpr std::array<bool, 3> exported{false, true, true}; // not for our own runtime

static constexpr PlanRule kRules[] = {
    {"F-00", "A phase of a block uses only values that it is given or makes.", everywhere},
    {"F-01", "A cluster is a tree of domains, parents before children; its leaves hold devices of a listed class.",
     everywhere},
    {"F-02", "A model is a chain of known blocks that starts with tokens, ends with the loss and names its parameters.",
     everywhere},
    {"F-03", "A job has at least one sequence of at least one token, a known optimizer and storable precisions.",
     everywhere},
    {"F-04", "A search space lists known names and degrees of at least one.", everywhere},
    {"F-05", "A target is one of those in this table.", everywhere},
    {"F-06", "Every device of a stage exists in the cluster and belongs to one stage of one copy of one replica.",
     everywhere},
    {"F-07", "The tensor-parallel degree of a stage is at most the units of every factor that it splits.", everywhere},
    {"F-08", "Cuts are tp - 1 ascending positions inside the factor.", everywhere},
    {"F-09", "The stages of a replica cover the chain in order, without a gap, an overlap or an empty stage.", everywhere},
    {"F-10", "A stage maps segments and factors that the model has, each segment once.", everywhere},
    {"F-11", "A factor has one set of cuts in all segments of a block.", everywhere},
    {"F-12", "A value is split along at most one dimension, and is not split and a partial sum at once.", everywhere},
    {"F-13", "All uses of a parameter on one stage split it in the same way (tied tensors too).", everywhere},
    {"F-14", "A layout changes between operations only along the outermost dimension.", everywhere},
    {"F-15", "A factor that an operation needs whole is not split there.", everywhere},
    {"F-16", "Schedule, sharding and recompute variant are known, and every block has the phases that a stage runs.",
     everywhere},
    {"F-17", "All stages of a replica with tensor parallelism split the residual stream by the same factors.", everywhere},
    {"F-18", "Micro-batches of all replicas and copies, times their size, are the global batch.", everywhere},
    {"F-19", "An override names an existing micro-batch once and another replica; both have one copy and equal cuts.",
     everywhere},
    {"F-20", "A solution lies inside the space of its problem.", everywhere},
    {"F-21", "All replicas have equal stages and equal numbers of micro-batches.", exported},
    {"F-22", "All stages have one tensor-parallel degree.", exported},
    {"F-23", "A split factor is divided evenly by the tensor-parallel degree.", exported},
    {"F-24", "No micro-batch is moved between replicas.", exported},
    {"F-25", "The schedule is 1f1b and backwards are not split.", {false, true, false}},
    {"F-26", "All stages recompute in the same way.", exported},
    {"F-30", "What the fullest device of a stage holds fits into its memory less its reserve.", everywhere},
};

std::span<const PlanRule> planRules() { return kRules; }

size_t targetIndex(std::string_view target) {
  std::string_view name = target.substr(0, target.find('@'));
  return size_t(std::find(kTargets.begin(), kTargets.end(), name) - kTargets.begin());
}

bool ruleApplies(std::string_view number, std::string_view target) {
  size_t column = targetIndex(target);
  for (const PlanRule &rule : kRules)
    if (rule.number == number)
      return column < kTargets.size() && rule.applies[column];
  return false;
}

std::string rulesMarkdown() {
  std::string text = "| rule | what it says |";
  for (std::string_view target : kTargets)
    text.append(" ").append(target).append(" |");
  text.append("\n|---|---|");
  for (size_t i = 0; i < kTargets.size(); ++i)
    text.append("---|");
  text.append("\n");
  for (const PlanRule &rule : kRules) {
    text.append("| ").append(rule.number).append(" | ").append(rule.sentence).append(" |");
    for (bool applies : rule.applies)
      text += applies ? " yes |" : " - |";
    text += "\n";
  }
  return text;
}

const std::vector<std::string> &scheduleNames() {
  static const std::vector<std::string> names{"1f1b", "gpipe"};
  return names;
}
const std::vector<std::string> &shardingNames() {
  static const std::vector<std::string> names{"none", "optimizer"};
  return names;
}
const std::vector<std::string> &recomputeNames() {
  static const std::vector<std::string> names{"none", "selective", "full"};
  return names;
}
const std::vector<std::string> &optimizerNames() {
  static const std::vector<std::string> names{"adamw", "sgd"};
  return names;
}

} // namespace plait
