// run: trains a plan with one process a rank on this host.
#include "Commands.h"
#include "Report.h"
#include "runtime/executor/RunFlags.h"
#include "runtime/launcher/Launcher.h"
#include "runtime/plan/PlanFile.h"
#include <atomic>
#include <csignal>
#include <filesystem>
#include <iostream>

namespace plait {

namespace {

std::atomic<bool> stopRequested{false};

struct RunFlags {
  std::string planPath, workerPath, format = "text";
  std::string fault;
  RunOptions run;
};

/// plait-worker beside this program.
std::string defaultWorker() {
  std::error_code error;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "plait-worker").string();
}

void showStep(const StepStatus &step, double predicted, const std::string &format) {
  if (format == "json") {
    nlohmann::ordered_json line = {{"step", step.step}, {"loss", step.loss}, {"grad_norm", step.gradNorm}, {"tokens_per_s", step.tokensPerSecond},
                                   {"step_time_s", step.stepSeconds}, {"predicted_step_time_s", predicted}};
    std::cout << line.dump() << std::endl;
    return;
  }
  char text[160];
  std::snprintf(text, sizeof text, "step %lld  loss %.4f  grad norm %.3f  %.0f tokens/s  step %s (predicted %s)", (long long)step.step, step.loss,
                step.gradNorm, step.tokensPerSecond, secondsText(step.stepSeconds).c_str(), secondsText(predicted).c_str());
  std::cout << text << std::endl;
}

Status runCommand(RunFlags &flags) {
  Result<pb::Plan> plan = loadPlan(flags.planPath);
  if (!plan)
    return plan.error();
  if (flags.run.dataPath.empty())
    return usageError("run needs --data, a token file; `plait data encode FILE... -o tokens.bin` makes one");
  Result<SimulationResult> simulation = simulate(*plan);
  double predicted = simulation ? simulation->seconds : plan->estimate().simulated_s();
  LaunchOptions options;
  options.workerPath = flags.workerPath.empty() ? defaultWorker() : flags.workerPath;
  options.planPath = flags.planPath;
  options.worldSize = plan->world_size();
  options.workerArgs = runFlags(flags.run);
  if (!flags.fault.empty())
    options.workerArgs.push_back("--fault=" + flags.fault);
  options.arenaBytesPerRank = sharedBytesOf(*plan);
  // Ranks that wait for a stalled one give up at the deadline; the launcher looks a little later, for stalls that nobody
  // waits for.
  options.deadlineSeconds = 1.5 * flags.run.deadlineSeconds;
  options.graceSeconds = std::min(options.graceSeconds, flags.run.deadlineSeconds);
  options.interrupted = &stopRequested;
  std::signal(SIGINT, [](int) { stopRequested = true; });
  std::signal(SIGTERM, [](int) { stopRequested = true; });
  Result<RunSummary> summary = launch(options, [&](const StepStatus &step) { showStep(step, predicted, flags.format); });
  return summary ? success() : Status(summary.error());
}

} // namespace

void addRunCommand(Cli &cli) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App *command = cli.app.add_subcommand("run", "train a plan on this host, one process a rank");
  command->add_option("plan", flags->planPath, "plan file")->required();
  command->add_option("--worker", flags->workerPath, "worker program; default: plait-worker beside this one");
  command->add_option("--fault", flags->fault, "for tests: RANK:STEP:TASK, a rank dies before this task");
  addRunFlags(*command, flags->run);
  addFormat(*command, flags->format);
  command->callback([&cli, flags] { cli.action = [flags] { return runCommand(*flags); }; });
}

} // namespace plait
