// What was priced is what was written: the launches and collectives of every role's programs are those of the projection.
#include "TestPlans.h"
#include "cost_model/workload/Projection.h"
#include <catch2/catch.hpp>
#include <map>

using namespace plait;
using namespace plait::test;

namespace {

using Counts = std::map<std::string, int>;

std::string text(uint32_t kernel, const std::vector<int64_t> &dims, uint32_t dtype, double flops, double bytes) {
  std::string key = std::string(kernelName(Kernel(kernel))) + " " + std::to_string(dtype);
  for (int64_t dim : dims)
    key += "x" + std::to_string(dim);
  return key + " " + std::to_string(flops) + " " + std::to_string(bytes);
}

Counts ofPlan(const pb::Plan &plan, const pb::Role &role) {
  Counts counts;
  for (uint32_t program : role.programs())
    for (const pb::Call &call : plan.programs(program).calls())
      for (const pb::Instr &instr : plan.routines(call.routine()).instrs()) {
        if (instr.has_launch()) {
          const pb::Work &work = plan.works(instr.launch().work());
          ++counts[text(work.kernel(), {work.dims().begin(), work.dims().end()}, work.dtype(), work.flops(), work.bytes_read() + work.bytes_written())];
        }
        for (const pb::Collective &collective : instr.batch().collectives()) {
          int64_t in = 1, out = 1;
          for (int64_t extent : collective.in().shape())
            in *= extent;
          for (int64_t extent : collective.out().shape())
            out *= extent;
          ++counts[std::to_string(collective.kind()) + " " + std::to_string(in) + " -> " + std::to_string(out)];
        }
      }
  return counts;
}

Counts ofProjection(const Problem &problem, const Solution &solution, const Stage &stage, uint32_t coordinate) {
  static constexpr pb::CollectiveKind kinds[] = {pb::COLLECTIVE_ALL_REDUCE, pb::COLLECTIVE_ALL_GATHER, pb::COLLECTIVE_REDUCE_SCATTER};
  Counts counts;
  for (Id use = stage.firstUse; use < stage.endUse; ++use) {
    Result<BlockProjection> projection = project(problem.model->kinds[problem.model->chain[use].kind], stage, coordinate,
                                                 {problem.job.seqLen, solution.microBatch}, problem.job.precision);
    REQUIRE(projection);
    for (const PhaseProjection &phase : projection->phases)
      for (const Step &step : phase.steps) {
        const Work &work = step.launch.work;
        if (step.kind == Step::Launch)
          ++counts[text(uint32_t(work.kernel), work.dims, uint32_t(work.dtype), work.flops, work.bytesRead + work.bytesWritten)];
        else
          ++counts[std::to_string(kinds[step.collective.kind]) + " " + std::to_string(phase.values[step.collective.in].elements()) +
                   " -> " + std::to_string(phase.values[step.collective.out].elements())];
      }
  }
  return counts;
}

} // namespace

TEST_CASE("a plan launches what the projection of its stages says, no more and no less") {
  auto one = [](std::vector<Replica> replicas) {
    Solution solution;
    solution.replicas = std::move(replicas);
    return solution;
  };
  Replica split = pipeline(0, 3, {5, 8}, 6, true), copies = pipeline(0, 2, {4, 8}, 4);
  for (Stage &s : split.stages)
    s.splitWeightGrad = true;
  for (Stage &s : copies.stages)
    s.recompute = "full";
  copies.copies = 2;
  copies.copyStride = 4;
  unsigned roles = 0;
  for (const Solution &solution : {one({split, pipeline(6, 1, {4, 8}, 2)}), one({copies}), one({pipeline(0, 4, {8}, 8)})}) {
    Problem problem = problemFor("tiny-llama.json", 8, 8);
    pb::Plan plan = planFor(problem, solution);
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> coordinates; // roles of one stage are its coordinates in order
    for (const pb::Role &role : plan.roles()) {
      uint32_t coordinate = coordinates[{role.replica(), role.stage()}]++;
      INFO(role.name());
      Counts expected = ofProjection(problem, solution, solution.replicas[role.replica()].stages[role.stage()], coordinate);
      REQUIRE(!expected.empty());
      CHECK(ofPlan(plan, role) == expected);
      ++roles;
    }
  }
  CHECK(roles >= 12);
}
