#include "PlanRun.h"
#include "runtime/reference/ReferenceWorld.h"
#include <cmath>
#include <mutex>
#include <numeric>
#include <thread>

namespace plait::test {

static uint64_t mix(uint64_t x) {
  x ^= x >> 31;
  x *= 0x7fb5d329728ea185ull;
  x ^= x >> 27;
  x *= 0x81dadef4bc2dd44dull;
  return x ^ (x >> 33);
}

int32_t SyntheticBatches::token(int64_t step, int64_t sample, int64_t position) const {
  return int32_t(mix(uint64_t((step * globalBatch + sample) * (sequence + 1) + position) + 17) % uint64_t(vocabulary));
}

int32_t SyntheticBatches::label(int64_t step, int64_t sample, int64_t position) const {
  // Late samples have more gaps: unlike replicas then hold unlike numbers of targets.
  uint64_t gap = mix(uint64_t((step * globalBatch + sample) * sequence + position) * 3 + 5) % 10;
  return gap < (sample * 2 < globalBatch ? 1u : 4u) ? -1 : token(step, sample, position + 1);
}

Status SyntheticBatches::load(int64_t step, int64_t firstSample, int64_t samples, int32_t *tokens, int32_t *labels) {
  for (int64_t position = 0; position < sequence; ++position)
    for (int64_t i = 0; i < samples; ++i) {
      if (tokens)
        tokens[position * samples + i] = token(step, firstSample + i, position);
      if (labels)
        labels[position * samples + i] = label(step, firstSample + i, position);
    }
  return success();
}

Result<int64_t> SyntheticBatches::countTargets(int64_t step) {
  int64_t count = 0;
  for (int64_t sample = 0; sample < globalBatch; ++sample)
    for (int64_t position = 0; position < sequence; ++position)
      count += label(step, sample, position) >= 0;
  return count;
}

namespace {

void collect(const Executor &executor, const pb::Plan &plan, bool gradients, Tensors &tensors) {
  executor.forEachOwned([&](const OwnedView &view) {
    if (!view.counted)
      return;
    const pb::Tensor &tensor = plan.tensors(view.span.tensor);
    std::vector<float> &whole = tensors[tensor.name()];
    whole.resize(std::accumulate(tensor.shape().begin(), tensor.shape().end(), int64_t(1), std::multiplies<>()), NAN);
    const float *values = gradients ? view.gradient : view.parameter;
    std::copy_n(values, view.span.count, whole.begin() + view.span.logical);
  });
}

/// A data source that miscounts.
class MiscountedBatches final : public BatchSource {
public:
  MiscountedBatches(BatchSource &source, std::function<int64_t(int64_t)> believed) : source(source), believed(std::move(believed)) {}
  Status load(int64_t step, int64_t firstSample, int64_t samples, int32_t *tokens, int32_t *labels) override {
    return source.load(step, firstSample, samples, tokens, labels);
  }
  Result<int64_t> countTargets(int64_t step) override {
    Result<int64_t> count = source.countTargets(step);
    return count && believed ? Result<int64_t>(believed(*count)) : count;
  }

private:
  BatchSource &source;
  std::function<int64_t(int64_t)> believed;
};

/// Everything the rank threads share.
struct Shared {
  std::mutex mutex;
  PlanRun run;
  std::vector<Error> errors;
};

Status runRank(const pb::Plan &plan, uint32_t rank, const RunSettings &settings, Communicator &communicator, Shared &shared) {
  std::unique_ptr<Backend> backend = settings.referenceBackend ? makeReferenceBackend() : makeCpuBackend();
  SyntheticBatches truth(plan.job().seq_len(), plan.job().global_batch(), plan.job().vocab_size());
  std::function<int64_t(int64_t)> believed;
  if (settings.believedTargets)
    believed = [&](int64_t targets) { return settings.believedTargets(rank, targets); };
  MiscountedBatches data(truth, believed);
  Executor::Options options;
  options.data = &data;
  options.run.steps = settings.steps;
  options.run.optimizer.kind = settings.optimizer;
  options.run.optimizer.weightDecay = settings.weightDecay;
  options.run.learningRate.peak = settings.learningRate;
  options.run.clipNorm = settings.clipNorm;
  options.run.seed = 3;
  options.run.deadlineSeconds = 60;
  Result<std::unique_ptr<Executor>> executor = Executor::create(plan, rank, *backend, communicator, options);
  if (!executor)
    return executor.error();
  if (Status s = (*executor)->initializeParameters(); !s)
    return s;
  for (int64_t step = 1; step <= settings.steps; ++step) {
    Result<StepReport> report = (*executor)->runStep(step);
    if (!report)
      return report.error();
    std::lock_guard lock(shared.mutex);
    if (rank == 0) {
      shared.run.losses.push_back(report->vote.loss);
      shared.run.gradNorms.push_back(report->vote.gradNorm);
    }
    if (step == 1)
      collect(**executor, plan, true, shared.run.firstGradients);
    if (step == settings.steps)
      collect(**executor, plan, false, shared.run.parameters);
  }
  return success();
}

} // namespace

Result<PlanRun> runPlan(const pb::Plan &plan, const RunSettings &settings) {
  ReferenceWorld world(plan.world_size());
  Shared shared;
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < plan.world_size(); ++rank)
    threads.emplace_back([&, rank] {
      std::unique_ptr<Communicator> communicator = world.communicator(rank);
      if (Status s = runRank(plan, rank, settings, *communicator, shared); !s) {
        {
          std::lock_guard lock(shared.mutex);
          shared.errors.push_back(s.error());
        }
        communicator->abort(s.error().message);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  if (!shared.errors.empty())
    return shared.errors.front();
  return std::move(shared.run);
}

double relativeDifference(const std::vector<float> &a, const std::vector<float> &b) {
  if (a.size() != b.size())
    return INFINITY;
  double difference = 0, scale = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i]))
      return INFINITY;
    difference = std::max(difference, std::abs(double(a[i]) - double(b[i])));
    scale = std::max(scale, std::abs(double(b[i])));
  }
  return scale > 0 ? difference / scale : difference;
}

Worst worstDifference(const Tensors &a, const Tensors &b) {
  Worst worst;
  if (a.size() != b.size())
    return {INFINITY, "number of tensors"};
  for (const auto &[name, values] : b) {
    auto found = a.find(name);
    double difference = found == a.end() ? INFINITY : relativeDifference(found->second, values);
    if (difference >= worst.difference)
      worst = {difference, name};
  }
  return worst;
}

} // namespace plait::test
