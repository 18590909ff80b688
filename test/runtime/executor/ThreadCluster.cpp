#include "ThreadCluster.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace plait::test {

namespace {

void require(const Status &status) {
  if (!status)
    throw std::runtime_error(status.error().message);
}

/// Room for the arenas that executors take from a communicator; frames then lie in shared or in private memory.
uint64_t sharedBytes(const pb::Plan &plan, bool withFrames) {
  uint64_t most = 0;
  for (const pb::Role &role : plan.roles())
    most = std::max(most, role.space_bytes(pb::SPACE_COMM) + (withFrames ? role.space_bytes(pb::SPACE_FRAME) : 0));
  return most / 64 * 64 + 512;
}

} // namespace

ThreadCluster::ThreadCluster(const TinyShape &shape, pb::Plan plan, RunOptions options, Hook hook)
    : shape(shape), plan(std::move(plan)), options(std::move(options)), hook(std::move(hook)), data(shape) {
  for (uint32_t rank = 0; rank < worldSize(); ++rank)
    backends.push_back(makeReferenceBackend());
  executors.resize(worldSize());
  communicators.resize(worldSize());
}

void ThreadCluster::newEpoch() {
  Result<std::unique_ptr<ShmSegment>> created = ShmSegment::create(worldSize(), sharedBytes(plan, epoch++ % 2 == 0));
  if (!created)
    throw std::runtime_error(created.error().message);
  std::shared_ptr<ShmSegment> segment = std::move(*created);
  std::vector<std::unique_ptr<Communicator>> next;
  for (uint32_t rank = 0; rank < worldSize(); ++rank) {
    next.push_back(makeShmCommunicator(segment, rank));
    if (executors[rank])
      require(executors[rank]->adopt(*next.back()));
  }
  communicators = std::move(next);
}

std::vector<Status> ThreadCluster::onEveryRank(const std::function<Status(uint32_t)> &work) {
  std::vector<Status> results(worldSize(), success());
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < worldSize(); ++rank)
    threads.emplace_back([&, rank] {
      results[rank] = work(rank);
      if (!results[rank])
        communicators[rank]->abort(results[rank].error().message);
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

void ThreadCluster::start() {
  newEpoch();
  auto work = [&](uint32_t rank) -> Status {
    Executor::Options settings;
    settings.run = options;
    settings.data = &data;
    if (hook)
      settings.beforeTask = [this, rank](const pb::Task &task, size_t index) { return hook(*this, rank, task, index); };
    auto created = Executor::create(plan, rank, *backends[rank], *communicators[rank], std::move(settings));
    if (!created)
      return created.error();
    executors[rank] = std::move(*created);
    return executors[rank]->initializeParameters();
  };
  for (const Status &status : onEveryRank(work))
    require(status);
}

StepReport ThreadCluster::step(int64_t step) {
  std::vector<StepReport> reports(worldSize());
  const std::vector<Status> results = onEveryRank([&](uint32_t rank) -> Status {
    Result<StepReport> report = executors[rank]->runStep(step);
    if (!report)
      return report.error();
    reports[rank] = *report;
    return success();
  });
  for (const Status &result : results)
    require(result);
  for (const StepReport &report : reports)
    if (report.vote.loss != reports[0].vote.loss || report.vote.gradNorm != reports[0].vote.gradNorm)
      throw std::runtime_error("ranks disagree on the vote");
  return reports[0];
}

std::vector<ExecutorState> ThreadCluster::states() const {
  std::vector<ExecutorState> states;
  for (const std::unique_ptr<Executor> &executor : executors)
    states.push_back(executor->state());
  return states;
}

Tensors ThreadCluster::collect(const std::function<float(const OwnedView &, uint64_t)> &value) {
  Tensors tensors;
  for (int t = 0; t < TinyTensors; ++t)
    tensors[t].assign(size_t(shapeOf(shape, t)[0] * shapeOf(shape, t)[1]), std::nan(""));
  for (const std::unique_ptr<Executor> &executor : executors)
    executor->forEachOwned([&](const OwnedView &view) {
      for (uint64_t i = 0; view.counted && i < view.span.count; ++i) {
        double &element = tensors[view.span.tensor].at(view.span.logical + i);
        if (!std::isnan(element))
          throw std::runtime_error("an element is counted twice");
        element = value(view, i);
      }
    });
  for (const std::vector<double> &tensor : tensors)
    for (double element : tensor)
      if (std::isnan(element))
        throw std::runtime_error("an element is counted by no rank");
  return tensors;
}

Tensors ThreadCluster::gradients() {
  return collect([](const OwnedView &view, uint64_t i) { return view.gradient[i]; });
}

Tensors ThreadCluster::parameters() {
  return collect([](const OwnedView &view, uint64_t i) { return view.parameter[i]; });
}

std::vector<std::pair<Span, std::vector<float>>> ThreadCluster::stored(uint32_t rank) {
  std::vector<std::pair<Span, std::vector<float>>> result;
  const bool wide = plan.job().precision().param() == pb::DTYPE_F32;
  const std::byte *arena = executors[rank]->parameters();
  for (const Span &span : heldSpans(plan, executors[rank]->place())) {
    std::vector<float> values(span.count);
    for (uint64_t i = 0; i < span.count; ++i) {
      uint32_t bits = 0;
      if (wide)
        std::memcpy(&bits, arena + (span.local + i) * 4, 4);
      else
        std::memcpy(reinterpret_cast<char *>(&bits) + 2, arena + (span.local + i) * 2, 2);
      std::memcpy(&values[i], &bits, 4);
    }
    result.emplace_back(span, std::move(values));
  }
  return result;
}

std::vector<float> ThreadCluster::memory(uint32_t rank) {
  std::vector<float> result;
  for (const auto &[span, values] : stored(rank))
    result.insert(result.end(), values.begin(), values.end());
  executors[rank]->forEachOwned([&](const OwnedView &view) {
    for (const float *data : {view.parameter, static_cast<const float *>(view.moment1),
                              static_cast<const float *>(view.moment2)})
      if (data)
        result.insert(result.end(), data, data + view.span.count);
  });
  return result;
}

double relativeDifference(const std::vector<double> &actual, const std::vector<double> &expected) {
  double difference = 0, magnitude = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference = std::max(difference, std::abs(actual.at(i) - expected[i]));
    magnitude = std::max(magnitude, std::abs(expected[i]));
  }
  return difference / magnitude;
}

} // namespace plait::test
