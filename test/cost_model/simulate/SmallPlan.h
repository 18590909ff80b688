// A lowered plan written by hand: `copies` pipelines of `stages` stages of `tp` ranks; every stage is one program with
// two GEMMs around a tensor-parallel all-reduce per phase. Rank of (copy, stage, coordinate): in this order, densely.
#ifndef PLAIT_TEST_COST_MODEL_SIMULATE_SMALLPLAN_H
#define PLAIT_TEST_COST_MODEL_SIMULATE_SMALLPLAN_H

#include "cost_model/simulate/Pipeline.h"
#include "runtime/plan/Kernels.h"
#include "runtime/plan/plan.pb.h"

namespace plait::test {

struct SmallPlan {
  uint32_t copies = 1, stages = 2, tp = 1, microbatches = 4;
  int64_t width = 1024;          ///< of the square GEMMs, f32
  bool sharded = false, split = false;

  uint32_t perCopy() const { return stages * tp; }
  double boundaryBytes() const { return 4.0 * double(width) * 64; }

  Solution solution() const {
    Solution solution;
    solution.replicas.resize(1);
    solution.replicas[0].microbatches = microbatches;
    for (uint32_t s = 0; s < stages; ++s) {
      Stage stage;
      stage.firstUse = s, stage.endUse = s + 1, stage.splitWeightGrad = split;
      solution.replicas[0].stages.push_back(stage);
    }
    return solution;
  }

  pb::Plan make() const {
    pb::Plan plan;
    plan.set_format(1);
    plan.set_world_size(copies * perCopy());
    plan.mutable_job()->set_seq_len(64);
    plan.mutable_job()->set_micro_batch(1);
    plan.mutable_job()->set_optimizer("adamw");
    pb::Precision *precision = plan.mutable_job()->mutable_precision();
    for (auto set : {&pb::Precision::set_param, &pb::Precision::set_compute, &pb::Precision::set_grad, &pb::Precision::set_reduce,
                     &pb::Precision::set_master, &pb::Precision::set_moments})
      (precision->*set)(pb::DTYPE_F32);
    pb::Work *work = plan.add_works();
    work->set_kernel(uint32_t(Kernel::Gemm));
    for (int64_t dim : {int64_t(64), width, width})
      work->add_dims(dim);
    work->set_dtype(pb::DTYPE_F32);
    work->set_flops(2.0 * 64 * double(width) * double(width));
    work->set_bytes_read(4.0 * double(width * width + 64 * width));
    work->set_bytes_written(4.0 * 64 * double(width));
    for (pb::Phase phase : {pb::PHASE_FORWARD, split ? pb::PHASE_BACKWARD_INPUT : pb::PHASE_BACKWARD, pb::PHASE_BACKWARD_WEIGHT})
      addRoutine(plan, phase);
    for (uint32_t s = 0; s < stages; ++s)
      addStage(plan, s);
    return plan;
  }

private:
  void addRoutine(pb::Plan &plan, pb::Phase phase) const {
    pb::Routine *routine = plan.add_routines();
    routine->set_phase(phase);
    auto launch = [&](const char *origin) {
      pb::Instr *instr = routine->add_instrs();
      instr->set_origin(origin);
      instr->mutable_launch()->set_kernel(uint32_t(Kernel::Gemm));
      instr->mutable_launch()->set_work(0);
    };
    launch("first");
    if (phase != pb::PHASE_BACKWARD_WEIGHT) {
      pb::Instr *instr = routine->add_instrs();
      instr->set_origin("sum");
      pb::Collective *collective = instr->mutable_batch()->add_collectives();
      collective->set_kind(pb::COLLECTIVE_ALL_REDUCE);
      for (pb::Ref *ref : {collective->mutable_in(), collective->mutable_out()}) {
        ref->add_shape(64);
        ref->add_shape(width);
        ref->set_dtype(pb::DTYPE_F32);
      }
    }
    launch("second");
    pb::Program *program = plan.add_programs();
    program->set_phase(phase);
    program->add_calls()->set_routine(uint32_t(plan.routines_size() - 1));
  }

  static void extent(pb::RankSet &set, uint32_t count, uint32_t stride) {
    if (count < 2)
      return;
    pb::Extent *added = set.add_extents();
    added->set_count(count);
    added->set_stride(stride);
  }
  void stageRanks(pb::RankSet &set, uint32_t s) const {
    set.set_base(s * tp);
    extent(set, copies, perCopy());
    extent(set, tp, 1);
  }

  void addStage(pb::Plan &plan, uint32_t s) const {
    pb::Role *role = plan.add_roles();
    role->set_name("stage" + std::to_string(s));
    role->set_stage(s);
    for (uint32_t program : {0, 1, 2})
      role->add_programs(program);
    for (uint64_t bytes : {0, 1000, 2000, 3000, 4000, 5000, 6000, 256})
      role->add_space_bytes(bytes);
    pb::Component *component = role->add_components();
    component->set_name("parameters");
    component->set_bytes(1000);
    for (const char *port : {"x", "y", "dy", "dx"}) {
      role->add_ports()->set_name(port);
      role->mutable_ports(role->ports_size() - 1)->set_bytes(uint64_t(boundaryBytes()));
    }
    pb::GroupFamily *tensor = plan.add_families();
    role->add_axis_families(uint32_t(plan.families_size() - 1));
    extent(*tensor->mutable_groups(), copies, perCopy());
    tensor->mutable_members()->set_base(s * tp);
    extent(*tensor->mutable_members(), tp, 1);
    pb::GroupFamily *data = plan.add_families();
    extent(*data->mutable_groups(), tp, 1);
    data->mutable_members()->set_base(s * tp);
    extent(*data->mutable_members(), copies, perCopy());
    pb::Sync *sync = plan.add_syncs();
    sync->set_family(uint32_t(plan.families_size() - 1));
    sync->set_elements(uint64_t(width) * uint64_t(width));
    sync->set_sharded(sharded);
    for (uint32_t i = 0; sharded && i <= copies; ++i)
      sync->add_cuts(sync->elements() * i / copies);
    role->add_sync_parts()->set_sync(s);
    for (bool gradient : {false, true}) { // channels 2s and 2s + 1 join stage s and s + 1
      if (s + 1 == stages)
        break;
      pb::Channel *channel = plan.add_channels();
      stageRanks(*channel->mutable_from(), gradient ? s + 1 : s);
      stageRanks(*channel->mutable_to(), gradient ? s : s + 1);
    }
    pb::RankRange *range = plan.add_ranks();
    range->set_role(s);
    stageRanks(*range->mutable_ranks(), s);
    role->set_schedule(s);
    addSchedule(*plan.add_schedules(), s);
  }

  void addSchedule(pb::Schedule &schedule, uint32_t s) const {
    int lastRun = -1, lastTransfer = -1;
    auto add = [&](pb::TaskKind kind, uint32_t queue, int dep) {
      pb::Task *task = schedule.add_tasks();
      task->set_kind(kind);
      task->set_queue(queue);
      if (dep >= 0)
        task->add_deps(uint32_t(dep));
      return task;
    };
    add(pb::TASK_ZERO, 0, -1);
    for (const PipeItem &item : pipelineItems(solution(), 0, s)) {
      if (item.kind == PipeItem::Run) {
        pb::Task *run = add(pb::TASK_RUN, 0, lastTransfer);
        run->set_program(item.run.phase == Phase::Forward ? 0 : item.run.phase == Phase::BackwardWeight ? 2 : 1);
        lastRun = schedule.tasks_size() - 1;
        continue;
      }
      pb::Task *transfer = add(pb::TASK_TRANSFER, 1, lastRun);
      for (const PipeMessage &message : item.messages) {
        pb::P2p *p2p = transfer->add_p2ps();
        p2p->set_send(message.send);
        bool upper = message.gradient == message.send; // the pair (s - 1, s)
        p2p->set_channel(2 * (upper ? s - 1 : s) + message.gradient);
        p2p->set_port(message.gradient ? (message.send ? 3 : 2) : (message.send ? 1 : 0));
      }
      lastTransfer = schedule.tasks_size() - 1;
    }
    add(pb::TASK_GRAD_SYNC, 2, lastRun)->set_sync(s);
    add(pb::TASK_VOTE, 2, schedule.tasks_size() - 1);
    add(pb::TASK_APPLY, 0, schedule.tasks_size() - 1);
    add(pb::TASK_PARAM_GATHER, 2, schedule.tasks_size() - 1)->set_sync(s);
    add(pb::TASK_COMMIT, 0, schedule.tasks_size() - 1);
  }
};

} // namespace plait::test

#endif
