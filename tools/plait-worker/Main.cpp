// plait-worker: one rank of a training run. A launcher gives it rank and shared memory through the environment
// (runtime/launcher/WorkerEnvironment.h); without one it runs a plan of one rank by itself.
#include "runtime/comm/shm/ShmCommunicator.h"
#include "runtime/data/TokenBatches.h"
#include "runtime/executor/RunFlags.h"
#include "runtime/executor/Training.h"
#include "runtime/launcher/WorkerEnvironment.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/verify/Verify.h"
#include "tools/plait-worker/Fault.h"
#include "tools/plait-worker/StatusLines.h"
#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <unistd.h>

using namespace plait;

namespace {

struct Arguments {
  std::string planPath, fault;
  RunOptions run;
};

struct Seat {
  uint32_t rank = 0;
  std::shared_ptr<ShmSegment> segment;
};

/// Number in an environment variable; `absent` if it is not set.
Result<int> fromEnvironment(const char *variable, int absent) {
  const char *text = std::getenv(variable);
  if (!text)
    return absent;
  int number = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  if (error != std::errc() || *end != 0 || number < 0)
    return usageError(std::string(variable) + " is '" + text + "', expected a number");
  return number;
}

uint64_t commBytes(const pb::Plan &plan) {
  uint64_t bytes = 0;
  for (const pb::Role &role : plan.roles())
    if (role.space_bytes_size() > pb::SPACE_COMM)
      bytes = std::max(bytes, role.space_bytes(pb::SPACE_COMM));
  return (bytes + 63) / 64 * 64;
}

Result<Seat> takeSeat(const pb::Plan &plan) {
  const Result<int> rank = fromEnvironment(kRankVariable, 0), world = fromEnvironment(kWorldSizeVariable, 1),
                    shared = fromEnvironment(kShmFdVariable, -1);
  for (const Result<int> *number : {&rank, &world, &shared})
    if (!*number)
      return number->error();
  if (uint32_t(*world) != plan.world_size() || *rank >= *world)
    return usageError("the plan is for " + std::to_string(plan.world_size()) + " ranks, this is rank " +
                      std::to_string(*rank) + " of " + std::to_string(*world));
  if (*shared < 0 && *world > 1)
    return usageError("a rank of " + std::to_string(*world) + " needs the launcher's shared memory, but " +
                      kShmFdVariable + " is not set");
  Result<std::unique_ptr<ShmSegment>> segment =
      *shared < 0 ? ShmSegment::create(uint32_t(*world), commBytes(plan)) : ShmSegment::attach(*shared);
  if (!segment)
    return segment.error();
  return Seat{uint32_t(*rank), std::move(*segment)};
}

Status work(const pb::Plan &plan, const Seat &seat, const Fault &fault, const RunOptions &options,
            const StatusLines &status) {
  Result<TokenBatches> data = TokenBatches::open(
      options.dataPath, {plan.job().seq_len(), plan.job().global_batch(), plan.job().vocab_size()}, options.ignoreToken);
  if (!data)
    return data.error();
  Result<RankPlace> place = RankPlace::find(plan, seat.rank);
  if (!place)
    return place.error();
  const double tokens = double(plan.job().seq_len()) * double(plan.job().global_batch());
  TrainingHooks hooks;
  if (seat.rank == 0)
    hooks.onStep = [&](const StepReport &report, double seconds) { status.step(report, seconds, tokens); };
  hooks.beforeTask = [&](int64_t step, const pb::Task &task) {
    seat.segment->reportTask(seat.rank, "step " + std::to_string(step) + ", " + describe(plan, place->role(), task));
    if (fault.task == task.kind() && fault.rank == seat.rank && fault.step == step)
      ::raise(SIGKILL);
  };
  const std::unique_ptr<Backend> backend = options.referenceBackend ? makeReferenceBackend() : makeCpuBackend();
  const std::unique_ptr<Communicator> communicator = makeShmCommunicator(seat.segment, seat.rank);
  return train(plan, seat.rank, *backend, *communicator, *data, options, hooks);
}

Status run(Arguments &arguments, const StatusLines &status) {
  Fault fault;
  if (!arguments.fault.empty()) {
    Result<Fault> parsed = parseFault(arguments.fault);
    if (!parsed)
      return parsed.error();
    fault = *parsed;
  }
  if (arguments.run.learningRate.totalSteps == 0)
    arguments.run.learningRate.totalSteps = arguments.run.steps;
  Result<pb::Plan> plan = loadPlan(arguments.planPath);
  if (!plan)
    return plan.error();
  if (Status verified = verify(*plan); !verified)
    return verified.error();
  Result<Seat> seat = takeSeat(*plan);
  if (!seat)
    return seat.error();
  Status done = work(*plan, *seat, fault, arguments.run, status);
  if (!done) // the other ranks must not wait for this one
    seat->segment->abort(seat->rank, done.error().message);
  return done;
}

} // namespace

int main(int argc, char **argv) {
  setDenormalsToZero(); // before any library starts a thread, which would inherit the setting
  Arguments arguments;
  CLI::App app("One rank of a training run.");
  app.add_option("plan", arguments.planPath, "plan file")->required();
  app.add_option("--fault", arguments.fault, "for tests: RANK:STEP:TASK, die before this task");
  addRunFlags(app, arguments.run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? int(ExitCode::Usage) : int(ExitCode::Success);
  }
  const Result<int> descriptor = fromEnvironment(kStatusFdVariable, STDOUT_FILENO);
  const StatusLines status(descriptor ? *descriptor : STDOUT_FILENO);
  const Status done = descriptor ? run(arguments, status) : Status(descriptor.error());
  if (done)
    return int(ExitCode::Success);
  std::cerr << "plait-worker: " << done.error().message << "\n";
  status.error(done.error().message);
  return int(done.error().code);
}
