#include "runtime/executor/Executor.h"
#include "runtime/executor/InitialWeights.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace plait {

namespace {

bool followsVote(pb::TaskKind kind) {
  return kind == pb::TASK_APPLY || kind == pb::TASK_PARAM_GATHER || kind == pb::TASK_COMMIT;
}

} // namespace

std::optional<Vote> recoveryVote(std::span<const ExecutorState> survivors, int64_t step) {
  for (const ExecutorState &state : survivors)
    if (state.votedStep == step)
      return state.vote;
  return std::nullopt;
}

Executor::Executor(const pb::Plan &plan, RankPlace place, Backend &backend, Communicator &communicator,
                   Options options, Arenas arenas)
    : plan(plan), rankPlace(std::move(place)), backend(backend), communicator(&communicator),
      options(std::move(options)), arenas(std::move(arenas)), paramType(DType(plan.job().precision().param())),
      schedule(plan.schedules(int(rankPlace.role().schedule()))) {}

Result<std::unique_ptr<Executor>> Executor::create(const pb::Plan &plan, uint32_t rank, Backend &backend,
                                                   Communicator &communicator, Options options) {
  Result<RankPlace> place = RankPlace::find(plan, rank);
  if (!place)
    return place.error();
  Result<Arenas> arenas = Arenas::allocate(place->role(), backend, communicator);
  if (!arenas)
    return arenas.error();
  std::unique_ptr<Executor> executor(
      new Executor(plan, *place, backend, communicator, std::move(options), std::move(*arenas)));
  if (Status prepared = executor->prepare(); !prepared)
    return prepared.error();
  return executor;
}

Status Executor::prepare() {
  if (paramType != DType::F32 && paramType != DType::BF16)
    return Error{ExitCode::CheckFailed, "parameters are " + std::string(nameOf(paramType)) +
                                            ", the executor knows f32 and bf16"};
  const pb::Precision &precision = plan.job().precision();
  const std::pair<const char *, pb::DType> kept[] = {{"gradients", precision.grad()},
                                                     {"reduced gradients", precision.reduce()},
                                                     {"master copies", precision.master()},
                                                     {"moments", precision.moments()}};
  for (const auto &[what, type] : kept)
    if (type != pb::DTYPE_NONE && type != pb::DTYPE_F32)
      return Error{ExitCode::CheckFailed, std::string("the plan wants ") + what + " in " +
                                              std::string(nameOf(DType(type))) + ", the executor keeps them in f32"};
  const bool adam = options.run.optimizer.kind == OptimizerStep::AdamW;
  if (adam && plan.job().optimizer() == "sgd")
    return usageError("the run asks for adamw, but the plan was made for sgd and has no room for moments; "
                      "run with sgd or compile the plan for adamw");
  Result<std::unique_ptr<ProgramRunner>> runner = ProgramRunner::create(plan, rankPlace, backend, arenas);
  if (!runner)
    return runner.error();
  programs = std::move(*runner);
  Result<GradientSync> gradientSync = GradientSync::create(plan, rankPlace, arenas);
  if (!gradientSync)
    return gradientSync.error();
  sync.emplace(std::move(*gradientSync));
  world.name = "all ranks";
  world.ranks.resize(plan.world_size());
  std::iota(world.ranks.begin(), world.ranks.end(), 0);
  world.index = rankPlace.rank();
  if (Status placed = placeAmongCopies(); !placed)
    return placed;
  return bindTransfers();
}

Status Executor::placeAmongCopies() {
  const pb::Role &role = rankPlace.role();
  firstMicrobatch = role.first_microbatch();
  if (role.microbatches_per_copy() == 0)
    return success();
  const pb::GroupFamily &copies = plan.families(int(role.copy_family()));
  const std::optional<GroupPlace> copy = placeIn(copies, rankPlace.rank());
  if (!copy)
    return Error{ExitCode::CheckFailed, "role '" + role.name() + "': rank " + std::to_string(rankPlace.rank()) +
                                            " is in no group of its copies' family '" + copies.name() + "'"};
  firstMicrobatch += role.microbatches_per_copy() * copy->index;
  return success();
}

Result<P2pCall> Executor::bindTransfer(const pb::Task &task, const pb::P2p &p2p) const {
  const pb::Channel &channel = plan.channels(int(p2p.channel()));
  const std::optional<uint32_t> peer = peerOf(channel, rankPlace.rank(), p2p.send());
  if (!peer)
    return Error{ExitCode::CheckFailed, "rank " + std::to_string(rankPlace.rank()) + " is no " +
                                            (p2p.send() ? "sender" : "receiver") + " of channel '" + channel.name() +
                                            "'"};
  const pb::Port &port = rankPlace.role().ports(int(p2p.port()));
  std::byte *base = port.space() == pb::SPACE_FRAME ? arenas.frame(0, task.frame()) : arenas.base(port.space());
  P2pCall call;
  call.send = p2p.send();
  call.peer = *peer;
  call.data = base + port.offset() + p2p.offset();
  call.bytes = p2p.bytes() ? p2p.bytes() : port.bytes();
  call.origin = channel.name().c_str();
  return call;
}

Status Executor::bindTransfers() {
  transfers.assign(size_t(schedule.tasks_size()), {});
  for (int t = 0; t < schedule.tasks_size(); ++t)
    for (const pb::P2p &p2p : schedule.tasks(t).p2ps()) {
      Result<P2pCall> call = bindTransfer(schedule.tasks(t), p2p);
      if (!call)
        return call.error();
      transfers[t].push_back(*call);
    }
  return success();
}

Status Executor::adopt(Communicator &newCommunicator) {
  communicator = &newCommunicator;
  if (Status moved = arenas.moveTo(newCommunicator); !moved)
    return moved;
  return bindTransfers();
}

Communicator::Clock::time_point Executor::deadline() const {
  return Communicator::Clock::now() + std::chrono::duration_cast<Communicator::Clock::duration>(
                                          std::chrono::duration<double>(options.run.deadlineSeconds));
}

// ---- Parameters ----

void Executor::writeMaster(uint64_t local, std::span<const float> values) {
  const std::vector<OwnedRun> &runs = sync->runs();
  auto run = std::partition_point(runs.begin(), runs.end(),
                                  [&](const OwnedRun &r) { return r.local + r.count <= local; });
  for (; run != runs.end() && run->local < local + values.size(); ++run) {
    const uint64_t from = std::max(local, run->local), to = std::min(local + values.size(), run->local + run->count);
    if (float *master = sync->state(run->part).master)
      std::copy(values.begin() + (from - local), values.begin() + (to - local),
                master + run->state + (from - run->local));
  }
}

Status Executor::setParameters(const ElementSource &source) {
  constexpr uint64_t Chunk = 1 << 16;
  std::vector<float> buffer(Chunk);
  for (const Span &span : heldSpans(plan, rankPlace))
    for (uint64_t done = 0; done < span.count; done += Chunk) {
      const uint64_t count = std::min(Chunk, span.count - done), local = span.local + done;
      const std::span<float> values(buffer.data(), count);
      if (Status filled = source({span.tensor, span.logical + done, local, count}, values); !filled)
        return filled;
      TensorDesc from{{int64_t(count)}, {1}, DType::F32}, to = from;
      to.dtype = paramType;
      backend.copy(from, values.data(), to, arenas.base(pb::SPACE_PARAM) + local * uint64_t(bytesOf(paramType)));
      writeMaster(local, values);
    }
  return success();
}

Status Executor::initializeParameters() {
  return setParameters([&](const Span &span, std::span<float> values) {
    initialElements(plan.tensors(int(span.tensor)).init(), options.run.seed, span.tensor, span.logical, values);
    return success();
  });
}

void Executor::resumeAfter(int64_t step, int64_t updates) {
  progress = {};
  progress.votedStep = progress.appliedStep = progress.committedStep = step;
  progress.updates = updates;
}

void Executor::forEachOwned(const std::function<void(const OwnedView &)> &visit) const {
  const float *stored = reinterpret_cast<const float *>(arenas.base(pb::SPACE_PARAM));
  for (const OwnedSpan &owned : intersect(heldSpans(plan, rankPlace), sync->runs())) {
    const OwnedRun &run = sync->runs()[owned.run];
    const GradientSync::State &state = sync->state(run.part);
    OwnedView view;
    view.span = owned.span;
    view.counted = run.counted;
    view.gradient = gradients() + owned.span.local;
    view.parameter = state.master ? state.master + owned.state : stored + owned.span.local;
    view.moment1 = state.moment1 ? state.moment1 + owned.state : nullptr;
    view.moment2 = state.moment2 ? state.moment2 + owned.state : nullptr;
    visit(view);
  }
}

// ---- Steps ----

Result<StepReport> Executor::runStep(int64_t step) {
  if (step != progress.committedStep + 1 || progress.appliedStep >= step)
    return Error{ExitCode::Internal, "step " + std::to_string(step) + " cannot be run after committed step " +
                                         std::to_string(progress.committedStep) + " and applied step " +
                                         std::to_string(progress.appliedStep)};
  if (Status done = runTasks(step, false); !done)
    return done.error();
  return report(step);
}

Result<StepReport> Executor::finishStep(int64_t step, const Vote &vote) {
  progress.vote = vote;
  progress.votedStep = step;
  if (Status done = runTasks(step, true); !done)
    return done.error();
  return report(step);
}

Status Executor::runTasks(int64_t step, bool afterVoteOnly) {
  for (int index = 0; index < schedule.tasks_size(); ++index) {
    const pb::Task &task = schedule.tasks(index);
    if (afterVoteOnly && !followsVote(task.kind()))
      continue;
    Status done = options.beforeTask ? options.beforeTask(task, size_t(index)) : success();
    const Trace::Clock::time_point start = Trace::Clock::now();
    if (done)
      done = runTask(task, size_t(index), step);
    if (!done)
      return Error{done.error().code, "step " + std::to_string(step) + ", task " + std::to_string(index) + " (" +
                                          std::string(taskName(task.kind())) + "): " + done.error().message};
    if (options.trace) {
      uint64_t bytes = 0;
      for (const P2pCall &call : transfers[index])
        bytes += call.bytes;
      options.trace->add(taskName(task.kind()), task.queue(), start, bytes);
    }
  }
  return success();
}

Status Executor::runTask(const pb::Task &task, size_t index, int64_t step) {
  switch (task.kind()) {
  case pb::TASK_ZERO: return zero(step);
  case pb::TASK_LOAD: return load(task, step);
  case pb::TASK_RUN: return programs->run(task.program(), task.frame(), *communicator, deadline(), options.trace);
  case pb::TASK_TRANSFER: return communicator->run({}, transfers[index], deadline());
  case pb::TASK_GRAD_SYNC: return sync->reduce(task.sync(), *communicator, deadline());
  case pb::TASK_VOTE: return vote(step);
  case pb::TASK_APPLY: apply(step); return success();
  case pb::TASK_PARAM_GATHER: return sync->gather(task.sync(), *communicator, deadline());
  case pb::TASK_COMMIT: progress.committedStep = step; return success();
  default: return Error{ExitCode::CheckFailed, "unknown task kind " + std::to_string(int(task.kind()))};
  }
}

Status Executor::zero(int64_t step) {
  backend.zero(arenas.base(pb::SPACE_GRAD), arenas.bytes(pb::SPACE_GRAD));
  Result<int64_t> counted = options.data->countTargets(step);
  if (!counted)
    return counted.error();
  targets = *counted;
  const float scalars[2] = {targets > 0 ? float(1.0 / double(targets)) : 0.0f, 0.0f}; // loss scale, loss sum
  std::memcpy(arenas.base(pb::SPACE_CONTROL) + ControlLayout::LossScale, scalars, sizeof scalars);
  return success();
}

Status Executor::load(const pb::Task &task, int64_t step) {
  const int64_t samples = plan.job().micro_batch();
  for (int c = 0; c < rankPlace.role().frames_size(); ++c) {
    const pb::FrameClass &frames = rankPlace.role().frames(c);
    if ((!frames.has_tokens() && !frames.has_labels()) || task.frame() >= frames.count())
      continue;
    std::byte *frame = arenas.frame(uint32_t(c), task.frame());
    auto at = [&](bool has, uint64_t offset) { return has ? reinterpret_cast<int32_t *>(frame + offset) : nullptr; };
    if (Status loaded =
            options.data->load(step, (int64_t(firstMicrobatch) + task.microbatch()) * samples, samples,
                               at(frames.has_tokens(), frames.tokens_offset()),
                               at(frames.has_labels(), frames.labels_offset()));
        !loaded)
      return loaded;
  }
  return success();
}

Status Executor::vote(int64_t step) {
  double squares = 0;
  for (const OwnedRun &run : sync->runs())
    if (run.counted)
      squares += backend.sumOfSquares(gradients() + run.local, run.count);
  float lossSum = 0;
  if (rankPlace.role().reports_loss() && rankPlace.isOrigin())
    std::memcpy(&lossSum, arenas.base(pb::SPACE_CONTROL) + ControlLayout::LossSum, sizeof lossSum);
  const bool finite = std::isfinite(squares) && std::isfinite(lossSum);
  double *scalars = reinterpret_cast<double *>(arenas.base(pb::SPACE_CONTROL) + ControlLayout::Vote);
  scalars[0] = finite ? 0 : 1;
  scalars[1] = squares;
  scalars[2] = lossSum;
  CollectiveCall call;
  call.kind = pb::COLLECTIVE_ALL_REDUCE;
  call.group = &world;
  call.in = call.out = scalars;
  call.elements = 3;
  call.dtype = DType::F64;
  call.reduce = pb::REDUCE_SUM;
  call.origin = "vote";
  if (Status done = communicator->run({&call, 1}, {}, deadline()); !done)
    return done;
  progress.vote = {scalars[0] == 0, std::sqrt(scalars[1]), targets > 0 ? scalars[2] / double(targets) : 0.0};
  progress.votedStep = step;
  return success();
}

void Executor::apply(int64_t step) {
  if (progress.appliedStep == step)
    return;
  if (progress.vote.passed) {
    OptimizerStep update = options.run.optimizer;
    update.learningRate = options.run.learningRate.at(step);
    update.step = ++progress.updates;
    if (options.run.clipNorm > 0)
      update.gradScale = std::min(1.0, options.run.clipNorm / (progress.vote.gradNorm + 1e-6)); // as PyTorch clips
    auto at = [](float *base, uint64_t index) { return base ? base + index : nullptr; };
    for (const OwnedRun &run : sync->runs()) {
      const GradientSync::State &state = sync->state(run.part);
      backend.optimizerUpdate(update, run.decay, run.count, gradients() + run.local, at(state.master, run.state),
                              at(state.moment1, run.state), at(state.moment2, run.state),
                              arenas.base(pb::SPACE_PARAM) + run.local * uint64_t(bytesOf(paramType)), paramType);
    }
  }
  progress.appliedStep = step;
}

} // namespace plait
