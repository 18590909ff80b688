#include "cost_model/workload/ModelFlops.h"

namespace plait {

Result<double> modelFlopsPerToken(const Model &model, int64_t sequence) {
  std::vector<double> perKind;
  for (const BlockSummary &kind : model.kinds) {
    Result<BlockProjection> whole = project(kind, Stage(), 0, {sequence, 1}, Precision());
    if (!whole)
      return whole.error();
    double flops = 0;
    for (const Step &step : whole->find(Phase::Forward)->steps)
      if (step.launch.work.kernel == Kernel::Gemm || step.launch.work.kernel == Kernel::Attention)
        flops += step.launch.work.flops;
    perKind.push_back(flops);
  }
  double total = 0;
  for (const BlockUse &use : model.chain)
    total += 3 * perKind[use.kind];
  return total / double(sequence);
}

} // namespace plait
