#include "runtime/executor/StateFiles.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/plan/PlanFile.h"
#include <numeric>

namespace plait {

namespace {

/// Feeds the counted elements of `executor` to a writer; stops at the first error.
Status writeCounted(Executor &executor, const std::function<Status(const OwnedView &)> &write) {
  Status status = success();
  executor.forEachOwned([&](const OwnedView &view) {
    if (view.counted && status)
      status = write(view);
  });
  return status;
}

Status readParameters(Executor &executor, const TensorSetReader &reader, const std::string &suffix) {
  return executor.setParameters([&](const Span &span, std::span<float> values) {
    return reader.read(suffix, span.tensor, int64_t(span.logical), values);
  });
}

} // namespace

Status barrier(Communicator &communicator, Communicator::Clock::time_point deadline) {
  CommGroup world;
  world.name = "all ranks";
  world.ranks.resize(communicator.worldSize());
  std::iota(world.ranks.begin(), world.ranks.end(), 0);
  world.index = communicator.rank();
  int32_t arrived = 0;
  CollectiveCall call;
  call.kind = pb::COLLECTIVE_ALL_REDUCE;
  call.group = &world;
  call.in = call.out = &arrived;
  call.elements = 1;
  call.dtype = DType::I32;
  call.reduce = pb::REDUCE_SUM;
  call.origin = "barrier";
  return communicator.run({&call, 1}, {}, deadline);
}

Communicator::Clock::time_point StateFiles::deadline() const {
  return Communicator::Clock::now() + std::chrono::duration_cast<Communicator::Clock::duration>(
                                          std::chrono::duration<double>(deadlineSeconds));
}

Status StateFiles::saveCheckpoint(const std::string &directory) const {
  const ExecutorState &state = executor.state();
  const std::vector<Column> columns = checkpointColumns(plan);
  if (communicator.rank() == 0)
    if (Result<std::string> begun = beginCheckpoint(directory, plan, state.committedStep); !begun)
      return begun.error();
  if (Status made = barrier(communicator, deadline()); !made)
    return made;
  Result<TensorSetWriter> writer =
      TensorSetWriter::open(unfinishedCheckpoint(directory, state.committedStep), plan, columns);
  if (!writer)
    return writer.error();
  Status written = writeCounted(executor, [&](const OwnedView &view) -> Status {
    const std::pair<const char *, const float *> values[] = {
        {"", view.parameter}, {kMaster, view.parameter}, {kExpAvg, view.moment1}, {kExpAvgSq, view.moment2}};
    for (const auto &[suffix, data] : values)
      if (std::optional<uint32_t> column = columnOf(columns, suffix); column && data)
        if (Status done = writer->write(*column, view.span.tensor, int64_t(view.span.logical), {data, view.span.count});
            !done)
          return done;
    return success();
  });
  if (!written)
    return written;
  if (Status closed = writer->close(); !closed)
    return closed;
  if (Status all = barrier(communicator, deadline()); !all)
    return all;
  if (communicator.rank() == 0)
    if (Result<std::string> finished =
            finishCheckpoint(directory, plan, {state.committedStep, state.updates, shortDigest(plan)});
        !finished)
      return finished.error();
  return barrier(communicator, deadline());
}

Status StateFiles::restoreCheckpoint(const std::string &path) const {
  const std::string newest = latestCheckpoint(path), folder = newest.empty() ? path : newest;
  Result<CheckpointInfo> info = readManifest(folder);
  if (!info)
    return info.error();
  Result<TensorSetReader> reader = TensorSetReader::open(folder, plan);
  if (!reader)
    return reader.error();
  if (Status read = readParameters(executor, *reader, reader->has(kMaster) ? kMaster : ""); !read)
    return read;
  Status moments = success();
  executor.forEachOwned([&](const OwnedView &view) {
    const std::pair<const char *, float *> values[] = {{kExpAvg, view.moment1}, {kExpAvgSq, view.moment2}};
    for (const auto &[suffix, data] : values)
      if (data && moments)
        moments = reader->read(suffix, view.span.tensor, int64_t(view.span.logical), {data, view.span.count});
  });
  if (!moments)
    return moments;
  executor.resumeAfter(info->step, info->updates);
  return success();
}

Status StateFiles::loadWeights(const std::string &path) const {
  Result<TensorSetReader> reader = TensorSetReader::open(path, plan);
  if (!reader)
    return reader.error();
  return readParameters(executor, *reader, "");
}

Status StateFiles::dump(const std::string &folder, Value value) const {
  const std::vector<Column> columns = {{"tensors.safetensors", "", DType::F32}};
  if (communicator.rank() == 0)
    if (Status made = TensorSetWriter::create(folder, plan, columns); !made)
      return made;
  if (Status made = barrier(communicator, deadline()); !made)
    return made;
  Result<TensorSetWriter> writer = TensorSetWriter::open(folder, plan, columns);
  if (!writer)
    return writer.error();
  Status written = writeCounted(executor, [&](const OwnedView &view) {
    const float *data = value == Value::Gradient ? view.gradient : view.parameter;
    return writer->write(0, view.span.tensor, int64_t(view.span.logical), {data, view.span.count});
  });
  if (!written)
    return written;
  if (Status closed = writer->close(); !closed)
    return closed;
  return barrier(communicator, deadline());
}

} // namespace plait
