// Boundaries: which coordinate of a stage sends which rows of the activation to which coordinate of the next, and over
// which channel. Stages of unlike tensor parallelism and executor overrides are ordinary cases.
#ifndef PLAIT_PASSES_SCHEDULE_BOUNDARIES_H
#define PLAIT_PASSES_SCHEDULE_BOUNDARIES_H

#include "passes/lower/Stages.h"
#include "runtime/plan/plan.pb.h"
#include <map>
#include <tuple>

namespace plait {

/// One message of a boundary; offsets and bytes are those inside the sender's and receiver's ports.
struct BoundaryMessage {
  uint32_t from = 0, to = 0; ///< coordinates
  uint32_t channel = 0;
  uint64_t fromOffset = 0, toOffset = 0, bytes = 0;
};

/// Messages of all boundaries, made when first asked for; channels are added to the plan.
class Boundaries {
public:
  Boundaries(const StageTable &table, pb::Plan &plan) : table(table), plan(plan) {}

  /// From stage instance `from` to `to` (indices into table.stages): an activation, or with `gradient` its gradient.
  Result<const std::vector<BoundaryMessage> *> between(Id from, Id to, bool gradient);

private:
  Status build(Id from, Id to, bool gradient, std::vector<BoundaryMessage> &messages);
  uint32_t channel(Id from, Id to, bool gradient, uint32_t fromCoordinate, uint32_t toCoordinate, bool allCoordinates);

  const StageTable &table;
  pb::Plan &plan;
  std::map<std::tuple<Id, Id, bool>, std::vector<BoundaryMessage>> known;
};

} // namespace plait

#endif
