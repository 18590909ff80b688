// Routines: a projected phase of a block as position-independent code. Every area of cost_model/memory becomes a slot, every
// step an instruction. Nothing is decided here: shapes, launches and collectives are the projection's, places those of
// cost_model/memory. No MLIR; the passes and the search's simulations share this.
#ifndef PLAIT_PASSES_PARTITION_ROUTINES_H
#define PLAIT_PASSES_PARTITION_ROUTINES_H

#include "cost_model/memory/BlockMemory.h"
#include "runtime/plan/plan.pb.h"
#include <map>
#include <string>
#include <vector>

namespace plait {

/// Interns works, pointwise programs and routines of a plan by content, so that equal ones are stored once.
class PlanTables {
public:
  explicit PlanTables(pb::Plan &plan) : plan(plan) {}
  uint32_t work(const Work &work);
  uint32_t pointwise(const PointwiseTemplate &program);
  uint32_t routine(pb::Routine routine);

private:
  pb::Plan &plan;
  std::map<std::string, uint32_t> works, programs, routines;
};

/// Builds the routine of `phase` for one coordinate, or for several coordinates with equal shapes (`coordinates` lists
/// their projections in order; offsets then become affine in the coordinate along axis 0).
/// Slots are named x, y, dx, dy, tokens, labels, loss, loss_scale, saved, carried, scratch, p:<param>, g:<param>.
/// ySpace is where a forward leaves its result: FRAME inside a chunk, COMM for the chunk's last block.
pb::Routine buildRoutine(const BlockSummary &block, const std::string &variant,
                         const std::vector<const BlockProjection *> &coordinates, Phase phase, pb::Space ySpace,
                         PlanTables &tables);

/// True if the projections differ in nothing but offsets and parameter starts that grow evenly with the coordinate.
bool mergeable(const std::vector<const BlockProjection *> &coordinates);

} // namespace plait

#endif
