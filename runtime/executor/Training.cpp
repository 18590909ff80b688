#include "runtime/executor/Training.h"
#include "runtime/executor/StateFiles.h"
#include "runtime/plan/RankSets.h"

namespace plait {

namespace {

class Run {
public:
  Run(const pb::Plan &plan, uint32_t rank, Communicator &communicator, const RunOptions &options,
      const TrainingHooks &hooks)
      : plan(plan), communicator(communicator), options(options), hooks(hooks), trace(rank) {}

  Status operator()(Backend &backend, BatchSource &data) {
    Executor::Options settings;
    settings.run = options;
    settings.run.optimizer.kind = plan.job().optimizer() == "sgd" ? OptimizerStep::Sgd : OptimizerStep::AdamW;
    settings.data = &data;
    settings.trace = options.tracePath.empty() ? nullptr : &trace;
    settings.beforeTask = [this](const pb::Task &task, size_t) { return beforeTask(task); };
    auto created = Executor::create(plan, communicator.rank(), backend, communicator, std::move(settings));
    if (!created)
      return created.error();
    executor = std::move(*created);
    if (Status prepared = prepare(); !prepared)
      return prepared;
    if (Status done = steps(); !done)
      return done;
    return finish();
  }

private:
  StateFiles files() const { return {plan, *executor, communicator, options.deadlineSeconds}; }

  Status prepare() {
    if (!options.resumeFrom.empty())
      return files().restoreCheckpoint(options.resumeFrom);
    if (!options.weightsFrom.empty())
      return files().loadWeights(options.weightsFrom);
    return executor->initializeParameters();
  }

  Status steps() {
    first = executor->state().committedStep + 1;
    for (step = first; step <= options.steps; ++step) {
      const Trace::Clock::time_point start = Trace::Clock::now();
      Result<StepReport> report = executor->runStep(step);
      if (!report)
        return report.error();
      if (hooks.onStep)
        hooks.onStep(*report, std::chrono::duration<double>(Trace::Clock::now() - start).count());
      const bool due = options.checkpointEvery > 0 && step % options.checkpointEvery == 0;
      if (!options.checkpointDirectory.empty() && (due || step == options.steps))
        if (Status saved = files().saveCheckpoint(options.checkpointDirectory); !saved)
          return saved;
    }
    return success();
  }

  Status beforeTask(const pb::Task &task) {
    if (hooks.beforeTask)
      hooks.beforeTask(step, task);
    if (task.kind() == pb::TASK_VOTE && step == first && !options.dumpDirectory.empty())
      return files().dump(options.dumpDirectory + "/gradients", StateFiles::Value::Gradient);
    return success();
  }

  Status finish() {
    if (!options.dumpDirectory.empty())
      if (Status dumped = files().dump(options.dumpDirectory + "/parameters", StateFiles::Value::Parameter); !dumped)
        return dumped;
    if (!options.tracePath.empty())
      return trace.write(options.tracePath + ".rank" + std::to_string(communicator.rank()) + ".json");
    return success();
  }

  const pb::Plan &plan;
  Communicator &communicator;
  const RunOptions &options;
  const TrainingHooks &hooks;
  Trace trace;
  std::unique_ptr<Executor> executor;
  int64_t first = 1, step = 1;
};

} // namespace

Status train(const pb::Plan &plan, uint32_t rank, Backend &backend, Communicator &communicator, BatchSource &data,
             const RunOptions &options, const TrainingHooks &hooks) {
  return Run(plan, rank, communicator, options, hooks)(backend, data);
}

std::string describe(const pb::Plan &plan, const pb::Role &role, const pb::Task &task) {
  const std::string name(taskName(task.kind()));
  switch (task.kind()) {
  case pb::TASK_RUN:
    return name + " " + plan.programs(int(role.programs(int(task.program())))).name() + ", frame " +
           std::to_string(task.frame());
  case pb::TASK_LOAD: return name + " micro-batch " + std::to_string(task.microbatch());
  case pb::TASK_TRANSFER: {
    std::string text = name;
    for (const pb::P2p &p2p : task.p2ps())
      text += (p2p.send() ? ", send " : ", receive ") + plan.channels(int(p2p.channel())).name();
    return text;
  }
  case pb::TASK_GRAD_SYNC:
  case pb::TASK_PARAM_GATHER: return name + " " + plan.syncs(int(task.sync())).name();
  default: return name;
  }
}

} // namespace plait
