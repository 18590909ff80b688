#include "passes/lower/BuildPlan.h"
#include "cost_model/workload/ModelFlops.h"
#include "passes/lower/Holdings.h"
#include "passes/schedule/Tasks.h"
#include "runtime/plan/PlanFile.h"

namespace plait {

namespace {

class PlanBuilder {
public:
  PlanBuilder(const Problem &problem, const Solution &solution)
      : problem(problem), solution(solution), tables(plan), pipeline(solution) {}

  Result<pb::Plan> build();

private:
  Status writeJob();
  void writeTensors();
  void writeRoleHeader(const RoleIndex &index, pb::Role &role);
  uint32_t tensorFamily(Id stageIndex);
  uint32_t copyFamily(const RoleIndex &index);
  void writeMemory(const RoleMemory &memory, const RoleHolding &holding, uint32_t frames, pb::Role &role);
  Status writeSchedule(const RoleIndex &index, Boundaries &boundaries, pb::Role &role, uint32_t &frames);
  void writeRanks(const RoleIndex &index, uint32_t role);

  const Problem &problem;
  const Solution &solution;
  pb::Plan plan;
  PlanTables tables;
  Pipeline pipeline;
  StageTable table;
  std::vector<RoleIndex> roles;
  std::map<Id, uint32_t> tensorFamilies;
};

Status PlanBuilder::writeJob() {
  Result<double> flops = modelFlopsPerToken(*problem.model, problem.job.seqLen);
  if (!flops)
    return flops.error();
  pb::Job *job = plan.mutable_job();
  job->set_model_name(problem.model->name);
  job->set_seq_len(problem.job.seqLen);
  job->set_global_batch(problem.job.globalBatch);
  job->set_micro_batch(solution.microBatch);
  job->set_vocab_size(problem.model->vocabSize);
  job->set_optimizer(problem.job.optimizer);
  job->set_flops_per_token(*flops);
  job->set_parameters(problem.model->parameterCount());
  const Precision &from = problem.job.precision;
  pb::Precision *to = job->mutable_precision();
  to->set_param(pb::DType(from.param));
  to->set_compute(pb::DType(from.compute));
  to->set_saved(pb::DType(from.saved));
  to->set_grad(pb::DType(from.grad));
  to->set_reduce(pb::DType(from.reduce));
  to->set_master(pb::DType(from.master));
  to->set_moments(pb::DType(from.moments));
  return success();
}

void PlanBuilder::writeTensors() {
  for (const ParamTensor &param : problem.model->params) {
    pb::Tensor *tensor = plan.add_tensors();
    tensor->set_name(param.name);
    tensor->mutable_shape()->Assign(param.shape.begin(), param.shape.end());
    tensor->set_dtype(pb::DType(problem.job.precision.param));
    tensor->set_hf_name(param.hfName);
    tensor->mutable_hf_shape()->Assign(param.hfShape.begin(), param.hfShape.end());
    tensor->set_hf_base(param.hfBase);
    tensor->mutable_hf_sizes()->Assign(param.hfSizes.begin(), param.hfSizes.end());
    tensor->mutable_hf_strides()->Assign(param.hfStrides.begin(), param.hfStrides.end());
    tensor->mutable_init()->set_kind(param.init == ParamTensor::Init::Normal ? pb::Init::NORMAL
                                     : param.init == ParamTensor::Init::Ones ? pb::Init::ONES
                                                                             : pb::Init::ZEROS);
    if (param.init == ParamTensor::Init::Normal)
      tensor->mutable_init()->set_std(param.initStd);
    tensor->set_decay(param.decay);
  }
}

uint32_t PlanBuilder::tensorFamily(Id stageIndex) {
  auto [at, inserted] = tensorFamilies.emplace(stageIndex, plan.families_size());
  if (inserted) {
    const StageInstance &instance = table.stages[stageIndex];
    pb::GroupFamily *family = plan.add_families();
    family->set_name("tp.r" + std::to_string(instance.replica) + ".s" + std::to_string(instance.stage));
    addExtent(*family->mutable_groups(), instance.copies, instance.copyStride);
    family->mutable_members()->set_base(instance.rank(0));
    addExtent(*family->mutable_members(), instance.shards(), instance.decisions->devices.stride);
  }
  return at->second;
}

uint32_t PlanBuilder::copyFamily(const RoleIndex &index) {
  const StageInstance &instance = table.stages[index.stageIndex];
  pb::GroupFamily *family = plan.add_families();
  family->set_name("copies.r" + std::to_string(instance.replica) + ".s" + std::to_string(instance.stage));
  addExtent(*family->mutable_groups(), index.coordinates.size(), instance.decisions->devices.stride);
  family->mutable_members()->set_base(instance.rank(index.coordinates.front()));
  addExtent(*family->mutable_members(), instance.copies, instance.copyStride);
  return plan.families_size() - 1;
}

void PlanBuilder::writeRoleHeader(const RoleIndex &index, pb::Role &role) {
  const StageInstance &instance = table.stages[index.stageIndex];
  role.set_name("r" + std::to_string(instance.replica) + ".s" + std::to_string(instance.stage) +
                (table.merged ? "" : ".k" + std::to_string(index.coordinates.front())));
  Id deviceClass = problem.cluster.classOf(instance.rank(index.coordinates.front()));
  if (deviceClass != kNone)
    role.set_device_class(problem.cluster.classes[deviceClass].name);
  role.set_stage(instance.stage);
  role.set_replica(instance.replica);
  role.set_reports_loss(instance.lastStage);
  role.add_axis_families(tensorFamily(index.stageIndex));
  if (instance.copies > 1) {
    role.set_first_microbatch(firstMicrobatch(solution, instance.replica));
    role.set_microbatches_per_copy(solution.replicas[instance.replica].microbatches);
    role.set_copy_family(copyFamily(index));
  }
}

Status PlanBuilder::writeSchedule(const RoleIndex &index, Boundaries &boundaries, pb::Role &role, uint32_t &frames) {
  pb::Schedule schedule;
  schedule.set_name(role.name());
  Result<ScheduleShape> shape =
      buildSchedule(table, pipeline, index.stageIndex, index.coordinates.front(), boundaries, role, schedule);
  if (!shape)
    return shape.error();
  frames = shape->frames;
  role.set_schedule(plan.schedules_size());
  *plan.add_schedules() = std::move(schedule);
  return success();
}

void PlanBuilder::writeMemory(const RoleMemory &memory, const RoleHolding &holding, uint32_t frames, pb::Role &role) {
  const Precision &precision = problem.job.precision;
  uint64_t params = lineBytes(holding.paramElements * bytesOf(precision.param));
  uint64_t grads = lineBytes(holding.paramElements * bytesOf(precision.grad));
  uint64_t comm = std::max(memory.boundaryBytes, lineBytes(holding.packBytes));
  uint64_t bytes[] = {0, params, grads, holding.optimizerBytes, memory.frameBytes * frames, memory.scratchBytes, comm, kControlBytes};
  role.mutable_space_bytes()->Assign(std::begin(bytes), std::end(bytes));
  role.mutable_frames(0)->set_count(frames);
  const char *names[] = {nullptr, "parameters", "gradients", "optimizer", "activations", "scratch", "communication", nullptr};
  for (size_t space = 0; space < std::size(bytes); ++space)
    if (names[space]) {
      pb::Component *component = role.add_components();
      component->set_name(names[space]);
      component->set_bytes(bytes[space]);
    }
}

void PlanBuilder::writeRanks(const RoleIndex &index, uint32_t role) {
  const StageInstance &instance = table.stages[index.stageIndex];
  pb::RankRange *range = plan.add_ranks();
  range->set_role(role);
  range->mutable_ranks()->set_base(instance.rank(index.coordinates.front()));
  addExtent(*range->mutable_ranks(), instance.copies, instance.copyStride);
  addExtent(*range->mutable_ranks(), index.coordinates.size(), instance.decisions->devices.stride);
}

Result<pb::Plan> PlanBuilder::build() {
  Result<StageTable> stages = buildStages(problem, solution);
  if (!stages)
    return stages.error();
  table = std::move(*stages);
  roles = rolesOf(table);
  plan.set_format(kPlanFormat);
  if (Status s = writeJob(); !s)
    return s.error();
  writeTensors();
  uint32_t world = 0;
  for (const RoleIndex &index : roles) {
    writeRoleHeader(index, *plan.add_roles());
    writeRanks(index, plan.roles_size() - 1);
    const StageInstance &instance = table.stages[index.stageIndex];
    world += index.coordinates.size() * instance.copies;
  }
  plan.set_world_size(world);
  Result<std::vector<RoleHolding>> holdings = buildHoldings(table, roles, plan);
  if (!holdings)
    return holdings.error();
  Boundaries boundaries(table, plan);
  for (size_t i = 0; i < roles.size(); ++i) {
    pb::Role &role = *plan.mutable_roles(i);
    const StageInstance &instance = table.stages[roles[i].stageIndex];
    RoleMemory memory = buildPrograms(table, instance, roles[i].coordinates, (*holdings)[i].offsets, tables, plan, role);
    pb::FrameClass *frame = role.add_frames();
    frame->set_bytes(memory.frameBytes);
    frame->set_tokens_offset(memory.tokensOffset);
    frame->set_labels_offset(memory.labelsOffset);
    frame->set_has_tokens(memory.hasTokens);
    frame->set_has_labels(memory.hasLabels);
    uint32_t frames = 0;
    if (Status s = writeSchedule(roles[i], boundaries, role, frames); !s)
      return s.error();
    writeMemory(memory, (*holdings)[i], frames, role);
  }
  return std::move(plan);
}

} // namespace

Result<pb::Plan> buildPlan(const Problem &problem, const Solution &solution) { return PlanBuilder(problem, solution).build(); }

} // namespace plait
