// Sub-commands of plait. Each adds its flags to the parser; its action returns the exit code.
#ifndef PLAIT_TOOLS_PLAIT_COMMANDS_H
#define PLAIT_TOOLS_PLAIT_COMMANDS_H

#include "runtime/plan/Result.h"
#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace plait {

/// What the chosen sub-command does once the flags are parsed.
using Action = std::function<Status()>;

struct Cli {
  CLI::App app{"Plait: weaves one model across a cluster."};
  Action action;
  bool quiet = false;
};

void addCompileCommands(Cli &cli);  ///< compile, estimate
void addPlanCommands(Cli &cli);     ///< explain, simulate
void addRunCommand(Cli &cli);       ///< run
void addInputCommands(Cli &cli);    ///< model show, cluster show, data encode

/// Adds --format text|json.
void addFormat(CLI::App &command, std::string &format);
/// Data on stdout: the JSON, or the text.
void print(const std::string &format, const nlohmann::ordered_json &json, const std::string &text);

} // namespace plait

#endif
