#include "passes/lower/Stages.h"
#include "passes/partition/Routines.h"

namespace plait {

const StageInstance &StageTable::at(Id replica, Id stage) const {
  size_t index = stage;
  for (Id r = 0; r < replica; ++r)
    index += solution->replicas[r].stages.size();
  return stages[index];
}

static Status projectStage(const Problem &problem, const Solution &solution, StageInstance &instance) {
  TaskParams params{problem.job.seqLen, solution.microBatch};
  for (Id use = instance.decisions->firstUse; use < instance.decisions->endUse; ++use) {
    Id kind = problem.model->chain[use].kind;
    std::vector<BlockProjection> &coordinates = instance.projections[kind];
    for (uint32_t k = coordinates.size(); k < instance.shards(); ++k) {
      Result<BlockProjection> projected = project(problem.model->kinds[kind], *instance.decisions, k, params, problem.job.precision);
      if (!projected)
        return projected.error();
      coordinates.push_back(std::move(*projected));
    }
  }
  return success();
}

static bool canMerge(const StageTable &table) {
  for (const StageInstance &instance : table.stages) {
    if (instance.shards() != table.stages.front().shards() ||
        instance.decisions->devices.stride != table.stages.front().decisions->devices.stride)
      return false;
    for (const auto &[kind, coordinates] : instance.projections) {
      std::vector<const BlockProjection *> pointers;
      for (const BlockProjection &projection : coordinates)
        pointers.push_back(&projection);
      if (!mergeable(pointers))
        return false;
    }
  }
  return true;
}

Result<StageTable> buildStages(const Problem &problem, const Solution &solution) {
  StageTable table;
  table.problem = &problem;
  table.solution = &solution;
  for (Id r = 0; r < solution.replicas.size(); ++r) {
    const Replica &replica = solution.replicas[r];
    for (Id s = 0; s < replica.stages.size(); ++s) {
      StageInstance instance;
      instance.replica = r;
      instance.stage = s;
      instance.decisions = &replica.stages[s];
      instance.copies = replica.copies;
      instance.copyStride = replica.copyStride;
      instance.firstStage = s == 0;
      instance.lastStage = s + 1 == replica.stages.size();
      if (Status status = projectStage(problem, solution, instance); !status)
        return status.error();
      table.stages.push_back(std::move(instance));
    }
  }
  table.merged = canMerge(table);
  return table;
}

} // namespace plait
