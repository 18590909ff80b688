// Runs a plan on this host: one worker process per rank over one shared segment. The launcher prints nothing and computes
// nothing; it relays the workers' step reports and makes sure that every run ends: a rank that dies or stops making
// progress ends the epoch for all, every worker is reaped, and workers do not outlive a killed launcher.
#ifndef PLAIT_RUNTIME_LAUNCHER_LAUNCHER_H
#define PLAIT_RUNTIME_LAUNCHER_LAUNCHER_H

#include "runtime/plan/Result.h"
#include "runtime/plan/plan.pb.h"
#include <atomic>
#include <cstdint>
#include <functional>

namespace plait {

struct LaunchOptions {
  std::string workerPath;              ///< of the worker program; called as `workerPath planPath workerArgs...`
  std::string planPath;
  uint32_t worldSize = 0;
  std::vector<std::string> workerArgs;
  uint64_t arenaBytesPerRank = 0;      ///< as sharedBytesOf() says for a plan
  double deadlineSeconds = 300;        ///< a rank that begins no task for this long, and waits for no other, is lost
  double graceSeconds = 10;            ///< that ranks get to end by themselves after the epoch ended
  const std::atomic<bool> *interrupted = nullptr; ///< set by a signal handler: end the run
};

/// Memory per rank that lets every buffer that a plan communicates lie in the segment. It is taken when it is touched.
uint64_t sharedBytesOf(const pb::Plan &plan);

/// One optimizer step as rank 0 reports it. Values that are not finite are NaN.
struct StepStatus {
  int64_t step = 0;
  double loss = 0;
  double gradNorm = 0;
  double tokensPerSecond = 0;
  double stepSeconds = 0;
};

struct RunSummary {
  int64_t steps = 0;      ///< reported
  StepStatus last;
  double wallSeconds = 0; ///< from start to the last worker's end
};

/// Returns when all workers have ended. Errors: Usage (the worker program cannot be run), Unavailable (no memory), the
/// code of a worker that failed by itself, Runtime if a rank was killed or stalled (the message names rank, host and
/// last task), Interrupted.
Result<RunSummary> launch(const LaunchOptions &options, const std::function<void(const StepStatus &)> &onStep);

} // namespace plait

#endif
