// Status lines of a worker: one JSON object a line, to the launcher's descriptor or to standard output.
#ifndef PLAIT_TOOLS_PLAIT_WORKER_STATUSLINES_H
#define PLAIT_TOOLS_PLAIT_WORKER_STATUSLINES_H

#include "runtime/executor/Executor.h"
#include <string>

namespace plait {

class StatusLines {
public:
  explicit StatusLines(int descriptor) : descriptor(descriptor) {}
  void step(const StepReport &report, double seconds, double tokens) const;
  void error(const std::string &message) const;

private:
  void write(std::string line) const;
  int descriptor;
};

} // namespace plait

#endif
