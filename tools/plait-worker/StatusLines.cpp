#include "tools/plait-worker/StatusLines.h"
#include <cerrno>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace plait {

void StatusLines::step(const StepReport &report, double seconds, double tokens) const {
  // The library writes numbers that are not finite as null.
  write(nlohmann::ordered_json{{"event", "step"},
                               {"step", report.step},
                               {"loss", report.vote.loss},
                               {"grad_norm", report.vote.gradNorm},
                               {"applied", report.vote.passed},
                               {"learning_rate", report.learningRate},
                               {"tokens_per_s", tokens / seconds},
                               {"step_time_s", seconds}}
            .dump());
}

void StatusLines::error(const std::string &message) const {
  write(nlohmann::ordered_json{{"event", "error"}, {"message", message}}.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void StatusLines::write(std::string line) const {
  line += '\n';
  for (size_t done = 0; done < line.size();) {
    const ssize_t count = ::write(descriptor, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return; // the launcher is gone; it does not outlive its workers by plan
    done += size_t(count);
  }
}

} // namespace plait
