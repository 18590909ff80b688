// A valid plan on a grid of data x pipeline x tensor ranks, small enough to read and rich enough to break: every stage has
// a matrix split over the tensor axis (optimizer sharded over the data axis) and a vector that all its ranks hold.
#ifndef PLAIT_TEST_RUNTIME_PLAN_VERIFY_GRIDPLAN_H
#define PLAIT_TEST_RUNTIME_PLAN_VERIFY_GRIDPLAN_H

#include "runtime/plan/Kernels.h"
#include "runtime/plan/plan.pb.h"
#include <string>
#include <utility>
#include <vector>

namespace plait::test {

struct Grid {
  uint32_t data = 2, stages = 2, tensor = 2, microbatches = 3;
  uint32_t ranks() const { return data * stages * tensor; }
};

inline pb::RankSet rankSet(uint32_t base, std::vector<std::pair<uint32_t, uint32_t>> countStride) {
  pb::RankSet set;
  set.set_base(base);
  for (auto [count, stride] : countStride) {
    pb::Extent &extent = *set.add_extents();
    extent.set_count(count);
    extent.set_stride(stride);
  }
  return set;
}

class GridPlan {
public:
  static constexpr int64_t kRows = 8, kWidth = 6; ///< of the matrix; rows are split
  enum Family { Tensor, Data, Stage };

  static pb::Plan make(const Grid &grid) {
    GridPlan builder(grid);
    return std::move(builder.plan);
  }

private:
  explicit GridPlan(const Grid &grid) : grid(grid) {
    plan.set_world_size(grid.ranks());
    job();
    families();
    routine();
    for (uint32_t stage = 0; stage < grid.stages; ++stage) {
      if (stage)
        channels(stage);
      tensors(stage);
      syncs(stage);
    }
    for (uint32_t stage = 0; stage < grid.stages; ++stage)
      role(stage);
  }

  void job() {
    pb::Job &job = *plan.mutable_job();
    job.set_seq_len(4);
    job.set_micro_batch(1);
    job.set_global_batch(grid.data * grid.microbatches);
    job.set_vocab_size(16);
    job.set_optimizer("adamw");
    job.mutable_precision()->set_param(pb::DTYPE_F32);
  }

  /// rank = (data * stages + stage) * tensor + t.
  void families() {
    uint32_t t = grid.tensor, p = grid.stages, d = grid.data;
    add("tp", rankSet(0, {{d * p, t}}), rankSet(0, {{t, 1}}));
    add("dp", rankSet(0, {{p, t}, {t, 1}}), rankSet(0, {{d, p * t}}));
    add("stage", rankSet(0, {{p, t}}), rankSet(0, {{d, p * t}, {t, 1}}));
  }
  void add(const std::string &name, pb::RankSet groups, pb::RankSet members) {
    pb::GroupFamily &family = *plan.add_families();
    family.set_name(name);
    *family.mutable_groups() = std::move(groups);
    *family.mutable_members() = std::move(members);
  }

  /// One launch on parameters and a frame, and a sum over the tensor axis.
  void routine() {
    pb::Work &work = *plan.add_works();
    work.set_kernel(uint32_t(Kernel::Gemm));
    pb::Routine &routine = *plan.add_routines();
    routine.set_name("block");
    slot(routine, "weights", pb::SPACE_PARAM, 4 * kRows / grid.tensor * kWidth);
    slot(routine, "activation", pb::SPACE_FRAME, 64);
    pb::Instr &launch = *routine.add_instrs();
    launch.set_origin("linear");
    launch.mutable_launch()->set_kernel(uint32_t(Kernel::Gemm));
    *launch.mutable_launch()->add_refs() = ref(0, 0, {kRows / grid.tensor, kWidth});
    *launch.mutable_launch()->add_refs() = ref(1, 0, {4, 4});
    pb::Instr &batch = *routine.add_instrs();
    batch.set_origin("sum");
    pb::Collective &collective = *batch.mutable_batch()->add_collectives();
    collective.set_kind(pb::COLLECTIVE_ALL_REDUCE);
    collective.set_reduce(pb::REDUCE_SUM);
    *collective.mutable_in() = ref(1, 0, {4, 4});
    *collective.mutable_out() = ref(1, 0, {4, 4});
    pb::Program &program = *plan.add_programs();
    program.set_name("forward and backward");
    pb::Call &call = *program.add_calls();
    call.add_bind(0);
    call.add_bind(0);
  }
  static void slot(pb::Routine &routine, const std::string &name, pb::Space space, uint64_t bytes) {
    pb::Slot &slot = *routine.add_slots();
    slot.set_name(name);
    slot.set_space(space);
    slot.set_bytes(bytes);
  }
  static pb::Ref ref(uint32_t slot, uint64_t offset, std::vector<int64_t> shape) {
    pb::Ref ref;
    ref.set_slot(slot);
    ref.set_offset(offset);
    *ref.mutable_shape() = {shape.begin(), shape.end()};
    ref.set_dtype(pb::DTYPE_F32);
    return ref;
  }

  pb::RankSet ranksOf(uint32_t stage) const {
    return rankSet(stage * grid.tensor, {{grid.data, grid.stages * grid.tensor}, {grid.tensor, 1}});
  }

  void channels(uint32_t stage) { // activations into the stage, gradients back
    for (bool back : {false, true}) {
      pb::Channel &channel = *plan.add_channels();
      channel.set_name((back ? "gradient of " : "activation of ") + std::to_string(stage));
      *channel.mutable_from() = ranksOf(back ? stage : stage - 1);
      *channel.mutable_to() = ranksOf(back ? stage - 1 : stage);
    }
  }

  void tensors(uint32_t stage) {
    for (std::vector<int64_t> shape : {std::vector<int64_t>{kRows, kWidth}, std::vector<int64_t>{kWidth}}) {
      pb::Tensor &tensor = *plan.add_tensors();
      tensor.set_name((shape.size() == 2 ? "matrix." : "vector.") + std::to_string(stage));
      tensor.set_dtype(pb::DTYPE_F32);
      *tensor.mutable_shape() = {shape.begin(), shape.end()};
    }
  }

  void syncs(uint32_t stage) {
    pb::Sync &matrix = *plan.add_syncs();
    matrix.set_name("matrix." + std::to_string(stage));
    matrix.set_family(Data);
    matrix.set_sharded(true);
    uint64_t elements = kRows / grid.tensor * kWidth;
    matrix.set_elements(elements);
    for (uint32_t i = 0; i <= grid.data; ++i)
      matrix.add_cuts(elements * i / grid.data);
    pb::Sync &vector = *plan.add_syncs();
    vector.set_name("vector." + std::to_string(stage));
    vector.set_family(Stage);
    vector.set_elements(kWidth);
    for (uint32_t i = 0; i < grid.data * grid.tensor; ++i)
      if (i % grid.tensor)
        vector.add_silent(i);
  }

  void role(uint32_t stage) {
    pb::Role &role = *plan.add_roles();
    role.set_name("stage " + std::to_string(stage));
    role.add_programs(0);
    role.set_schedule(stage);
    role.add_axis_families(Tensor);
    int64_t local = kRows / grid.tensor * kWidth, params = local + kWidth;
    for (uint64_t bytes : {int64_t(0), 4 * params, 4 * params, 8 * params, int64_t(64 * grid.microbatches), int64_t(0),
                           int64_t(128)})
      role.add_space_bytes(bytes);
    pb::FrameClass &frames = *role.add_frames();
    frames.set_bytes(64);
    frames.set_count(grid.microbatches);
    if (stage == 0)
      frames.set_has_tokens(true);
    for (const char *name : {"in", "out"}) {
      pb::Port &port = *role.add_ports();
      port.set_name(name);
      port.set_space(pb::SPACE_COMM);
      port.set_offset(name[0] == 'i' ? 0 : 64);
      port.set_bytes(64);
    }
    state(role, stage, local);
    schedule(stage);
    pb::RankRange &range = *plan.add_ranks();
    *range.mutable_ranks() = ranksOf(stage);
    range.set_role(stage);
  }

  void state(pb::Role &role, uint32_t stage, int64_t local) {
    pb::Residence &matrix = *role.add_residences(), &vector = *role.add_residences();
    matrix.set_tensor(2 * stage);
    matrix.add_start()->set_per_coord(kRows / grid.tensor);
    matrix.add_start();
    matrix.add_size(kRows / grid.tensor);
    matrix.add_size(kWidth);
    vector.set_tensor(2 * stage + 1);
    vector.set_offset(local);
    vector.add_start();
    vector.add_size(kWidth);
    for (uint32_t i : {0, 1}) {
      pb::SyncPart &part = *role.add_sync_parts();
      part.set_sync(2 * stage + i);
      part.set_optimizer_offset(i ? 8 * local : 0);
      pb::Piece &piece = *part.add_pieces();
      piece.set_offset(i ? local : 0);
      piece.set_rows(1);
      piece.set_row_elements(i ? kWidth : local);
      piece.set_row_stride(i ? kWidth : local);
    }
  }

  /// All forwards, then all backwards in the same order.
  void schedule(uint32_t stage) {
    pb::Schedule &schedule = *plan.add_schedules();
    auto task = [&](pb::TaskKind kind) -> pb::Task & {
      pb::Task &added = *schedule.add_tasks();
      added.set_kind(kind);
      return added;
    };
    auto transfer = [&](bool send, uint32_t channel) {
      pb::P2p &p2p = *task(pb::TASK_TRANSFER).add_p2ps();
      p2p.set_send(send);
      p2p.set_channel(channel);
      p2p.set_port(send);
    };
    task(pb::TASK_ZERO);
    for (bool back : {false, true})
      for (uint32_t m = 0; m < grid.microbatches; ++m) {
        if (!back && stage == 0) {
          pb::Task &load = task(pb::TASK_LOAD);
          load.set_microbatch(m);
          load.set_frame(m);
        }
        bool receives = back ? stage + 1 < grid.stages : stage > 0, sends = back ? stage > 0 : stage + 1 < grid.stages;
        if (receives)
          transfer(false, back ? 2 * stage + 1 : 2 * (stage - 1));
        pb::Task &run = task(pb::TASK_RUN);
        run.set_microbatch(m);
        run.set_frame(m);
        if (sends)
          transfer(true, back ? 2 * (stage - 1) + 1 : 2 * stage);
      }
    for (uint32_t i : {0, 1})
      task(pb::TASK_GRAD_SYNC).set_sync(2 * stage + i);
    task(pb::TASK_VOTE);
    task(pb::TASK_APPLY);
    task(pb::TASK_PARAM_GATHER).set_sync(2 * stage);
    task(pb::TASK_COMMIT);
  }

  Grid grid;
  pb::Plan plan;
};

} // namespace plait::test

#endif
