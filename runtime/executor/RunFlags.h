// Command-line form of RunOptions, shared by the worker, which reads it, and the tools that start workers.
#ifndef PLAIT_RUNTIME_EXECUTOR_RUNFLAGS_H
#define PLAIT_RUNTIME_EXECUTOR_RUNFLAGS_H

#include "runtime/executor/RunOptions.h"
#include <vector>

namespace CLI {
class App;
}

namespace plait {

/// Adds one flag for each option; `options` outlives the parse.
void addRunFlags(CLI::App &app, RunOptions &options);
/// Flags that addRunFlags reads back as these options.
std::vector<std::string> runFlags(const RunOptions &options);

} // namespace plait

#endif
