// ModelCosts: costs of real devices. Every block is split by project(); its launches are priced by compute/, its
// collectives and messages by comm/, its bytes by memory/. What the problem's target hides behind computation is left
// out. Answers are kept, so that a search asks for the same block in the same layout only once.
#ifndef PLAIT_COST_MODEL_PROBLEM_MODELCOSTS_H
#define PLAIT_COST_MODEL_PROBLEM_MODELCOSTS_H

#include "cost_model/facts/Facts.h"
#include "cost_model/problem/Problem.h"

namespace plait {

/// May be used by several threads at once; answers do not depend on the order of questions. Blocks that project()
/// refuses cost infinitely many seconds. The problem and the facts must outlive it.
class ModelCosts final : public CostSource {
public:
  /// Error Usage: a device class, a link of the cluster or a target without facts.
  static Result<std::unique_ptr<ModelCosts>> create(const Problem &problem, const Facts &facts = Facts::builtin());
  ~ModelCosts() override;

  double phaseSeconds(Id kind, const Stage &stage, Phase phase, int64_t microBatch) const override;
  double boundarySeconds(const Stage &from, const Stage &to, int64_t microBatch) const override;
  double stepTailSeconds(const Solution &, Id replica, Id stage) const override;
  /// "parameters", "gradients", "optimizer", "activations", "scratch", "communication", "reserve".
  std::vector<std::pair<std::string, uint64_t>> memory(const Solution &, Id replica, Id stage,
                                                       uint32_t inFlight) const override;

  /// Weakest label and widest error band (relative) of the facts behind the answers.
  Label label() const;
  double errorBand() const;

private:
  struct Impl;
  explicit ModelCosts(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace plait

#endif
