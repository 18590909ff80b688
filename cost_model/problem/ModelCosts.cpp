#include "cost_model/problem/ModelCosts.h"
#include "cost_model/compute/Kernels.h"
#include "cost_model/problem/StageModel.h"
#include <algorithm>
#include <limits>
#include <mutex>
#include <set>
#include <tuple>

namespace plait {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Devices of a stage as far as cost is concerned.
struct Placement {
  std::vector<const DeviceFacts *> devices; ///< per coordinate
  CommShape shape;
  bool operator==(const Placement &) const = default;
};

/// Copies of one stage of one replica, as ranks of a gradient group. `sharers` of its devices hold addends of the same
/// elements; with one of them its coordinates synchronise each with their counterparts.
struct Holder {
  DeviceRange devices;
  uint32_t copies = 1, copyStride = 0, sharers = 1;
  auto key() const { return std::tie(devices.first, devices.count, devices.stride, copies, copyStride, sharers); }
  bool operator<(const Holder &other) const { return key() < other.key(); }
};
using Holders = std::vector<Holder>;

uint64_t membersOf(const Holders &holders) {
  uint64_t members = 0;
  for (const Holder &holder : holders)
    members += uint64_t(holder.copies) * holder.sharers;
  return members;
}

/// Elements of a gradient vector of `elements` that a stage with `own` shards gathers from several places before it can
/// exchange them with stages of other degrees: where every own part is one part of the others', nothing.
uint64_t packedElements(const Holders &holders, uint32_t own, uint64_t elements) {
  uint64_t packed = 0;
  for (const Holder &holder : holders)
    if (own % holder.devices.count != 0)
      packed = std::max(packed, elements * own / std::max(own, holder.devices.count));
  return packed;
}

/// A stage with the models of its blocks.
struct StageView {
  const Stage *stage = nullptr;
  std::vector<const BlockModel *> blocks; ///< per use; empty if one of them cannot be split so
  std::vector<uint32_t> coordinates;      ///< one of each kind of coordinates
  /// Parameters of the stage by the group that synchronises them, as (use of the stage, parameter of the block).
  std::map<Holders, std::vector<std::pair<size_t, size_t>>> syncs;

  uint64_t elements(const std::vector<std::pair<size_t, size_t>> &params, uint32_t coordinate) const {
    uint64_t sum = 0;
    for (auto [use, param] : params)
      sum += blocks[use]->coordinates[coordinate].paramElements[param];
    return sum;
  }
};

} // namespace

struct ModelCosts::Impl {
  const Problem &problem;
  const Facts &facts;
  CommMap topology;
  std::vector<const DeviceFacts *> classFacts;
  const TargetFacts *target = nullptr;
  Label label = Label::Measured;
  double errorBand = 0;

  mutable std::mutex mutex;
  mutable std::map<std::tuple<Id, std::string, int64_t>, std::optional<BlockModel>> blocks;
  mutable std::map<std::tuple<uint32_t, uint32_t, uint32_t>, size_t> placementIndex; // by device range
  mutable std::vector<std::unique_ptr<Placement>> placements;                        // distinct ones
  mutable std::map<std::tuple<const BlockModel *, Phase, size_t>, double> seconds;
  mutable std::map<Holders, CommShape> groups;
  std::vector<std::vector<Id>> usesOf; // parameter -> uses of the chain

  Impl(const Problem &problem, const Facts &facts)
      : problem(problem), facts(facts), topology(problem.cluster, facts), usesOf(problem.model->params.size()) {
    for (Id use = 0; use < model().chain.size(); ++use)
      for (Id param : model().chain[use].params)
        usesOf[param].push_back(use);
  }

  const Model &model() const { return *problem.model; }

  const BlockModel *block(Id kind, const Stage &stage, int64_t microBatch) const {
    return block(kind, stage, layoutKey(stage), microBatch);
  }
  const BlockModel *block(Id kind, const Stage &stage, const std::string &key, int64_t microBatch) const {
    auto [at, fresh] = blocks.try_emplace({kind, key, microBatch});
    if (fresh) {
      Result<BlockModel> made =
          modelBlock(model().kinds[kind], stage, {problem.job.seqLen, microBatch}, problem.job.precision);
      if (made)
        at->second = std::move(*made);
    }
    return at->second ? &*at->second : nullptr;
  }

  size_t placement(const DeviceRange &range) const {
    auto [at, fresh] = placementIndex.try_emplace({range.first, range.count, range.stride}, 0);
    if (!fresh)
      return at->second;
    Placement placed;
    std::vector<uint32_t> devices = devicesOf(range);
    for (uint32_t device : devices)
      placed.devices.push_back(factsOf(device));
    placed.shape = shapeOf(devices);
    auto same = std::find_if(placements.begin(), placements.end(), [&](const auto &other) { return *other == placed; });
    at->second = size_t(same - placements.begin());
    if (same == placements.end())
      placements.push_back(std::make_unique<Placement>(std::move(placed)));
    return at->second;
  }

  const DeviceFacts *factsOf(uint32_t device) const { return classFacts[problem.cluster.classOf(device)]; }
  /// Links were checked by create(); devices by verify().
  CommShape shapeOf(const std::vector<uint32_t> &devices) const {
    Result<CommShape> shape = topology.shape(devices);
    return shape ? *shape : CommShape{};
  }

  double phaseSeconds(Id kind, const Stage &stage, Phase phase, int64_t microBatch) const;
  double boundarySeconds(const Stage &from, const Stage &to, int64_t microBatch) const;
  Holders holdersOf(const Solution &solution, const std::vector<Id> &uses, uint32_t sharers) const;
  StageView viewOf(const Solution &solution, Id replica, Id stage) const;
  const CommShape &groupShape(const Holders &holders) const;
  double tailSeconds(const Solution &solution, Id replica, Id stage) const;
  std::vector<std::pair<std::string, uint64_t>> memory(const Solution &solution, const StageView &view, uint32_t coordinate,
                                                       uint32_t inFlight) const;
  uint64_t optimizerBytesPerElement() const {
    const Precision &p = problem.job.precision;
    uint64_t moments = problem.job.optimizer == "adamw" ? 2 * bytesOf(p.moments) : 0;
    return moments + (p.param == p.master ? 0 : bytesOf(p.master));
  }
};

double ModelCosts::Impl::phaseSeconds(Id kind, const Stage &stage, Phase phase, int64_t microBatch) const {
  const BlockModel *model = block(kind, stage, microBatch);
  if (!model)
    return kNever;
  size_t place = placement(stage.devices);
  auto [at, fresh] = seconds.try_emplace({model, phase, place}, 0);
  if (!fresh)
    return at->second;
  const auto &devices = placements[place]->devices;
  bool alike = std::all_of(devices.begin(), devices.end(), [&](const auto *device) { return device == devices.front(); });
  for (uint32_t k = 0; k < stage.devices.count; ++k) {
    if (alike && !std::binary_search(model->distinct.begin(), model->distinct.end(), k))
      continue; // as an earlier coordinate
    const CoordinateModel &coordinate = model->coordinates[k];
    double time = 0;
    if (auto works = coordinate.works.find(phase); works != coordinate.works.end())
      for (const Work &work : works->second)
        time += kernelSeconds(work, *placements[place]->devices[k]);
    if (auto comm = coordinate.collectives.find(phase); comm != coordinate.collectives.end())
      for (const PricedCollective &collective : comm->second)
        time += target->tpExposed * collectiveSeconds(collective.kind, collective.bytes, placements[place]->shape);
    at->second = std::max(at->second, time);
  }
  return at->second;
}

double ModelCosts::Impl::boundarySeconds(const Stage &from, const Stage &to, int64_t microBatch) const {
  const BlockModel *model = block(this->model().chain[from.endUse - 1].kind, from, microBatch);
  if (!model)
    return kNever;
  double whole = double(model->coordinates[0].memory.y);
  if (splitsStream(from)) {
    whole = 0;
    for (const CoordinateModel &coordinate : model->coordinates)
      whole += double(coordinate.memory.y);
  }
  double received = splitsStream(to) ? whole / to.devices.count : whole; // per receiver
  double load = std::max(received, received * to.devices.count / from.devices.count);
  auto last = [](const DeviceRange &range) { return range.first + (range.count - 1) * range.stride; };
  double ends[] = {messageSeconds(load, shapeOf({from.devices.first, to.devices.first})),
                   messageSeconds(load, shapeOf({last(from.devices), last(to.devices)}))};
  return std::max(ends[0], ends[1]);
}

/// All stages that hold one of the uses: of every replica, and both ends of a tied tensor.
Holders ModelCosts::Impl::holdersOf(const Solution &solution, const std::vector<Id> &uses, uint32_t sharers) const {
  Holders holders;
  for (const Replica &replica : solution.replicas)
    for (const Stage &stage : replica.stages)
      if (std::any_of(uses.begin(), uses.end(), [&](Id use) { return use >= stage.firstUse && use < stage.endUse; }))
        holders.push_back({stage.devices, replica.copies, replica.copyStride, std::min(sharers, stage.devices.count)});
  return holders;
}

StageView ModelCosts::Impl::viewOf(const Solution &solution, Id replica, Id stage) const {
  StageView view;
  view.stage = &solution.replicas[replica].stages[stage];
  std::string key = layoutKey(*view.stage);
  std::set<Id> seen; // tied parameters
  std::set<uint32_t> coordinates;
  using SyncParams = std::remove_reference_t<decltype(view.syncs.begin()->second)>;
  std::map<std::pair<std::vector<Id>, uint32_t>, SyncParams *> syncOf;
  // In one pipeline all blocks of a stage are held by that stage alone, whichever block it is.
  bool onePipeline = solution.replicas.size() == 1;
  const BlockModel *counted = nullptr;
  for (Id use = view.stage->firstUse; use < view.stage->endUse; ++use) {
    const BlockUse &chained = model().chain[use];
    const BlockModel *block = this->block(chained.kind, *view.stage, key, solution.microBatch);
    if (!block)
      return {view.stage, {}, {}, {}};
    if (block != counted)
      coordinates.insert(block->distinct.begin(), block->distinct.end());
    counted = block;
    for (size_t i = 0; i < chained.params.size(); ++i) {
      const std::vector<Id> &uses = usesOf[chained.params[i]];
      bool own = onePipeline && uses.size() == 1;
      if (uses.size() > 1 && !seen.insert(chained.params[i]).second)
        continue;
      uint32_t sharers = block->coordinates[0].sharers[i];
      auto [at, fresh] = syncOf.try_emplace({own ? std::vector<Id>() : uses, sharers}, nullptr);
      if (fresh)
        at->second = &view.syncs[holdersOf(solution, uses, sharers)];
      at->second->push_back({view.blocks.size(), i});
    }
    view.blocks.push_back(block);
  }
  view.coordinates.assign(coordinates.begin(), coordinates.end());
  return view;
}

const CommShape &ModelCosts::Impl::groupShape(const Holders &holders) const {
  auto [at, fresh] = groups.try_emplace(holders);
  if (fresh) {
    std::vector<uint32_t> devices;
    for (const Holder &holder : holders)
      for (uint32_t copy = 0; copy < holder.copies; ++copy)
        for (uint32_t k = 0; k < holder.sharers; ++k)
          devices.push_back(holder.devices.first + copy * holder.copyStride + k * holder.devices.stride);
    at->second = shapeOf(devices);
  }
  return at->second;
}

double ModelCosts::Impl::tailSeconds(const Solution &solution, Id replica, Id stage) const {
  const Precision &precision = problem.job.precision;
  StageView view = viewOf(solution, replica, stage);
  if (view.blocks.empty())
    return kNever;
  const Placement &placed = *placements[placement(view.stage->devices)];
  // The norm reads the gradient; the update reads gradient and state and writes state and parameter.
  double touched = 2.0 * bytesOf(precision.grad) + 2.0 * bytesOf(precision.master) +
                   (problem.job.optimizer == "adamw" ? 4.0 * bytesOf(precision.moments) : 0) +
                   (precision.param == precision.master ? 0.0 : double(bytesOf(precision.param)));
  double longest = 0;
  for (uint32_t coordinate : view.coordinates) {
    double sync = 0, owned = 0;
    for (const auto &[holders, params] : view.syncs) {
      double elements = double(view.elements(params, coordinate));
      const CommShape &shape = groupShape(holders);
      bool sharded = solution.sharding == "optimizer" && shape.members > 1;
      CommKind kind = sharded ? CommKind::ReduceScatter : CommKind::AllReduce;
      sync += collectiveSeconds(kind, elements * bytesOf(precision.reduce), shape);
      if (sharded)
        sync += collectiveSeconds(CommKind::AllGather, elements * bytesOf(precision.param), shape);
      owned += elements / (sharded ? shape.members : 1);
    }
    longest = std::max(longest, target->syncExposed * sync + memorySeconds(owned * touched, *placed.devices[coordinate]));
  }
  Holders world; // every stage takes part in the vote: a few scalars
  for (const Replica &each : solution.replicas)
    for (const Stage &other : each.stages)
      world.push_back({other.devices, each.copies, each.copyStride, other.devices.count});
  return longest + collectiveSeconds(CommKind::AllReduce, 32, groupShape(world));
}

std::vector<std::pair<std::string, uint64_t>> ModelCosts::Impl::memory(const Solution &solution, const StageView &view,
                                                                       uint32_t coordinate, uint32_t inFlight) const {
  const Precision &precision = problem.job.precision;
  uint64_t elements = 0, optimizer = 0, scratch = 0, packed = 0;
  for (const auto &[holders, params] : view.syncs) {
    uint64_t all = view.elements(params, coordinate), members = membersOf(holders);
    bool sharded = solution.sharding == "optimizer" && members > 1;
    elements += all;
    packed = std::max(packed, packedElements(holders, view.stage->devices.count, all));
    optimizer += lineBytes((sharded ? (all + members - 1) / members : all) * optimizerBytesPerElement());
  }
  std::vector<const BlockMemory *> blocks;
  for (const BlockModel *block : view.blocks) {
    blocks.push_back(&block->coordinates[coordinate].memory);
    scratch = std::max(scratch, blocks.back()->scratch);
  }
  uint64_t elementBytes = uint64_t(std::max(bytesOf(precision.grad), bytesOf(precision.param)));
  uint32_t device = view.stage->devices.first + coordinate * view.stage->devices.stride;
  return {{"parameters", lineBytes(elements * bytesOf(precision.param))},
          {"gradients", lineBytes(elements * bytesOf(precision.grad))},
          {"optimizer", optimizer},
          {"activations", inFlight * frameBytes(blocks)},
          {"scratch", scratch},
          {"communication", std::max(boundaryBytes(blocks), lineBytes(packed * elementBytes))},
          {"reserve", problem.cluster.classes[problem.cluster.classOf(device)].reservedBytes}};
}

ModelCosts::ModelCosts(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
ModelCosts::~ModelCosts() = default;

Result<std::unique_ptr<ModelCosts>> ModelCosts::create(const Problem &problem, const Facts &facts) {
  auto impl = std::make_unique<Impl>(problem, facts);
  for (const DeviceClass &device : problem.cluster.classes) {
    Result<const DeviceFacts *> known = facts.device(device.facts);
    if (!known)
      return known.error();
    impl->classFacts.push_back(*known);
    impl->label = std::max(impl->label, weakest((*known)->figures));
    impl->errorBand = std::max(impl->errorBand, (*known)->errorBand);
  }
  Result<const TargetFacts *> target = facts.target(problem.target);
  if (!target)
    return target.error();
  impl->target = *target;
  impl->label = std::max(impl->label, weakest(impl->target->figures));
  std::set<Id> connecting, parents; // domains that join several devices or children; parents seen
  for (Id d = 0; d < problem.cluster.domains.size(); ++d) {
    const Domain &domain = problem.cluster.domains[d];
    if (domain.devices > 1)
      connecting.insert(d);
    if (domain.parent != kNone && !parents.insert(domain.parent).second)
      connecting.insert(domain.parent);
  }
  for (Id d : connecting) {
    const Domain &domain = problem.cluster.domains[d];
    Result<const LinkFacts *> known = facts.link(domain.link);
    if (!known)
      return usageError("domain '" + domain.name + "': " + known.error().message);
    impl->label = std::max(impl->label, (*known)->label);
    impl->errorBand = std::max(impl->errorBand, (*known)->errorBand);
  }
  return std::unique_ptr<ModelCosts>(new ModelCosts(std::move(impl)));
}

double ModelCosts::phaseSeconds(Id kind, const Stage &stage, Phase phase, int64_t microBatch) const {
  std::lock_guard lock(impl->mutex);
  return impl->phaseSeconds(kind, stage, phase, microBatch);
}

double ModelCosts::boundarySeconds(const Stage &from, const Stage &to, int64_t microBatch) const {
  std::lock_guard lock(impl->mutex);
  return impl->boundarySeconds(from, to, microBatch);
}

double ModelCosts::stepTailSeconds(const Solution &solution, Id replica, Id stage) const {
  std::lock_guard lock(impl->mutex);
  return impl->tailSeconds(solution, replica, stage);
}

std::vector<std::pair<std::string, uint64_t>> ModelCosts::memory(const Solution &solution, Id replica, Id stage,
                                                                 uint32_t inFlight) const {
  std::lock_guard lock(impl->mutex);
  std::vector<std::pair<std::string, uint64_t>> fullest;
  uint64_t most = 0;
  StageView view = impl->viewOf(solution, replica, stage);
  for (uint32_t coordinate : view.coordinates) {
    auto components = impl->memory(solution, view, coordinate, inFlight);
    uint64_t total = 0;
    for (const auto &[name, bytes] : components)
      total += bytes;
    if (total > most || fullest.empty()) {
      most = total;
      fullest = std::move(components);
    }
  }
  return fullest;
}

Label ModelCosts::label() const { return impl->label; }
double ModelCosts::errorBand() const { return impl->errorBand; }

} // namespace plait
