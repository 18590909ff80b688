#include "runtime/launcher/WorkerProcess.h"
#include "runtime/launcher/WorkerEnvironment.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace plait {

static constexpr size_t kMaxLine = 1 << 16;

static Error cannot(const std::string &what) {
  return {ExitCode::Unavailable, "launcher: cannot " + what + ": " + std::strerror(errno)};
}

static std::vector<char *> pointersTo(std::vector<std::string> &strings) {
  std::vector<char *> pointers;
  for (std::string &string : strings)
    pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Between fork and exec: system calls only, since the launcher may have other threads.
[[noreturn]] static void becomeWorker(char *const *arguments, char *const *environment, pid_t launcher, int sharedFd,
                                      int statusFd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) // it died before the line above
    _exit(127);
  setpgid(0, 0); // an interrupt of the terminal is the launcher's to handle
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  fcntl(sharedFd, F_SETFD, 0);
  fcntl(statusFd, F_SETFD, 0);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  execve(arguments[0], arguments, environment);
  _exit(127);
}

Result<WorkerProcess> WorkerProcess::start(const std::vector<std::string> &arguments,
                                           std::vector<std::string> variables, int sharedFd) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return cannot("make a pipe");
  WorkerProcess worker;
  worker.statusPipe = ends[0];
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  variables.push_back(std::string(kStatusFdVariable) + "=" + std::to_string(ends[1]));
  for (char **variable = environ; *variable; ++variable)
    variables.push_back(*variable);
  std::vector<std::string> words = arguments;
  std::vector<char *> argumentPointers = pointersTo(words), environment = pointersTo(variables);
  pid_t launcher = getpid();
  worker.pid = fork();
  if (worker.pid == 0)
    becomeWorker(argumentPointers.data(), environment.data(), launcher, sharedFd, ends[1]);
  close(ends[1]);
  if (worker.pid < 0)
    return cannot("start a worker");
  worker.pidFd = static_cast<int>(syscall(SYS_pidfd_open, worker.pid, 0));
  if (worker.pidFd < 0)
    return cannot("watch a worker (pidfd_open, Linux 5.3)");
  return worker;
}

WorkerProcess::WorkerProcess(WorkerProcess &&other) noexcept
    : pid(std::exchange(other.pid, -1)), pidFd(std::exchange(other.pidFd, -1)),
      statusPipe(std::exchange(other.statusPipe, -1)), pending(std::move(other.pending)) {}

WorkerProcess::~WorkerProcess() {
  if (pid > 0) {
    kill();
    reap();
  }
  if (statusPipe >= 0)
    close(statusPipe);
}

bool WorkerProcess::stopped() const {
  siginfo_t info{};
  return pid > 0 && waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

void WorkerProcess::kill() {
  if (pid > 0)
    ::kill(pid, SIGKILL);
}

int WorkerProcess::reap() {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  pid = -1;
  if (pidFd >= 0)
    close(std::exchange(pidFd, -1));
  return status;
}

void WorkerProcess::readStatus(const std::function<void(const std::string &line)> &onLine) {
  char buffer[4096];
  ssize_t got = 0;
  while (statusPipe >= 0 && (got = read(statusPipe, buffer, sizeof buffer)) > 0) {
    for (char c : std::string_view(buffer, static_cast<size_t>(got))) {
      if (c == '\n')
        onLine(std::exchange(pending, {}));
      else if (pending.size() < kMaxLine)
        pending += c;
    }
  }
  if (got == 0 && statusPipe >= 0)
    close(std::exchange(statusPipe, -1));
}

} // namespace plait
