#include "cost_model/problem/Names.h"
#include "cost_model/problem/Problem.h"
#include "cost_model/problem/Rules.h"

namespace plait {

namespace {

class Checker {
public:
  explicit Checker(const Problem &problem) : problem(problem) {}
  std::vector<Reason> run() {
    cluster();
    model();
    job();
    space();
    if (targetIndex(problem.target) == kTargets.size())
      add("F-05", "target", problem.target, "no such target",
          nearestNames(problem.target, {kTargets.begin(), kTargets.end()}));
    return std::move(reasons);
  }

private:
  void add(const char *rule, std::string place, std::string asked, std::string forbids,
           std::vector<std::string> works = {}) {
    reasons.push_back({rule, std::move(place), std::move(asked), std::move(forbids), std::move(works)});
  }

  void cluster() {
    const Cluster &cluster = problem.cluster;
    for (Id d = 0; d < cluster.domains.size(); ++d) {
      const Domain &domain = cluster.domains[d];
      std::string place = "domain " + std::to_string(d) + " (" + domain.name + ")";
      if (d == 0 ? domain.parent != kNone : domain.parent >= d)
        add("F-01", place, "its parent", "domain 0 is the root and parents come before children");
      else if (d > 0 && cluster.domains[domain.parent].devices)
        add("F-01", place, "parent " + cluster.domains[domain.parent].name, "the parent is a leaf that holds devices");
      if (domain.devices && domain.deviceClass >= cluster.classes.size())
        add("F-01", place, std::to_string(domain.devices) + " devices", "their class is not listed");
    }
    if (cluster.deviceCount() == 0)
      add("F-01", "cluster " + cluster.name, "0 devices", "a cluster has at least one device");
  }

  void model() {
    if (!problem.model || problem.model->chain.empty())
      return add("F-02", "model", "no blocks", "a model has at least one block");
    const Model &model = *problem.model;
    for (size_t i = 0; i < model.chain.size(); ++i) {
      const BlockUse &use = model.chain[i];
      std::string place = "use " + std::to_string(i) + " of the chain";
      if (use.kind >= model.kinds.size()) {
        add("F-02", place, "block kind " + std::to_string(use.kind), "no such kind");
        continue;
      }
      const BlockSummary &kind = model.kinds[use.kind];
      if ((i == 0 ? kind.tokens : kind.x) == kNone)
        add("F-02", place, kind.name, i == 0 ? "the first block reads tokens" : "a later block reads activations");
      if ((i + 1 == model.chain.size() ? kind.loss : kind.y) == kNone)
        add("F-02", place, kind.name,
            i + 1 == model.chain.size() ? "the last block gives the loss" : "it gives no activations");
      if (use.params.size() != kind.params.size())
        add("F-02", place, std::to_string(use.params.size()) + " parameters",
            kind.name + " has " + std::to_string(kind.params.size()));
      for (Id param : use.params)
        if (param >= model.params.size())
          add("F-02", place, "parameter " + std::to_string(param), "no such parameter");
    }
  }

  void job() {
    const JobSpec &job = problem.job;
    constexpr int64_t most = int64_t(1) << 31; // keeps every product of two of them in 64 bits
    if (job.globalBatch < 1 || job.seqLen < 1 || job.globalBatch > most || job.seqLen > most)
      add("F-03", "job", std::to_string(job.globalBatch) + " sequences of " + std::to_string(job.seqLen) + " tokens",
          "both are at least 1 and at most " + std::to_string(most));
    known("F-03", "job", "optimizer", job.optimizer, optimizerNames());
    const Precision &p = job.precision;
    auto storable = [](DType type) { return type == DType::F32 || type == DType::BF16; };
    if (!storable(p.param) || !storable(p.compute) || !storable(p.saved) || p.grad != DType::F32 ||
        p.master != DType::F32 || p.moments != DType::F32)
      add("F-03", "job", "its precision", "parameters and activations are f32 or bf16, gradients and optimizer state f32",
          {"bf16", "fp32"});
  }

  void known(const char *rule, const char *place, const std::string &what, const std::string &name,
             const std::vector<std::string> &names) {
    if (indexIn(names, name) == names.size())
      add(rule, place, what + " '" + name + "'", "no such " + what, nearestNames(name, names));
  }
  static size_t indexIn(const std::vector<std::string> &names, const std::string &name) {
    size_t i = 0;
    while (i < names.size() && names[i] != name)
      ++i;
    return i;
  }

  void space() {
    const Space &space = problem.space;
    auto positive = [&](const char *what, const std::vector<uint32_t> &values) {
      for (uint32_t value : values)
        if (value == 0)
          add("F-04", "space", std::string(what) + " 0", "degrees and sizes are at least 1");
    };
    positive("tp", space.tp);
    positive("pp", space.pp);
    positive("dp", space.dp);
    positive("micro-batch", space.microBatch);
    for (const std::string &name : space.schedules)
      known("F-04", "space", "schedule", name, scheduleNames());
    for (const std::string &name : space.sharding)
      known("F-04", "space", "sharding", name, shardingNames());
    for (const std::string &name : space.recompute)
      known("F-04", "space", "recompute variant", name, recomputeNames());
  }

  const Problem &problem;
  std::vector<Reason> reasons;
};

} // namespace

std::vector<Reason> check(const Problem &problem) { return Checker(problem).run(); }

} // namespace plait
