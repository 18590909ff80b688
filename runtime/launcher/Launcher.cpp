#include "runtime/launcher/Launcher.h"
#include "runtime/comm/shm/ShmSegment.h"
#include "runtime/launcher/WorkerEnvironment.h"
#include "runtime/launcher/WorkerProcess.h"
#include <cerrno>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plait {
namespace {

using Clock = std::chrono::steady_clock;

std::string hostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "this host";
}

double numberOf(const nlohmann::json &object, const char *key) {
  auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : std::nan("");
}

Clock::duration secondsOf(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e9)));
}

/// What the launcher knows of one rank.
struct Watched {
  explicit Watched(WorkerProcess process) : process(std::move(process)), progressAt(Clock::now()) {}
  WorkerProcess process;
  std::string error;            ///< its last error event
  std::string failure;          ///< how it ended, if not well
  ExitCode code = ExitCode::Success;
  bool killed = false;          ///< by the launcher
  uint64_t progress = 0;
  Clock::time_point progressAt; ///< when `progress` was seen first
};

class Run {
public:
  Run(const LaunchOptions &options, ShmSegment &segment, const std::function<void(const StepStatus &)> &onStep)
      : options(options), segment(segment), onStep(onStep), host(hostName()) {}

  Result<RunSummary> run();

private:
  Status startAll();
  std::string stoppedRanks() const;
  size_t running() const;
  void pollOnce();
  void handleLine(uint32_t rank, const std::string &line);
  void handleEnd(uint32_t rank);
  void checkProgress();
  void endEpoch(ExitCode code, const std::string &cause);
  std::string nameOfRank(uint32_t rank) const;
  std::string stallCause(const std::vector<uint32_t> &guilty) const;
  Error firstFailure() const;

  const LaunchOptions &options;
  ShmSegment &segment;
  const std::function<void(const StepStatus &)> &onStep;
  std::string host;
  std::vector<Watched> ranks;
  RunSummary summary;
  std::optional<Error> ended; ///< why the launcher ended the epoch
  Clock::time_point killAt = Clock::time_point::max();
};

Status Run::startAll() {
  std::vector<std::string> arguments = {options.workerPath, options.planPath};
  arguments.insert(arguments.end(), options.workerArgs.begin(), options.workerArgs.end());
  for (uint32_t rank = 0; rank < options.worldSize; ++rank) {
    std::vector<std::string> variables = {std::string(kRankVariable) + "=" + std::to_string(rank),
                                          std::string(kWorldSizeVariable) + "=" + std::to_string(options.worldSize),
                                          std::string(kShmFdVariable) + "=" + std::to_string(segment.fd())};
    Result<WorkerProcess> process = WorkerProcess::start(arguments, std::move(variables), segment.fd());
    if (!process)
      return process.error();
    ranks.emplace_back(std::move(*process));
  }
  return success();
}

size_t Run::running() const {
  size_t count = 0;
  for (const Watched &rank : ranks)
    count += rank.process.running();
  return count;
}

std::string Run::nameOfRank(uint32_t rank) const {
  std::string task = segment.lastTask(rank);
  return "rank " + std::to_string(rank) + " on " + host +
         (task.empty() ? " (before its first task)" : " (last task: " + task + ")");
}

void Run::endEpoch(ExitCode code, const std::string &cause) {
  if (ended)
    return;
  ended = Error{code, cause};
  segment.abort(ShmSegment::kLauncher, cause);
  killAt = Clock::now() + secondsOf(options.graceSeconds);
}

/// Lines that are no events go to standard error, so that nothing a worker says is lost.
void Run::handleLine(uint32_t rank, const std::string &line) {
  nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
  auto kind = event.is_object() ? event.find("event") : event.end();
  if (!event.is_object() || kind == event.end() || !kind->is_string()) {
    fprintf(stderr, "[rank %u] %.500s\n", rank, line.c_str());
    return;
  }
  if (*kind == "error") {
    auto message = event.find("message");
    ranks[rank].error = message != event.end() && message->is_string() ? message->get<std::string>() : line;
  } else if (*kind == "step") {
    double step = numberOf(event, "step");
    summary.last = {std::isfinite(step) && std::abs(step) < 1e15 ? static_cast<int64_t>(step) : 0,
                    numberOf(event, "loss"), numberOf(event, "grad_norm"), numberOf(event, "tokens_per_s"),
                    numberOf(event, "step_time_s")};
    ++summary.steps;
    if (onStep)
      onStep(summary.last);
  }
}

/// A rank that gave up waiting names the one it waited for, which may itself wait for one that is stopped.
std::string Run::stoppedRanks() const {
  std::string text;
  for (uint32_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank].process.running() && ranks[rank].process.stopped())
      text += "; " + nameOfRank(rank) + " is stopped";
  return text;
}

void Run::handleEnd(uint32_t rank) {
  Watched &watched = ranks[rank];
  watched.process.readStatus([&](const std::string &line) { handleLine(rank, line); });
  int status = watched.process.reap();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return;
  if (WIFEXITED(status)) {
    int code = WEXITSTATUS(status);
    watched.code = code == 127 ? ExitCode::Usage : static_cast<ExitCode>(code);
    watched.failure = nameOfRank(rank) + " ended with exit code " + std::to_string(code);
    if (code == 127)
      watched.failure += ": the worker program could not be started";
    else if (!watched.error.empty())
      watched.failure += ": " + watched.error;
  } else {
    watched.code = ExitCode::Runtime;
    watched.failure = nameOfRank(rank) + " was killed by signal " + std::to_string(WTERMSIG(status)) + " (" +
                      strsignal(WTERMSIG(status)) + ")";
  }
  // A rank that another rank ended is not the cause: that one's own end will tell, for which it has the grace period.
  bool secondary = watched.killed || watched.error.find("aborted by rank ") != std::string::npos;
  if (!secondary)
    endEpoch(watched.code, watched.failure + stoppedRanks());
  else if (killAt == Clock::time_point::max())
    killAt = Clock::now() + secondsOf(options.graceSeconds);
}

std::string Run::stallCause(const std::vector<uint32_t> &guilty) const {
  std::string text;
  for (uint32_t rank : guilty) {
    text += (text.empty() ? "" : "; ") + nameOfRank(rank);
    if (ranks[rank].process.stopped())
      text += " is stopped";
    else if (std::string waiting = segment.waitingIn(rank); !waiting.empty())
      text += " waits in " + waiting;
  }
  char seconds[32];
  snprintf(seconds, sizeof seconds, "%g", options.deadlineSeconds);
  return text + ": no progress for " + seconds + " s";
}

void Run::checkProgress() {
  Clock::time_point now = Clock::now();
  std::vector<uint32_t> stalled;
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
    Watched &watched = ranks[rank];
    if (uint64_t progress = segment.progress(rank); progress != watched.progress) {
      watched.progress = progress;
      watched.progressAt = now;
    }
    if (watched.process.running() && now - watched.progressAt > secondsOf(options.deadlineSeconds))
      stalled.push_back(rank);
  }
  // A rank that waits for others is not the cause, unless all do. A stopped rank is, wherever it was.
  std::vector<uint32_t> guilty;
  for (uint32_t rank : stalled)
    if (ranks[rank].process.stopped() || segment.waitingIn(rank).empty())
      guilty.push_back(rank);
  if (guilty.empty() && stalled.size() == running())
    guilty = stalled;
  if (!guilty.empty() && !ended)
    endEpoch(ExitCode::Runtime, stallCause(guilty));
}

void Run::pollOnce() {
  constexpr int kTickMilliseconds = 50;
  std::vector<pollfd> fds;
  for (Watched &watched : ranks) {
    fds.push_back({watched.process.endFd(), POLLIN, 0}); // negative descriptors are skipped
    fds.push_back({watched.process.statusFd(), POLLIN, 0});
  }
  if (poll(fds.data(), fds.size(), kTickMilliseconds) > 0)
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      if (fds[2 * rank + 1].revents)
        ranks[rank].process.readStatus([&](const std::string &line) { handleLine(rank, line); });
      if (fds[2 * rank].revents)
        handleEnd(rank);
    }
  checkProgress();
  if (options.interrupted && options.interrupted->load())
    endEpoch(ExitCode::Interrupted, "the run was interrupted");
  if (Clock::now() >= killAt)
    for (Watched &watched : ranks)
      if (watched.process.running()) {
        watched.process.kill();
        watched.killed = true;
      }
}

/// The cause for which the launcher ended the epoch, else the lowest rank that failed.
Error Run::firstFailure() const {
  if (ended)
    return *ended;
  for (const Watched &watched : ranks)
    if (!watched.failure.empty())
      return {watched.code, watched.failure};
  return {ExitCode::Success, {}};
}

Result<RunSummary> Run::run() {
  Clock::time_point begin = Clock::now();
  if (Status started = startAll(); !started)
    return started.error();
  while (running())
    pollOnce();
  Error failure = firstFailure();
  if (failure.code != ExitCode::Success)
    return failure;
  summary.wallSeconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return summary;
}

} // namespace

uint64_t sharedBytesOf(const pb::Plan &plan) {
  constexpr uint64_t kSlack = 4096; // alignment of each arena
  uint64_t most = 0;
  for (const pb::Role &role : plan.roles()) {
    uint64_t bytes = 0;
    for (pb::Space space : {pb::SPACE_FRAME, pb::SPACE_SCRATCH, pb::SPACE_COMM, pb::SPACE_CONTROL})
      if (space < role.space_bytes_size())
        bytes += role.space_bytes(space) + kSlack;
    most = std::max(most, bytes);
  }
  return most;
}

Result<RunSummary> launch(const LaunchOptions &options, const std::function<void(const StepStatus &)> &onStep) {
  if (access(options.workerPath.c_str(), X_OK) != 0)
    return usageError("launcher: cannot run worker program '" + options.workerPath + "': " + std::strerror(errno));
  Result<std::unique_ptr<ShmSegment>> segment = ShmSegment::create(options.worldSize, options.arenaBytesPerRank);
  if (!segment)
    return segment.error();
  return Run(options, **segment, onStep).run();
}

} // namespace plait
