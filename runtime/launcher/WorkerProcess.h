// One worker as its launcher sees it: a child process, a descriptor that tells its end, and its status lines.
#ifndef PLAIT_RUNTIME_LAUNCHER_WORKERPROCESS_H
#define PLAIT_RUNTIME_LAUNCHER_WORKERPROCESS_H

#include "runtime/plan/Result.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <sys/types.h>

namespace plait {

/// Owns the child: its destructor kills what still runs, and reaps it.
class WorkerProcess {
public:
  /// `arguments` begins with the program's path. The child sees `variables` (NAME=value) besides this process's
  /// environment, inherits `sharedFd`, writes its standard output to standard error, and dies with its launcher.
  static Result<WorkerProcess> start(const std::vector<std::string> &arguments, std::vector<std::string> variables,
                                     int sharedFd);
  ~WorkerProcess();
  WorkerProcess(WorkerProcess &&other) noexcept;
  WorkerProcess(const WorkerProcess &) = delete;
  WorkerProcess &operator=(const WorkerProcess &) = delete;
  WorkerProcess &operator=(WorkerProcess &&) = delete;

  /// Readable once the child has ended; -1 after reap().
  int endFd() const { return pidFd; }
  /// Readable when there are status lines; -1 after their end.
  int statusFd() const { return statusPipe; }
  bool running() const { return pid > 0; }
  /// True if a signal has stopped it.
  bool stopped() const;
  void kill();

  /// Reads what there is, without blocking, and hands over complete lines. Overlong lines are cut.
  void readStatus(const std::function<void(const std::string &line)> &onLine);
  /// Collects the child, which must have ended, as endFd tells; its wait status.
  int reap();

private:
  WorkerProcess() = default;
  pid_t pid = -1;
  int pidFd = -1, statusPipe = -1;
  std::string pending;
};

} // namespace plait

#endif
