#include "cost_model/problem/Names.h"
#include "cost_model/problem/Problem.h"
#include "cost_model/problem/Rules.h"
#include "cost_model/workload/Projection.h"
#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace plait {

namespace {

std::string number(int64_t value) { return std::to_string(value); }
std::string placeOf(Id replica, Id stage) { return "replica " + number(replica) + ", stage " + number(stage); }

template <typename T> bool contains(const std::vector<T> &list, const T &value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool equalCuts(const Replica &a, const Replica &b) {
  return std::equal(a.stages.begin(), a.stages.end(), b.stages.begin(), b.stages.end(),
                    [](const Stage &x, const Stage &y) { return x.firstUse == y.firstUse && x.endUse == y.endUse; });
}

/// Stages that differ at most in their devices.
bool alike(const Stage &a, const Stage &b) {
  Stage copy = a;
  copy.devices.first = b.devices.first;
  return copy == b;
}

const SegmentMap *findMap(const Stage &stage, const std::string &segment) {
  for (const SegmentMap &map : stage.maps)
    if (map.segment == segment)
      return &map;
  return nullptr;
}

class Verifier {
public:
  Verifier(const Problem &problem, const Solution &solution)
      : problem(problem), model(*problem.model), solution(solution) {}

  std::vector<Reason> run() {
    names();
    batch();
    devices();
    for (Id r = 0; r < solution.replicas.size(); ++r) {
      chain(r);
      stream(r);
      for (Id s = 0; s < solution.replicas[r].stages.size(); ++s)
        stage(r, s);
    }
    overrides();
    space();
    target();
    if (reasons.empty())
      projections();
    return std::move(reasons);
  }

private:
  void add(const char *rule, std::string place, std::string asked, std::string forbids,
           std::vector<std::string> works = {}) {
    if (ruleApplies(rule, problem.target))
      reasons.push_back({rule, std::move(place), std::move(asked), std::move(forbids), std::move(works)});
  }
  void known(const char *what, const std::string &place, const std::string &name, const std::vector<std::string> &names) {
    if (!contains(names, name))
      add("F-16", place, std::string(what) + " '" + name + "'", std::string("no such ") + what, nearestNames(name, names));
  }

  void names();
  void batch();
  void devices();
  void chain(Id r);
  void stream(Id r);
  void stage(Id r, Id s);
  void mapOf(const std::string &place, const Stage &stage, const SegmentMap &map);
  void useOf(const std::string &place, const Stage &stage, const BlockSummary &kind, const AxisUse &use);
  void overrides();
  void space();
  void target();
  void projections();
  void tied(const std::string &place, const Stage &stage, uint32_t coordinate,
            const std::vector<BlockProjection> &projected);
  bool validUses(const Stage &stage) const { return stage.firstUse < stage.endUse && stage.endUse <= model.chain.size(); }
  std::vector<Id> kindsOf(const Stage &stage) const {
    std::vector<Id> kinds;
    for (Id use = stage.firstUse; validUses(stage) && use < stage.endUse; ++use)
      if (!contains(kinds, model.chain[use].kind))
        kinds.push_back(model.chain[use].kind);
    return kinds;
  }

  const Problem &problem;
  const Model &model;
  const Solution &solution;
  std::vector<Reason> reasons;
};

void Verifier::names() {
  known("schedule", "solution", solution.schedule, scheduleNames());
  known("sharding", "solution", solution.sharding, shardingNames());
  for (Id r = 0; r < solution.replicas.size(); ++r)
    for (Id s = 0; s < solution.replicas[r].stages.size(); ++s)
      known("recompute variant", placeOf(r, s), solution.replicas[r].stages[s].recompute, recomputeNames());
}

void Verifier::batch() {
  if (solution.microBatch < 1 || solution.microBatch > problem.job.globalBatch)
    return add("F-18", "solution", "micro-batch " + number(solution.microBatch),
               "a micro-batch has 1 to " + number(problem.job.globalBatch) + " sequences");
  int64_t count = 0;
  for (Id r = 0; r < solution.replicas.size(); ++r) {
    const Replica &replica = solution.replicas[r];
    if (replica.copies < 1 || replica.microbatches < 1)
      add("F-18", "replica " + number(r),
          number(replica.copies) + " copies of " + number(replica.microbatches) + " micro-batches", "both are at least 1");
    int64_t most = problem.job.globalBatch / std::max<int64_t>(replica.copies, 1);
    if (replica.microbatches > most || (count += int64_t(replica.copies) * replica.microbatches) > problem.job.globalBatch)
      return add("F-18", "replica " + number(r),
                 number(replica.copies) + " copies of " + number(replica.microbatches) + " micro-batches",
                 "the global batch has " + number(problem.job.globalBatch) + " sequences");
  }
  if (count * solution.microBatch != problem.job.globalBatch)
    add("F-18", "solution", number(count) + " micro-batches of " + number(solution.microBatch) + " sequences",
        "their product is " + number(count * solution.microBatch) + ", the global batch is " +
            number(problem.job.globalBatch));
}

void Verifier::devices() {
  const int64_t available = problem.cluster.deviceCount();
  struct Owner {
    Id replica = kNone, stage = 0, copy = 0;
  };
  std::vector<Owner> owners(available);
  auto placed = [](Id r, Id s, int64_t copy) { return placeOf(r, s) + ", copy " + number(copy); };
  int64_t total = 0;
  for (const Replica &replica : solution.replicas)
    for (const Stage &stage : replica.stages)
      total += std::min(int64_t(replica.copies), available + 1) * std::min(int64_t(stage.devices.count), available + 1);
  if (total > available)
    return add("F-06", "solution", "at least " + number(total) + " devices", "the cluster has " + number(available));
  for (Id r = 0; r < solution.replicas.size(); ++r)
    for (Id s = 0; s < solution.replicas[r].stages.size(); ++s) {
      const DeviceRange &range = solution.replicas[r].stages[s].devices;
      if (range.count == 0)
        add("F-06", placeOf(r, s), "0 devices", "a stage has at least one");
      for (int64_t copy = 0; copy < solution.replicas[r].copies; ++copy)
        for (int64_t i = 0; i < range.count; ++i) {
          int64_t device = range.first + copy * solution.replicas[r].copyStride + i * range.stride;
          if (device >= available)
            return add("F-06", placed(r, s, copy), "device " + number(device), "the cluster has devices 0 to " + number(available - 1));
          Owner &owner = owners[device];
          if (owner.replica != kNone)
            return add("F-06", placed(r, s, copy), "device " + number(device), placed(owner.replica, owner.stage, owner.copy) + " uses it already");
          owner = {r, s, Id(copy)};
        }
    }
}

void Verifier::chain(Id r) {
  const Replica &replica = solution.replicas[r];
  std::string uses = "uses 0 to " + number(int64_t(model.chain.size()) - 1);
  if (replica.stages.empty())
    return add("F-09", "replica " + number(r), "no stages", "they cover " + uses);
  Id next = 0;
  for (Id s = 0; s < replica.stages.size(); ++s) {
    const Stage &stage = replica.stages[s];
    std::string asked = "uses " + number(stage.firstUse) + " to " + number(int64_t(stage.endUse) - 1);
    if (stage.firstUse >= stage.endUse)
      add("F-09", placeOf(r, s), "no uses", "a stage has at least one");
    else if (stage.endUse > model.chain.size())
      add("F-09", placeOf(r, s), asked, "the chain has " + uses);
    else if (stage.firstUse != next)
      add("F-09", placeOf(r, s), asked, "the next use is " + number(next));
    next = stage.endUse;
  }
  if (next < model.chain.size())
    add("F-09", "replica " + number(r), "uses 0 to " + number(int64_t(next) - 1), "the chain has " + uses);
}

void Verifier::stream(Id r) {
  std::optional<std::set<std::string>> first;
  for (Id s = 0; s < solution.replicas[r].stages.size(); ++s) {
    const Stage &stage = solution.replicas[r].stages[s];
    if (stage.devices.count <= 1)
      continue;
    std::set<std::string> factors;
    if (const SegmentMap *map = findMap(stage, "stream"))
      for (const AxisUse &use : map->uses)
        factors.insert(use.factor);
    auto text = [](const std::set<std::string> &names) { return "stream [" + joined({names.begin(), names.end()}) + "]"; };
    if (first && *first != factors)
      add("F-17", placeOf(r, s), text(factors), "an earlier stage of the replica has " + text(*first), {text(*first)});
    if (!first)
      first = factors;
  }
}

void Verifier::stage(Id r, Id s) {
  const Stage &stage = solution.replicas[r].stages[s];
  std::set<std::string> seen;
  for (const SegmentMap &map : stage.maps) {
    if (!seen.insert(map.segment).second)
      add("F-10", placeOf(r, s), "segment '" + map.segment + "'", "it is mapped twice");
    mapOf(placeOf(r, s), stage, map);
  }
  for (Id k : kindsOf(stage)) {
    const BlockSummary &kind = model.kinds[k];
    std::vector<Phase> phases{Phase::Forward};
    if (stage.splitWeightGrad)
      phases.insert(phases.end(), {Phase::BackwardInput, Phase::BackwardWeight});
    else
      phases.push_back(Phase::Backward);
    for (Phase phase : phases)
      if (contains(recomputeNames(), stage.recompute) && !kind.find(phase, stage.recompute))
        add("F-16", placeOf(r, s), "recompute '" + stage.recompute + "', phase " + number(int64_t(phase)),
            "block '" + kind.name + "' has no such phase");
  }
}

void Verifier::mapOf(const std::string &place, const Stage &stage, const SegmentMap &map) {
  std::vector<std::string> segments, factors;
  std::vector<const BlockSummary *> holders;
  for (const BlockSummary &kind : model.kinds) {
    for (const std::string &segment : kind.segments)
      if (!contains(segments, segment))
        segments.push_back(segment);
    if (!contains(kind.segments, map.segment))
      continue;
    holders.push_back(&kind);
    for (const Factor &factor : kind.factors)
      if (!contains(factors, factor.name))
        factors.push_back(factor.name);
  }
  if (holders.empty())
    return add("F-10", place, "segment '" + map.segment + "'", "no block has it", nearestNames(map.segment, segments));
  std::vector<Id> kinds = kindsOf(stage);
  for (const AxisUse &use : map.uses) {
    if (!contains(factors, use.factor)) {
      add("F-10", place, "segment '" + map.segment + "', factor '" + use.factor + "'", "no block with this segment has it",
          nearestNames(use.factor, factors));
      continue;
    }
    for (const BlockSummary *kind : holders)
      if (contains(kinds, Id(kind - model.kinds.data())))
        useOf(place, stage, *kind, use);
  }
}

void Verifier::useOf(const std::string &place, const Stage &stage, const BlockSummary &kind, const AxisUse &use) {
  Id index = indexOfName(kind.factors, use.factor);
  if (index == kNone)
    return add("F-10", place, "factor '" + use.factor + "'", "block '" + kind.name + "' does not have it");
  const Factor &factor = kind.factors[index];
  int64_t units = factor.size ? factor.size : factor.name == "b" ? solution.microBatch : problem.job.seqLen;
  int64_t tp = stage.devices.count;
  std::string asked = "tensor parallel " + number(tp);
  std::string what = "factor '" + use.factor + "' of block '" + kind.name + "' has " + number(units) + " units";
  if (tp > units)
    return add("F-07", place, asked, what, {"1 to " + number(units)});
  if (tp > 1 && units % tp != 0)
    add("F-23", place, asked, what + ", not a multiple of " + number(tp));
  if (use.cuts.empty())
    return;
  if (int64_t(use.cuts.size()) != tp - 1)
    return add("F-08", place, number(int64_t(use.cuts.size())) + " cuts of factor '" + use.factor + "'",
               asked + " takes " + number(tp - 1));
  int64_t last = 0;
  for (int64_t cut : use.cuts) {
    if (cut <= last || cut >= units)
      return add("F-08", place, "cut " + number(cut) + " of factor '" + use.factor + "'",
                 "it is not between " + number(last) + " and " + number(units));
    last = cut;
  }
  if (ruleApplies("F-23", problem.target))
    for (size_t i = 0; i < use.cuts.size(); ++i)
      if (use.cuts[i] * tp != units * int64_t(i + 1))
        return add("F-23", place, "cut " + number(use.cuts[i]) + " of factor '" + use.factor + "'", "shards are equal");
}

void Verifier::overrides() {
  std::set<std::tuple<Id, Id, Id>> seen;
  for (size_t i = 0; i < solution.overrides.size(); ++i) {
    const Override &o = solution.overrides[i];
    std::string place = "override " + number(i);
    std::string asked = "replica " + number(o.replica) + ", stage " + number(o.stage) + ", micro-batch " +
                        number(o.microbatch) + " on replica " + number(o.executor);
    if (o.replica >= solution.replicas.size() || o.executor >= solution.replicas.size()) {
      add("F-19", place, asked, "there are " + number(int64_t(solution.replicas.size())) + " replicas");
      continue;
    }
    const Replica &from = solution.replicas[o.replica], &to = solution.replicas[o.executor];
    if (o.stage >= from.stages.size() || o.microbatch >= from.microbatches)
      add("F-19", place, asked,
          "the replica has " + number(int64_t(from.stages.size())) + " stages and " + number(from.microbatches) +
              " micro-batches");
    else if (o.executor == o.replica)
      add("F-19", place, asked, "that is where it runs without an override");
    else if (from.copies != 1 || to.copies != 1)
      add("F-19", place, asked, "a replica with several copies cannot take part");
    else if (!equalCuts(from, to))
      add("F-19", place, asked, "the replicas cut the chain at different places");
    else if (!seen.insert({o.replica, o.stage, o.microbatch}).second)
      add("F-19", place, asked, "it is overridden twice");
  }
  if (!solution.overrides.empty())
    add("F-24", "solution", number(int64_t(solution.overrides.size())) + " overrides", "the target has none");
}

void Verifier::space() {
  const Space &space = problem.space;
  auto inside = [&](const char *what, const std::string &place, const auto &list, const auto &value, auto text) {
    if (!list.empty() && !contains(list, value)) {
      std::vector<std::string> works;
      for (const auto &entry : list)
        works.push_back(text(entry));
      add("F-20", place, std::string(what) + " " + text(value), "the space does not hold it", works);
    }
  };
  auto digits = [](int64_t value) { return number(value); };
  auto same = [](const std::string &name) { return name; };
  auto yesNo = [](bool value) { return std::string(value ? "yes" : "no"); };
  uint32_t copies = 0;
  for (Id r = 0; r < solution.replicas.size(); ++r) {
    const Replica &replica = solution.replicas[r];
    copies += replica.copies;
    inside("pp", "replica " + number(r), space.pp, uint32_t(replica.stages.size()), digits);
    std::set<int64_t> layers;
    for (Id s = 0; s < replica.stages.size(); ++s) {
      const Stage &stage = replica.stages[s];
      std::string place = placeOf(r, s);
      inside("tp", place, space.tp, stage.devices.count, digits);
      inside("recompute", place, space.recompute, stage.recompute, same);
      inside("split weight gradient", place, space.splitWeightGrad, stage.splitWeightGrad, yesNo);
      if (stage.devices.count > 1) {
        const SegmentMap *stream = findMap(stage, "stream");
        inside("sequence parallel", place, space.sequenceParallel, stream && !stream->uses.empty(), yesNo);
      }
      int64_t count = 0;
      for (Id use = stage.firstUse; validUses(stage) && use < stage.endUse; ++use)
        count += model.chain[use].layer >= 0;
      layers.insert(count);
    }
    if (!space.unevenLayers && layers.size() > 1)
      add("F-20", "replica " + number(r), "stages with different numbers of layers", "the space holds even ones only");
  }
  inside("dp", "solution", space.dp, copies, digits);
  inside("micro-batch", "solution", space.microBatch, uint32_t(solution.microBatch), digits);
  inside("schedule", "solution", space.schedules, solution.schedule, same);
  inside("sharding", "solution", space.sharding, solution.sharding, same);
}

void Verifier::target() {
  for (Id r = 0; r < solution.replicas.size(); ++r) {
    const Replica &replica = solution.replicas[r], &first = solution.replicas[0];
    bool equal = replica.microbatches == first.microbatches &&
                 std::equal(replica.stages.begin(), replica.stages.end(), first.stages.begin(), first.stages.end(), alike);
    if (!equal)
      add("F-21", "replica " + number(r), "stages or micro-batches unlike those of replica 0", "replicas are alike");
    for (Id s = 0; s < replica.stages.size() && !first.stages.empty(); ++s) {
      const Stage &stage = replica.stages[s], &reference = first.stages[0];
      if (stage.devices.count != reference.devices.count)
        add("F-22", placeOf(r, s), "tensor parallel " + number(stage.devices.count),
            "stage 0 of replica 0 has another degree", {number(reference.devices.count)});
      if (stage.splitWeightGrad)
        add("F-25", placeOf(r, s), "split backward", "the target does not have it");
      if (stage.recompute != reference.recompute)
        add("F-26", placeOf(r, s), "recompute '" + stage.recompute + "'", "stage 0 of replica 0 differs",
            {reference.recompute});
    }
  }
  if (solution.schedule != "1f1b")
    add("F-25", "solution", "schedule '" + solution.schedule + "'", "the target does not have it", {"1f1b"});
}

/// Splits every block of every distinct stage, so that what projection refuses is found here.
void Verifier::projections() {
  std::vector<const Stage *> done;
  for (Id r = 0; r < solution.replicas.size(); ++r)
    for (Id s = 0; s < solution.replicas[r].stages.size(); ++s) {
      const Stage &stage = solution.replicas[r].stages[s];
      auto sameBlocks = [&](const Stage *other) {
        Stage copy = *other;
        copy.firstUse = stage.firstUse;
        copy.endUse = stage.endUse;
        return alike(copy, stage) && kindsOf(*other) == kindsOf(stage);
      };
      if (std::any_of(done.begin(), done.end(), sameBlocks))
        continue;
      done.push_back(&stage);
      for (uint32_t coordinate : std::set<uint32_t>{0, stage.devices.count - 1}) {
        std::vector<BlockProjection> projected(model.kinds.size());
        for (Id kind : kindsOf(stage)) {
          Result<BlockProjection> result = project(model.kinds[kind], stage, coordinate,
                                                   {problem.job.seqLen, solution.microBatch}, problem.job.precision);
          if (!result) {
            const std::string &text = result.error().message;
            size_t bracket = text.rfind(" [F-");
            std::string rule = bracket == std::string::npos ? "F-02" : text.substr(bracket + 2, 4);
            reasons.push_back({rule, placeOf(r, s), "its maps", text.substr(0, bracket), {}});
            return;
          }
          projected[kind] = std::move(*result);
        }
        tied(placeOf(r, s), stage, coordinate, projected);
        if (!reasons.empty())
          return;
      }
    }
}

void Verifier::tied(const std::string &place, const Stage &stage, uint32_t coordinate,
                    const std::vector<BlockProjection> &projected) {
  std::map<Id, std::pair<Id, const LocalParam *>> seen; // parameter -> the use that came first, its part
  for (Id use = stage.firstUse; use < stage.endUse; ++use)
    for (size_t i = 0; i < model.chain[use].params.size(); ++i) {
      Id param = model.chain[use].params[i];
      const LocalParam &part = projected[model.chain[use].kind].params[i];
      auto [at, fresh] = seen.emplace(param, std::pair{use, &part});
      if (!fresh && (at->second.second->start != part.start || at->second.second->size != part.size))
        return add("F-13", place, "tensor '" + model.params[param].name + "' at coordinate " + number(coordinate),
                   "uses " + number(at->second.first) + " and " + number(use) + " of the chain split it differently");
    }
}

} // namespace

std::vector<Reason> verify(const Problem &problem, const Solution &solution) {
  if (solution.replicas.empty())
    return {{"F-18", "solution", "no replicas", "at least one computes the batch", {}}};
  return Verifier(problem, solution).run();
}

} // namespace plait
