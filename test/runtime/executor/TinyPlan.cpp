#include "TinyPlan.h"
#include "runtime/plan/Kernels.h"
#include "runtime/plan/PlanFile.h"

namespace plait::test {

namespace {

enum Family : uint32_t { Tp, Dp, DpTp };
enum SlotIndex : uint32_t { SlotEmbedding, SlotUp, SlotDown, GradEmbedding, GradUp, GradDown, Frame, Control, Comm };
enum ChannelIndex : uint32_t { Forward, Backward };
enum PortIndex : uint32_t { ActivationPort, GradientPort };

class Builder {
public:
  Builder(const TinyShape &shape, const TinyLayout &layout)
      : shape(shape), layout(layout), hidden(shape.hidden / layout.tp), rows(shape.seq * shape.microBatch) {}

  pb::Plan build() {
    job();
    tensors();
    families();
    channels();
    pointwise();
    syncs();
    uint32_t firstMicrobatch = 0;
    for (uint32_t replica = 0; replica < (layout.mergedCopies ? 1 : dp()); ++replica) {
      for (uint32_t stage = 0; stage < layout.pp; ++stage)
        role(replica, stage, firstMicrobatch);
      firstMicrobatch += layout.microbatches[replica];
    }
    return plan;
  }

private:
  bool hasFront(uint32_t stage) const { return stage == 0; }
  bool hasBack(uint32_t stage) const { return stage + 1 == layout.pp; }
  uint32_t dp() const { return uint32_t(layout.microbatches.size()); }
  uint64_t localElements(int tensor) const {
    const int64_t sizes[] = {shape.vocab * shape.width, hidden * shape.width, shape.vocab * hidden};
    return uint64_t(sizes[tensor]);
  }
  bool holds(uint32_t stage, int tensor) const { return tensor == Down ? hasBack(stage) : hasFront(stage); }

  // Parameter arena: up, embedding, down, so that [up, down] is not one run.
  uint64_t arenaOffset(uint32_t stage, int tensor) const {
    uint64_t offset = 0;
    for (int t : {int(Up), int(Embedding), int(Down)}) {
      if (t == tensor)
        return offset;
      offset += holds(stage, t) ? localElements(t) : 0;
    }
    return offset;
  }
  uint64_t arenaElements(uint32_t stage) const {
    uint64_t elements = 0;
    for (int t = 0; t < TinyTensors; ++t)
      elements += holds(stage, t) ? localElements(t) : 0;
    return elements;
  }

  void job() {
    plan.set_format(kPlanFormat);
    plan.set_world_size(layout.worldSize());
    pb::Job &job = *plan.mutable_job();
    job.set_model_name("tiny");
    job.set_seq_len(shape.seq);
    job.set_global_batch(shape.globalBatch);
    job.set_micro_batch(shape.microBatch);
    job.set_vocab_size(shape.vocab);
    job.mutable_precision()->set_param(pb::DType(layout.paramType));
    job.set_optimizer(layout.optimizer);
    // One work of each kernel: nothing here reads dimensions or times.
    for (uint32_t kernel = uint32_t(Kernel::Gemm); kernel <= uint32_t(Kernel::CrossEntropyGrad); ++kernel)
      plan.add_works()->set_kernel(kernel);
  }

  void tensors() {
    const char *names[] = {"embedding", "up", "down"};
    for (int t = 0; t < TinyTensors; ++t) {
      pb::Tensor &tensor = *plan.add_tensors();
      tensor.set_name(names[t]);
      for (int64_t size : shapeOf(shape, t))
        tensor.add_shape(size);
      tensor.set_dtype(pb::DType(layout.paramType));
      tensor.set_hf_name(names[t]);
      tensor.mutable_init()->set_kind(pb::Init::NORMAL);
      tensor.mutable_init()->set_std(0.5);
      tensor.set_decay(kTinyDecays[t]);
    }
  }

  static void extent(pb::RankSet &set, uint32_t count, uint32_t stride) {
    pb::Extent &extent = *set.add_extents();
    extent.set_count(count);
    extent.set_stride(stride);
  }
  pb::GroupFamily &family(const char *name) {
    pb::GroupFamily &family = *plan.add_families();
    family.set_name(name);
    return family;
  }
  void families() {
    const uint32_t tp = layout.tp, stages = layout.pp * tp;
    pb::GroupFamily &tensor = family("tp");
    extent(*tensor.mutable_groups(), dp() * layout.pp, tp);
    extent(*tensor.mutable_members(), tp, 1);
    pb::GroupFamily &replicas = family("dp");
    extent(*replicas.mutable_groups(), stages, 1);
    extent(*replicas.mutable_members(), dp(), stages);
    pb::GroupFamily &both = family("dp x tp");
    extent(*both.mutable_groups(), layout.pp, tp);
    extent(*both.mutable_members(), dp(), stages);
    extent(*both.mutable_members(), tp, 1);
  }

  void channels() {
    if (layout.pp == 1)
      return;
    for (bool forward : {true, false}) {
      pb::Channel &channel = *plan.add_channels();
      channel.set_name(forward ? "activations" : "gradients");
      for (pb::RankSet *end : {channel.mutable_from(), channel.mutable_to()}) {
        end->set_base((end == channel.mutable_from()) == forward ? 0 : layout.tp);
        extent(*end, dp(), layout.pp * layout.tp);
        extent(*end, layout.tp, 1);
      }
    }
  }

  static void instruction(pb::PointwiseProgram &program, PointwiseOp op, std::vector<uint32_t> operands,
                          std::vector<double> immediates = {}) {
    pb::PointwiseInstr &instr = *program.add_instrs();
    instr.set_op(uint32_t(op));
    for (uint32_t operand : operands)
      instr.add_operands(operand);
    for (double immediate : immediates)
      instr.add_immediates(immediate);
  }
  void pointwise() {
    pb::PointwiseProgram &tanh = *plan.add_pointwise(), &gradient = *plan.add_pointwise();
    tanh.set_name("tanh");
    tanh.add_inputs();
    instruction(tanh, PointwiseOp::Tanh, {0});
    tanh.add_outputs(1);
    gradient.set_name("tanh_grad"); // da, a -> da * (1 - a * a)
    gradient.add_inputs();
    gradient.add_inputs();
    instruction(gradient, PointwiseOp::Mul, {1, 1});
    instruction(gradient, PointwiseOp::ScaleAdd, {2}, {-1, 1});
    instruction(gradient, PointwiseOp::Mul, {0, 3});
    gradient.add_outputs(4);
  }

  // Syncs: the embedding over replicas and tensor-parallel ranks (all but coordinate 0 silent), the linears over
  // replicas; in one vector where one stage has both.
  void sync(const char *name, Family family, uint32_t members, uint64_t elements) {
    pb::Sync &sync = *plan.add_syncs();
    sync.set_name(name);
    sync.set_family(family);
    sync.set_elements(elements);
    sync.set_sharded(layout.sharded);
    for (uint64_t i = 0; layout.sharded && i <= members; ++i)
      sync.add_cuts(elements * i * (i + 1) / (uint64_t(members) * (members + 1)));
  }
  void syncs() {
    sync("embedding", DpTp, dp() * layout.tp, localElements(Embedding));
    for (uint32_t member = 0; member < dp() * layout.tp; ++member)
      if (member % layout.tp)
        plan.mutable_syncs(0)->add_silent(member);
    if (layout.pp == 1) {
      sync("linears", Dp, dp(), localElements(Up) + localElements(Down));
    } else {
      sync("up", Dp, dp(), localElements(Up));
      sync("down", Dp, dp(), localElements(Down));
    }
  }
  std::vector<std::vector<int>> syncTensors() const {
    return layout.pp == 1 ? std::vector<std::vector<int>>{{Embedding}, {Up, Down}}
                          : std::vector<std::vector<int>>{{Embedding}, {Up}, {Down}};
  }

  void piece(pb::SyncPart &part, uint64_t offset, uint64_t rows, uint64_t width, uint64_t stride, bool decay) {
    pb::Piece &piece = *part.add_pieces();
    piece.set_offset(offset);
    piece.set_rows(rows);
    piece.set_row_elements(width);
    piece.set_row_stride(stride);
    piece.set_decay(decay);
  }
  void pieces(pb::SyncPart &part, uint32_t stage, int tensor) {
    const uint64_t offset = arenaOffset(stage, tensor);
    const uint64_t width = uint64_t(tensor == Down ? hidden : shape.width), count = localElements(tensor) / width;
    if (tensor == Embedding && layout.columnPieces) {
      piece(part, offset + 4, count, width - 4, width, kTinyDecays[tensor]);
      piece(part, offset, count, 4, width, kTinyDecays[tensor]);
    } else {
      piece(part, offset, count, width, width, kTinyDecays[tensor]);
    }
  }

  // Frame: offsets in bytes.
  struct FramePlan {
    uint64_t tokens, labels, x, a, p, z, m, sum, pick, lse, dz, da, dp, dx, bytes;
  };
  FramePlan frame() const {
    uint64_t next = 0;
    auto take = [&](int64_t width) {
      const uint64_t offset = next;
      next += uint64_t(rows * width) * 4;
      return offset;
    };
    FramePlan f;
    f.tokens = take(1), f.labels = take(1), f.x = take(shape.width), f.a = take(hidden), f.p = take(hidden);
    f.z = take(shape.vocab), f.m = take(1), f.sum = take(1), f.pick = take(1), f.lse = take(1);
    f.dz = take(shape.vocab), f.da = take(hidden), f.dp = take(hidden), f.dx = take(shape.width);
    f.bytes = next;
    return f;
  }

  static pb::Ref ref(uint32_t slot, uint64_t offset, std::vector<int64_t> sizes, DType type = DType::F32) {
    pb::Ref ref;
    ref.set_slot(slot);
    ref.set_offset(offset);
    for (int64_t size : sizes)
      ref.add_shape(size);
    ref.set_dtype(pb::DType(type));
    return ref;
  }
  pb::Ref act(uint64_t offset, int64_t width) const {
    return ref(Frame, offset, {shape.seq, shape.microBatch, width});
  }
  pb::Ref statistic(uint64_t offset) const { return ref(Frame, offset, {shape.seq, shape.microBatch}); }
  pb::Ref ids(uint64_t offset) const { return ref(Frame, offset, {shape.seq, shape.microBatch}, DType::I32); }
  pb::Ref weight(int tensor) const {
    return ref(SlotEmbedding + tensor, 0, localShape(tensor), layout.paramType);
  }
  pb::Ref gradient(int tensor) const { return ref(GradEmbedding + tensor, 0, localShape(tensor)); }
  std::vector<int64_t> localShape(int tensor) const {
    if (tensor == Down)
      return {shape.vocab, hidden};
    return {tensor == Up ? hidden : shape.vocab, shape.width};
  }

  void launch(pb::Routine &routine, const char *origin, Kernel kernel, std::vector<pb::Ref> refs,
              std::vector<int64_t> ints = {}, bool firstId = false, uint32_t program = 0) {
    pb::Instr &instr = *routine.add_instrs();
    instr.set_origin(origin);
    pb::Launch &launch = *instr.mutable_launch();
    launch.set_kernel(uint32_t(kernel));
    launch.set_work(uint32_t(kernel) - 1);
    for (pb::Ref &ref : refs)
      *launch.add_refs() = ref;
    for (int64_t value : ints)
      launch.add_ints(value);
    if (firstId)
      launch.add_offsets();
    launch.set_pointwise(program);
  }
  void allReduce(pb::Routine &routine, const char *origin, const pb::Ref &operand) {
    if (layout.tp == 1)
      return;
    pb::Instr &instr = *routine.add_instrs();
    instr.set_origin(origin);
    pb::Collective &collective = *instr.mutable_batch()->add_collectives();
    collective.set_kind(pb::COLLECTIVE_ALL_REDUCE);
    collective.set_reduce(pb::REDUCE_SUM);
    *collective.mutable_in() = operand;
    *collective.mutable_out() = operand;
  }
  void copy(pb::Routine &routine, const pb::Ref &from, const pb::Ref &to) {
    pb::Instr &instr = *routine.add_instrs();
    instr.set_origin("boundary copy");
    *instr.mutable_copy()->mutable_from() = from;
    *instr.mutable_copy()->mutable_to() = to;
  }

  /// A slot that the routine's half of the model does not use has no bytes.
  pb::Routine &routine(const char *name, bool front) {
    pb::Routine &routine = *plan.add_routines();
    routine.set_name(name);
    const pb::Space spaces[] = {pb::SPACE_PARAM, pb::SPACE_PARAM, pb::SPACE_PARAM, pb::SPACE_GRAD,   pb::SPACE_GRAD,
                                pb::SPACE_GRAD,  pb::SPACE_FRAME, pb::SPACE_CONTROL, pb::SPACE_COMM};
    for (uint32_t s = 0; s < std::size(spaces); ++s) {
      pb::Slot &slot = *routine.add_slots();
      slot.set_space(spaces[s]);
      const bool used = s >= Frame || (s % 3 != Down) == front;
      slot.set_bytes(!used       ? 0
                     : s < Frame ? localElements(int(s % 3)) * (s < 3 ? uint64_t(bytesOf(layout.paramType)) : 4)
                     : s == Frame ? frame().bytes
                     : s == Control ? 8
                                    : commPortBytes());
    }
    return routine;
  }
  uint64_t commPortBytes() const { return uint64_t(rows * hidden) * 4; }

  void frontForward() {
    const FramePlan f = frame();
    pb::Routine &r = routine("front.forward", true);
    launch(r, "embedding", Kernel::Embedding, {ids(f.tokens), weight(Embedding), act(f.x, shape.width)}, {}, true);
    launch(r, "up", Kernel::Gemm, {act(f.x, shape.width), weight(Up), act(f.p, hidden)}, {0, 1, 0});
    launch(r, "tanh", Kernel::Pointwise, {act(f.p, hidden), act(f.a, hidden)}, {}, false, 0);
  }
  void backForward() {
    const FramePlan f = frame();
    const pb::Ref z = act(f.z, shape.vocab), loss = ref(Control, 4, {1});
    pb::Routine &r = routine("back.forward", false);
    launch(r, "down", Kernel::Gemm, {act(f.a, hidden), weight(Down), z}, {0, 1, 0});
    allReduce(r, "down sum", z);
    launch(r, "row_max", Kernel::RowMax, {z, statistic(f.m)});
    launch(r, "row_sum_exp", Kernel::RowSumExp, {z, statistic(f.m), statistic(f.sum)});
    launch(r, "row_pick", Kernel::RowPick, {z, ids(f.labels), statistic(f.pick)}, {}, true);
    launch(r, "cross_entropy", Kernel::CrossEntropy,
           {statistic(f.m), statistic(f.sum), statistic(f.pick), ids(f.labels), statistic(f.lse), loss});
  }
  void backBackward() {
    const FramePlan f = frame();
    const pb::Ref dz = act(f.dz, shape.vocab);
    pb::Routine &r = routine("back.backward", false);
    launch(r, "cross_entropy grad", Kernel::CrossEntropyGrad,
           {act(f.z, shape.vocab), statistic(f.lse), ids(f.labels), ref(Control, 0, {1}), dz}, {}, true);
    launch(r, "down weight grad", Kernel::Gemm, {dz, act(f.a, hidden), gradient(Down)}, {1, 0, 1});
    launch(r, "down input grad", Kernel::Gemm, {dz, weight(Down), act(f.da, hidden)}, {0, 0, 0});
    if (layout.pp > 1)
      copy(r, act(f.da, hidden), ref(Comm, 0, {shape.seq, shape.microBatch, hidden}));
  }
  void frontBackward() {
    const FramePlan f = frame();
    const pb::Ref dp = act(f.dp, hidden), dx = act(f.dx, shape.width);
    pb::Routine &r = routine("front.backward", true);
    if (layout.pp > 1)
      copy(r, ref(Comm, 0, {shape.seq, shape.microBatch, hidden}), act(f.da, hidden));
    launch(r, "tanh grad", Kernel::Pointwise, {act(f.da, hidden), act(f.a, hidden), dp}, {}, false, 1);
    launch(r, "up weight grad", Kernel::Gemm, {dp, act(f.x, shape.width), gradient(Up)}, {1, 0, 1});
    launch(r, "up input grad", Kernel::Gemm, {dp, weight(Up), dx}, {0, 0, 0});
    allReduce(r, "up input grad sum", dx);
    launch(r, "embedding grad", Kernel::EmbeddingGrad, {dx, ids(f.tokens), gradient(Embedding)}, {}, true);
  }

  void program(const char *name, uint32_t stage, std::vector<uint32_t> routines) {
    pb::Program &program = *plan.add_programs();
    program.set_name(name);
    for (uint32_t index : routines) {
      pb::Call &call = *program.add_calls();
      call.set_routine(index);
      for (uint32_t slot = 0; slot <= Comm; ++slot) {
        const bool state = slot < Frame;
        const uint64_t bytes = slot < 3 ? uint64_t(bytesOf(layout.paramType)) : 4;
        call.add_bind(state && holds(stage, int(slot % 3)) ? arenaOffset(stage, int(slot % 3)) * bytes : 0);
      }
    }
  }
  /// Programs of a stage: forward, backward.
  void programs(pb::Role &role, uint32_t stage) {
    const uint32_t first = uint32_t(plan.routines_size());
    std::vector<uint32_t> forward, backward;
    if (hasFront(stage))
      frontForward(), forward.push_back(first);
    if (hasBack(stage))
      backForward(), forward.push_back(uint32_t(plan.routines_size()) - 1);
    if (hasBack(stage))
      backBackward(), backward.push_back(uint32_t(plan.routines_size()) - 1);
    if (hasFront(stage))
      frontBackward(), backward.push_back(uint32_t(plan.routines_size()) - 1);
    role.add_programs(uint32_t(plan.programs_size()));
    role.add_programs(uint32_t(plan.programs_size()) + 1);
    program("forward", stage, forward);
    program("backward", stage, backward);
  }

  static pb::Task &task(pb::Schedule &schedule, pb::TaskKind kind) {
    pb::Task &task = *schedule.add_tasks();
    task.set_kind(kind);
    return task;
  }
  static void transfer(pb::Schedule &schedule, bool send, uint32_t channel, uint32_t port, uint32_t frame) {
    pb::Task &transfer = task(schedule, pb::TASK_TRANSFER);
    transfer.set_frame(frame);
    transfer.set_queue(1);
    pb::P2p &p2p = *transfer.add_p2ps();
    p2p.set_send(send);
    p2p.set_channel(channel);
    p2p.set_port(port);
  }
  /// All forwards, then all backwards; micro-batch i of the replica in frame i.
  void schedule(pb::Role &role, uint32_t stage, uint32_t firstMicrobatch, uint32_t count) {
    role.set_schedule(uint32_t(plan.schedules_size()));
    pb::Schedule &schedule = *plan.add_schedules();
    const bool pipelined = layout.pp > 1;
    task(schedule, pb::TASK_ZERO);
    for (uint32_t phase = 0; phase < 2; ++phase)
      for (uint32_t i = 0; i < count; ++i) {
        if (phase == 0) {
          pb::Task &load = task(schedule, pb::TASK_LOAD);
          load.set_microbatch(firstMicrobatch + i);
          load.set_frame(i);
        }
        const bool receives = pipelined && (phase == 0 ? stage == 1 : stage == 0);
        const bool sends = pipelined && !receives;
        if (receives)
          transfer(schedule, false, phase, phase, i);
        pb::Task &run = task(schedule, pb::TASK_RUN);
        run.set_program(phase);
        run.set_frame(i);
        if (sends)
          transfer(schedule, true, phase, phase, i);
      }
    for (pb::TaskKind kind : {pb::TASK_GRAD_SYNC, pb::TASK_VOTE, pb::TASK_APPLY, pb::TASK_PARAM_GATHER, pb::TASK_COMMIT}) {
      if (kind != pb::TASK_GRAD_SYNC && kind != pb::TASK_PARAM_GATHER) {
        task(schedule, kind);
        continue;
      }
      for (const pb::SyncPart &part : role.sync_parts()) {
        pb::Task &sync = task(schedule, kind);
        sync.set_sync(part.sync());
        sync.set_queue(2);
      }
    }
  }

  void offset(pb::Residence &residence, int64_t perCoordinate) {
    residence.add_start()->set_per_coord(perCoordinate);
  }
  void residences(pb::Role &role, uint32_t stage) {
    for (int t = 0; t < TinyTensors; ++t) {
      if (!holds(stage, t))
        continue;
      pb::Residence &residence = *role.add_residences();
      residence.set_tensor(uint32_t(t));
      residence.set_offset(arenaOffset(stage, t));
      offset(residence, t == Up ? hidden : 0);
      offset(residence, t == Down ? hidden : 0);
      for (int64_t size : localShape(t))
        residence.add_size(size);
    }
  }

  void port(pb::Role &role, pb::Space space, uint64_t at) {
    pb::Port &port = *role.add_ports();
    port.set_space(space);
    port.set_offset(at);
    port.set_bytes(commPortBytes());
  }

  void role(uint32_t replica, uint32_t stage, uint32_t firstMicrobatch) {
    pb::Role &role = *plan.add_roles();
    role.set_name("stage " + std::to_string(stage) + " of replica " + std::to_string(replica));
    role.set_stage(stage);
    role.set_replica(replica);
    role.add_axis_families(Tp);
    role.set_reports_loss(hasBack(stage));
    programs(role, stage);
    residences(role, stage);
    uint64_t comm = commPortBytes(), optimizer = 0;
    const std::vector<std::vector<int>> tensors = syncTensors();
    for (uint32_t s = 0; s < tensors.size(); ++s) {
      if (!holds(stage, tensors[s][0]))
        continue;
      pb::SyncPart &part = *role.add_sync_parts();
      part.set_sync(s);
      for (int tensor : tensors[s])
        pieces(part, stage, tensor);
      part.set_comm_offset(comm);
      part.set_optimizer_offset(optimizer);
      comm += plan.syncs(int(s)).elements() * 4;
      optimizer += plan.syncs(int(s)).elements() * 12;
    }
    const FramePlan f = frame();
    const uint32_t count = layout.microbatches[replica];
    pb::FrameClass &frames = *role.add_frames();
    frames.set_bytes(f.bytes);
    frames.set_count(count);
    frames.set_tokens_offset(f.tokens);
    frames.set_labels_offset(f.labels);
    frames.set_has_tokens(hasFront(stage));
    frames.set_has_labels(hasBack(stage));
    port(role, pb::SPACE_FRAME, f.a);
    port(role, pb::SPACE_COMM, 0);
    const uint64_t elements = arenaElements(stage), parameters = elements * uint64_t(bytesOf(layout.paramType));
    for (uint64_t bytes : {uint64_t(0), parameters, elements * 4, optimizer, f.bytes * count, uint64_t(0), comm, uint64_t(128)})
      role.add_space_bytes(bytes);
    schedule(role, stage, firstMicrobatch, count);
    pb::RankRange &range = *plan.add_ranks();
    range.set_role(uint32_t(plan.roles_size()) - 1);
    range.mutable_ranks()->set_base((replica * layout.pp + stage) * layout.tp);
    if (layout.mergedCopies) {
      role.set_microbatches_per_copy(count);
      role.set_copy_family(Dp);
      extent(*range.mutable_ranks(), dp(), layout.pp * layout.tp);
    }
    extent(*range.mutable_ranks(), layout.tp, 1);
  }

  const TinyShape &shape;
  const TinyLayout &layout;
  const int64_t hidden, rows; ///< hidden width of a rank, rows of a micro-batch
  pb::Plan plan;
};

} // namespace

pb::Plan tinyPlan(const TinyShape &shape, const TinyLayout &layout) { return Builder(shape, layout).build(); }

} // namespace plait::test
