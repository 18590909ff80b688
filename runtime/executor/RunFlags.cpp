#include "runtime/executor/RunFlags.h"
#include <CLI/CLI.hpp>
#include <cstdio>

namespace plait {

namespace {

/// Calls `visit(flag, value, meaning)` for every option. One list, so that writing and reading cannot differ.
template <typename Options, typename Visit> void forEachFlag(Options &o, Visit visit) {
  visit("--steps", o.steps, "number of the last step");
  visit("--lr", o.learningRate.peak, "learning rate, after the warm-up");
  visit("--lr-floor", o.learningRate.floor, "learning rate at the end of the cosine");
  visit("--lr-steps", o.learningRate.totalSteps, "step at which the cosine ends; 0: at the last step");
  visit("--warmup", o.learningRate.warmupSteps, "steps of linear warm-up");
  visit("--cosine", o.learningRate.cosine, "let the learning rate fall along a cosine");
  visit("--beta1", o.optimizer.beta1, "decay of AdamW's first moment");
  visit("--beta2", o.optimizer.beta2, "decay of AdamW's second moment");
  visit("--eps", o.optimizer.epsilon, "AdamW's epsilon");
  visit("--weight-decay", o.optimizer.weightDecay, "weight decay of matrices");
  visit("--clip", o.clipNorm, "largest gradient norm; 0: do not clip");
  visit("--seed", o.seed, "seed of the initial weights");
  visit("--data", o.dataPath, "token file");
  visit("--ignore-token", o.ignoreToken, "token id that is never a target; negative: none");
  visit("--checkpoint-dir", o.checkpointDirectory, "where checkpoints are written");
  visit("--checkpoint-every", o.checkpointEvery, "steps between checkpoints; 0: only after the last step");
  visit("--resume", o.resumeFrom, "checkpoint, or directory of checkpoints, to continue from");
  visit("--weights", o.weightsFrom, "safetensors file or folder with initial weights");
  visit("--reference", o.referenceBackend, "run the slow backend that accumulates in double");
  visit("--dump", o.dumpDirectory, "folder for the gradients of the first step and the final parameters");
  visit("--trace", o.tracePath, "prefix of Chrome trace files, one per rank");
  visit("--deadline", o.deadlineSeconds, "seconds that a communication may take");
}

std::string textOf(const std::string &value) { return value; }
std::string textOf(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}
std::string textOf(int64_t value) { return std::to_string(value); }
std::string textOf(uint64_t value) { return std::to_string(value); }

} // namespace

void addRunFlags(CLI::App &app, RunOptions &options) {
  forEachFlag(options, [&](const char *flag, auto &value, const char *meaning) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, bool>)
      app.add_flag(flag, value, meaning);
    else
      app.add_option(flag, value, meaning);
  });
}

std::vector<std::string> runFlags(const RunOptions &options) {
  std::vector<std::string> flags;
  const RunOptions defaults;
  std::vector<std::string> defaultTexts;
  forEachFlag(defaults, [&](const char *, const auto &value, const char *) {
    if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, bool>)
      defaultTexts.push_back(textOf(value));
  });
  size_t next = 0;
  forEachFlag(options, [&](const char *flag, const auto &value, const char *) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, bool>) {
      if (value)
        flags.push_back(flag);
    } else if (const std::string text = textOf(value); text != defaultTexts[next++]) {
      flags.push_back(std::string(flag) + "=" + text); // one word: a value may begin with a dash
    }
  });
  return flags;
}

} // namespace plait
