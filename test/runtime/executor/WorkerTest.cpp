// The worker program, alone and under the launcher.
#include "TinyPlan.h"
#include "runtime/data/TokenFile.h"
#include "runtime/executor/RunFlags.h"
#include "runtime/launcher/Launcher.h"
#include "runtime/plan/PlanFile.h"
#include "tools/plait-worker/Fault.h"
#include <CLI/CLI.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace plait;
using namespace plait::test;

namespace {

constexpr TinyShape kShape;
const std::string kWorker = std::string(PLAIT_BIN_DIR) + "/plait-worker";

struct Files {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / ("plait-worker-" + std::to_string(::getpid()));
  Files() {
    std::filesystem::create_directories(folder);
    std::vector<uint32_t> ids;
    for (uint32_t i = 0; i < 2000; ++i)
      ids.push_back(i * i % 11 % uint32_t(kShape.vocab));
    REQUIRE(writeTokens(data(), ids, 2));
  }
  ~Files() { std::filesystem::remove_all(folder); }
  std::string data() const { return (folder / "data.tok").string(); }
  std::string plan(const TinyLayout &layout) const {
    pb::Plan plan = tinyPlan(kShape, layout);
    const std::string path = (folder / "plan.pb").string();
    REQUIRE(savePlan(path, plan));
    return path;
  }
};

struct Outcome {
  int code = 0;
  std::string output; ///< standard output and standard error
};

Outcome runAlone(const std::string &arguments) {
  Outcome outcome;
  FILE *pipe = ::popen((kWorker + " " + arguments + " 2>&1").c_str(), "r");
  char buffer[4096];
  for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    outcome.output.append(buffer, count);
  outcome.code = WEXITSTATUS(::pclose(pipe));
  return outcome;
}

struct Launched {
  Result<RunSummary> summary;
  std::vector<double> losses;
};

Launched launchPlan(const Files &files, const TinyLayout &layout, std::vector<std::string> arguments) {
  LaunchOptions options;
  options.workerPath = kWorker;
  options.planPath = files.plan(layout);
  options.worldSize = layout.worldSize();
  options.workerArgs = std::move(arguments);
  options.workerArgs.insert(options.workerArgs.end(), {"--data", files.data(), "--lr", "0.05", "--deadline", "30"});
  options.arenaBytesPerRank = sharedBytesOf(*loadPlan(options.planPath));
  options.deadlineSeconds = 60;
  std::vector<double> losses;
  Result<RunSummary> summary = launch(options, [&](const StepStatus &step) { losses.push_back(step.loss); });
  return {std::move(summary), losses};
}

} // namespace

TEST_CASE("a plan of one rank runs without a launcher and learns") {
  Files files;
  const Outcome outcome =
      runAlone(files.plan({"", 1, 1, {4}}) + " --data " + files.data() + " --steps 30 --lr 0.05 --reference");
  INFO(outcome.output);
  CHECK(outcome.code == 0);
  CHECK(outcome.output.find(R"({"event":"step","step":1,"loss":)") == 0);
  CHECK(outcome.output.find(R"({"event":"step","step":30,)") != std::string::npos);
}

TEST_CASE("processes under the launcher train as one rank does") {
  Files files;
  const Launched one = launchPlan(files, {"", 1, 1, {4}}, {"--steps", "8"});
  REQUIRE(one.summary);
  REQUIRE(one.losses.size() == 8);
  CHECK(one.losses.back() < one.losses.front());
  for (const TinyLayout &layout : {TinyLayout{"", 2, 2, {4}}, TinyLayout{"", 1, 1, {3, 1}, true}}) {
    const Launched many = launchPlan(files, layout, {"--steps", "8"});
    if (!many.summary)
      FAIL(many.summary.error().message);
    REQUIRE(many.losses.size() == 8);
    for (size_t i = 0; i < 8; ++i)
      CHECK(many.losses[i] == Approx(one.losses[i]).epsilon(1e-5));
  }
}

TEST_CASE("a run that stopped continues from its checkpoint on another layout") {
  Files files;
  const std::string checkpoints = (files.folder / "checkpoints").string();
  const TinyLayout first{"", 2, 1, {3, 1}, true}, second{"", 1, 2, {4}};
  const Launched whole = launchPlan(files, second, {"--steps", "6"});
  REQUIRE(launchPlan(files, first, {"--steps", "3", "--checkpoint-dir", checkpoints}).summary);
  const Launched rest = launchPlan(files, second, {"--steps", "6", "--resume", checkpoints});
  REQUIRE(rest.summary);
  REQUIRE(rest.losses.size() == 3);
  for (size_t i = 0; i < 3; ++i)
    CHECK(rest.losses[i] == Approx(whole.losses[3 + i]).epsilon(1e-5));
}

TEST_CASE("a worker that dies ends the run with its rank and task") {
  Files files;
  const Launched lost = launchPlan(files, {"", 2, 1, {2, 2}, true}, {"--steps", "50", "--fault", "2:3:apply"});
  REQUIRE_FALSE(lost.summary);
  CHECK(lost.summary.error().code == ExitCode::Runtime);
  INFO(lost.summary.error().message);
  CHECK(lost.summary.error().message.find("rank 2") != std::string::npos);
  CHECK(lost.summary.error().message.find("step 3, apply") != std::string::npos);
}

TEST_CASE("bad input of a worker: message and exit code") {
  Files files;
  const std::string plan = files.plan({"", 1, 1, {4}}), data = " --data " + files.data();
  auto check = [](const std::string &arguments, int code, const std::string &text) {
    const Outcome outcome = runAlone(arguments);
    INFO(outcome.output);
    CHECK(outcome.code == code);
    CHECK(outcome.output.find(text) != std::string::npos);
  };
  check("", 2, "plan is required");
  check(plan + " --no-such-flag", 2, "--no-such-flag");
  check((files.folder / "absent.pb").string(), 2, "absent.pb");
  check(plan + " --data /nonexistent.tok", 2, "/nonexistent.tok");
  check(plan + data + " --fault 1:2", 2, "--fault '1:2': expected RANK:STEP:TASK, as in 1:3:apply");
  check(plan + data + " --resume /nonexistent", 2, "/nonexistent");
  const std::string two = files.plan({"", 2, 1, {4}});
  check(two + data, 2, "the plan is for 2 ranks, this is rank 0 of 1");
  ::setenv("PLAIT_WORLD_SIZE", "2", 1);
  check(two + data, 2, "a rank of 2 needs the launcher's shared memory, but PLAIT_SHM_FD is not set");
  ::setenv("PLAIT_WORLD_SIZE", "two", 1);
  check(two + data, 2, "PLAIT_WORLD_SIZE is 'two', expected a number");
  ::unsetenv("PLAIT_WORLD_SIZE");
}

TEST_CASE("faults") {
  const Result<Fault> fault = parseFault("1:3:param_gather");
  REQUIRE(fault);
  CHECK(fault->rank == 1);
  CHECK(fault->step == 3);
  CHECK(fault->task == pb::TASK_PARAM_GATHER);
  CHECK(parseFault("1:3:aply").error().message ==
        "--fault '1:3:aply': no task 'aply'; tasks are zero, load, run, transfer, grad_sync, vote, apply, param_gather, "
        "commit");
  for (const char *text : {"", ":", "::", "1:x:vote", "1:2", "-1:2:vote"})
    CHECK(parseFault(text).error().message.find("expected RANK:STEP:TASK") != std::string::npos);
}

TEST_CASE("run options survive the way through the command line") {
  RunOptions options;
  CHECK(runFlags(options).empty());
  options.steps = 17;
  options.learningRate = {0.1, 1e-300, 5, true, 12};
  options.optimizer.beta1 = 1.0 / 3;
  options.clipNorm = 0.7;
  options.seed = ~0ull;
  options.dataPath = "a path/with spaces=";
  options.ignoreToken = -7;
  options.referenceBackend = true;
  options.resumeFrom = "--odd";
  std::vector<std::string> flags = runFlags(options);
  RunOptions read;
  CLI::App app;
  addRunFlags(app, read);
  std::reverse(flags.begin(), flags.end()); // as CLI::App takes them
  app.parse(flags);
  CHECK(runFlags(read) == runFlags(options));
  CHECK(read.learningRate.floor == 1e-300);
  CHECK(read.optimizer.beta1 == 1.0 / 3);
  CHECK(read.seed == ~0ull);
  CHECK(read.dataPath == "a path/with spaces=");
  CHECK(read.ignoreToken == -7);
  CHECK(read.referenceBackend);
  CHECK(read.resumeFrom == "--odd");
  CHECK_FALSE(read.checkpointEvery);
}
