// Every run ends: well, or with the cause, its rank and its last task; and no worker is left.
#include "runtime/comm/shm/ShmSegment.h"
#include "runtime/launcher/Launcher.h"
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace plait;

namespace {

LaunchOptions scripted(std::vector<std::string> arguments) {
  LaunchOptions options;
  options.workerPath = PLAIT_SCRIPTED_WORKER;
  options.planPath = "no-plan.pb";
  options.worldSize = 3;
  options.workerArgs = std::move(arguments);
  options.arenaBytesPerRank = 4096;
  options.deadlineSeconds = 20;
  options.graceSeconds = 5;
  return options;
}

/// Launches and checks that the process has no child left.
Result<RunSummary> launched(const LaunchOptions &options, const std::function<void(const StepStatus &)> &onStep = {}) {
  Result<RunSummary> summary = launch(options, onStep);
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  return summary;
}

void checkFails(const LaunchOptions &options, ExitCode code, const std::vector<std::string> &parts,
                double withinSeconds) {
  auto begin = std::chrono::steady_clock::now();
  Result<RunSummary> summary = launched(options);
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < withinSeconds);
  REQUIRE(!summary);
  INFO(summary.error().message);
  CHECK(summary.error().code == code);
  for (const std::string &part : parts)
    CHECK(summary.error().message.find(part) != std::string::npos);
}

std::string host() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

} // namespace

TEST_CASE("a run reports its steps in order") {
  std::vector<StepStatus> steps;
  Result<RunSummary> summary = launched(scripted({"5"}), [&](const StepStatus &step) { steps.push_back(step); });
  REQUIRE(summary);
  CHECK(summary->steps == 5);
  CHECK(summary->wallSeconds > 0);
  REQUIRE(steps.size() == 5);
  for (size_t i = 0; i < steps.size(); ++i) {
    CHECK(steps[i].step == static_cast<int64_t>(i + 1));
    CHECK(steps[i].loss == 6.0); // 1 + 2 + 3
    CHECK(std::isnan(steps[i].gradNorm));
    CHECK(steps[i].tokensPerSecond == 100);
    CHECK(steps[i].stepSeconds == 0.5);
  }
}

TEST_CASE("a killed rank ends the run at once") {
  checkFails(scripted({"9", "1", "die"}), ExitCode::Runtime,
             {"rank 1 on " + host() + " (last task: step 3 RUN) was killed by signal 9 (Killed)"}, 5);
}

TEST_CASE("a stopped rank ends the run by the deadline") {
  LaunchOptions options = scripted({"9", "2", "stop"});
  options.deadlineSeconds = 1;
  options.graceSeconds = 1;
  checkFails(options, ExitCode::Runtime,
             {"rank 2 on " + host() + " (last task: step 3 RUN) is stopped: no progress for 1 s"}, 10);
}

TEST_CASE("a rank that hangs is blamed, not those that wait for it") {
  LaunchOptions options = scripted({"9", "0", "hang"});
  options.deadlineSeconds = 1;
  options.graceSeconds = 1;
  checkFails(options, ExitCode::Runtime,
             {"rank 0 on " + host() + " (last task: step 3 RUN): no progress for 1 s"}, 10);
}

TEST_CASE("ranks that all wait for each other end the run by the deadline") {
  LaunchOptions options = scripted({"9", "0", "all-wait"});
  options.deadlineSeconds = 1;
  checkFails(options, ExitCode::Runtime,
             {"rank 0 on " + host() + " (last task: step 3 RUN) waits in receive of 8 bytes from rank 1 as message 1, "
              "from boundary; rank 1 on ", "receive of 8 bytes from rank 0", ": no progress for 1 s"}, 10);
}

TEST_CASE("the code and message of a rank that fails by itself are the run's") {
  checkFails(scripted({"9", "1", "refuse"}), ExitCode::Unavailable,
             {"rank 1 on ", "ended with exit code 6: no such device"}, 5);
}

TEST_CASE("the rank that aborted is named though others end before it") {
  checkFails(scripted({"9", "2", "abort"}), ExitCode::Runtime,
             {"rank 2 on ", "ended with exit code 7: loss is not a number"}, 5);
}

TEST_CASE("a rank that does not end after its abort is killed") {
  LaunchOptions options = scripted({"9", "2", "deaf"});
  options.graceSeconds = 0.5;
  checkFails(options, ExitCode::Runtime, {"aborted by rank 2: half dead"}, 8);
}

TEST_CASE("garbage on the status pipe does no harm") {
  Result<RunSummary> summary = launched(scripted({"4", "0", "garbage"}));
  REQUIRE(summary);
  CHECK(summary->steps == 5); // the odd step line counts
  CHECK(summary->last.step == 4);
}

TEST_CASE("a worker program that cannot run is a usage error") {
  LaunchOptions options = scripted({"1"});
  options.workerPath = "/nonexistent/worker";
  checkFails(options, ExitCode::Usage, {"launcher: cannot run worker program '/nonexistent/worker': No such file"}, 5);
  options.workerPath = "/etc"; // executable, but no program
  checkFails(options, ExitCode::Usage, {"the worker program could not be started"}, 5);
}

TEST_CASE("a world of no ranks is refused") {
  LaunchOptions options = scripted({"1"});
  options.worldSize = 0;
  checkFails(options, ExitCode::Usage, {"a world of 0 ranks"}, 5);
}

TEST_CASE("an interrupt ends the run") {
  std::atomic<bool> interrupted{false};
  LaunchOptions options = scripted({"9", "0", "hang"});
  options.graceSeconds = 0.2;
  options.interrupted = &interrupted;
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    interrupted = true;
  });
  checkFails(options, ExitCode::Interrupted, {"the run was interrupted"}, 10);
  user.join();
}

TEST_CASE("workers do not outlive a killed launcher") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t launcher = fork();
  if (launcher == 0) {
    // The workers inherit the writing end: it closes when the last of them is gone.
    LaunchOptions options = scripted({"1000000000"});
    Result<RunSummary> summary = launch(options, [](const StepStatus &step) {
      if (step.step == 3)
        raise(SIGKILL);
    });
    _exit(summary ? 0 : 1);
  }
  close(ends[1]);
  int status = 0;
  waitpid(launcher, &status, 0);
  CHECK(WIFSIGNALED(status));
  char byte;
  CHECK(read(ends[0], &byte, 1) == 0); // returns once no writer is left
  close(ends[0]);
}

TEST_CASE("shared memory is sized by the largest role") {
  pb::Plan plan;
  CHECK(sharedBytesOf(plan) == 0);
  for (uint64_t bytes : {100u, 700u}) {
    pb::Role *role = plan.add_roles();
    for (int space = 0; space <= pb::SPACE_CONTROL; ++space)
      role->add_space_bytes(space == pb::SPACE_COMM ? bytes : 10);
  }
  CHECK(sharedBytesOf(plan) == 700 + 3 * 10 + 4 * 4096);
}
