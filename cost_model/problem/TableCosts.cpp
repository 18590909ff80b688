#include "cost_model/problem/TableCosts.h"
#include <limits>

namespace plait {

const TableRow *TableCosts::find(Id kind, const Stage &stage) const {
  auto found = rows.find({kind, stage.devices.count, stage.recompute});
  return found == rows.end() ? nullptr : &found->second;
}

double TableCosts::phaseSeconds(Id kind, const Stage &stage, Phase phase, int64_t microBatch) const {
  const TableRow *row = find(kind, stage);
  if (!row)
    return std::numeric_limits<double>::infinity();
  Id deviceClass = problem.cluster.classOf(stage.devices.first);
  double seconds = double(microBatch) * (deviceClass < classSlowdown.size() ? classSlowdown[deviceClass] : 1);
  switch (phase) {
  case Phase::None: return 0;
  case Phase::Forward: return seconds * row->forward;
  case Phase::Backward: return seconds * (row->backwardInput + row->backwardWeight);
  case Phase::BackwardInput: return seconds * row->backwardInput;
  case Phase::BackwardWeight: return seconds * row->backwardWeight;
  }
  return 0;
}

double TableCosts::boundarySeconds(const Stage &, const Stage &, int64_t microBatch) const {
  return boundaryLatency + boundaryPerSequence * double(microBatch);
}

double TableCosts::stepTailSeconds(const Solution &, Id, Id) const { return tail; }

std::vector<std::pair<std::string, uint64_t>> TableCosts::memory(const Solution &solution, Id replica, Id stage,
                                                                 uint32_t inFlight) const {
  const Stage &at = solution.replicas[replica].stages[stage];
  uint64_t parameters = 0, activations = 0;
  for (Id use = at.firstUse; use < at.endUse; ++use)
    if (const TableRow *row = find(problem.model->chain[use].kind, at)) {
      parameters += row->staticBytes;
      activations += row->savedBytes * uint64_t(solution.microBatch) * inFlight;
    }
  return {{"parameters", parameters}, {"activations", activations}};
}

} // namespace plait
