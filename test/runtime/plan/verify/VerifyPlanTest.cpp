// verifyPlan: a valid plan passes, planted faults are named, and no bytes or fields crash it.
#include "GridPlan.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/verify/Verify.h"
#include <catch2/catch.hpp>
#include <functional>
#include <google/protobuf/stubs/logging.h>
#include <random>

using namespace plait;
using namespace plait::test;

namespace {

std::string joined(const std::vector<std::string> &faults) {
  std::string text;
  for (const std::string &fault : faults)
    text += fault + "\n";
  return text;
}

struct Planted {
  std::string expected;
  std::function<void(pb::Plan &)> plant;
};

pb::Task &taskOf(pb::Plan &plan, int schedule, pb::TaskKind kind) {
  for (pb::Task &task : *plan.mutable_schedules(schedule)->mutable_tasks())
    if (task.kind() == kind)
      return task;
  throw std::logic_error("no such task");
}

/// Tasks of schedule 0: 0 ZERO; 1 LOAD, 2 RUN, 3 send (three times); 10 receive, 11 RUN (three times);
/// 16, 17 GRAD_SYNC; 18 VOTE; 19 APPLY; 20 PARAM_GATHER; 21 COMMIT.
const std::vector<Planted> kFaults{
    // Tables.
    {"plan: world size 0 is not between", [](pb::Plan &p) { p.set_world_size(0); }},
    {"plan: world size 4294967295 is not between", [](pb::Plan &p) { p.set_world_size(~0u); }},
    {"job: sequence length 0 is not positive", [](pb::Plan &p) { p.mutable_job()->set_seq_len(0); }},
    {"job: global batch 7 is no multiple of micro-batch 2",
     [](pb::Plan &p) { p.mutable_job()->set_global_batch(7), p.mutable_job()->set_micro_batch(2); }},
    {"job: optimizer 'lion' is not known; adamw and sgd are", [](pb::Plan &p) { p.mutable_job()->set_optimizer("lion"); }},
    {"job: parameters are f16; they can be f32 or bf16",
     [](pb::Plan &p) { p.mutable_job()->mutable_precision()->set_param(pb::DTYPE_F16); }},
    {"tensor 1 'matrix.0': another tensor has this name", [](pb::Plan &p) { p.mutable_tensors(1)->set_name("matrix.0"); }},
    {"tensor 0: it has no name", [](pb::Plan &p) { p.mutable_tensors(0)->set_name(""); }},
    {"tensor 0 'matrix.0': its storage type is i32", [](pb::Plan &p) { p.mutable_tensors(0)->set_dtype(pb::DTYPE_I32); }},
    {"its view leaves checkpoint tensor", [](pb::Plan &p) { p.mutable_tensors(0)->set_hf_base(9); }},
    {"group family 'dp': rank 15 is not below the world size 8",
     [](pb::Plan &p) { p.mutable_families(1)->mutable_groups()->set_base(8); }},
    {"channel 0 'activation of 1': rank set 1,1: rank 1 is listed twice",
     [](pb::Plan &p) {
       p.mutable_channels(0)->mutable_from()->clear_extents();
       for (int i = 0; i < 2; ++i)
         p.mutable_channels(0)->mutable_from()->add_listed(1);
     }},
    {"channel 0 'activation of 1': 2 senders and 4 receivers",
     [](pb::Plan &p) { p.mutable_channels(0)->mutable_from()->mutable_extents()->RemoveLast(); }},
    {"channel 0 'activation of 1': rank 0 would send to itself",
     [](pb::Plan &p) { *p.mutable_channels(0)->mutable_to() = p.channels(0).from(); }},
    {"work 0: kernel 99 is not known", [](pb::Plan &p) { p.mutable_works(0)->set_kernel(99); }},
    {"work 0: flops and bytes must be finite", [](pb::Plan &p) { p.mutable_works(0)->set_flops(-1); }},
    {"pointwise program 0, instruction 0: operation 77 is not known",
     [](pb::Plan &p) { p.add_pointwise()->add_instrs()->set_op(77); }},
    {"pointwise program 0, instruction 0: operand 0 does not exist; there are 0",
     [](pb::Plan &p) {
       pb::PointwiseInstr &instr = *p.add_pointwise()->add_instrs();
       instr.set_op(uint32_t(PointwiseOp::Exp));
       instr.add_operands(0);
     }},
    {"pointwise program 0, instruction 0: add takes 2 operands and 0 immediates",
     [](pb::Plan &p) { p.add_pointwise()->add_instrs()->set_op(uint32_t(PointwiseOp::Add)); }},
    // Routines and programs.
    {"routine 0 'block': slot 0 'weights' has no space",
     [](pb::Plan &p) { p.mutable_routines(0)->mutable_slots(0)->set_space(pb::SPACE_NONE); }},
    {"instruction 0 'linear': slot 7 does not exist; there are 2",
     [](pb::Plan &p) { p.mutable_routines(0)->mutable_instrs(0)->mutable_launch()->mutable_refs(0)->set_slot(7); }},
    {"an operand of 96 bytes at 4 leaves slot 0 'weights' of 96 bytes",
     [](pb::Plan &p) { p.mutable_routines(0)->mutable_instrs(0)->mutable_launch()->mutable_refs(0)->set_offset(4); }},
    {"offset 2 is no multiple of the 4 bytes",
     [](pb::Plan &p) { p.mutable_routines(0)->mutable_instrs(0)->mutable_launch()->mutable_refs(0)->set_offset(2); }},
    {"an operand's shape and strides make no sense",
     [](pb::Plan &p) { p.mutable_routines(0)->mutable_instrs(0)->mutable_launch()->mutable_refs(0)->add_stride(1); }},
    {"an operand's shape and strides make no sense",
     [](pb::Plan &p) {
       for (int k : {0, 1})
         p.mutable_routines(0)->mutable_instrs(0)->mutable_launch()->mutable_refs(0)->set_shape(k, INT64_MAX);
     }},
    {"an operand has no type",
     [](pb::Plan &p) {
       p.mutable_routines(0)->mutable_instrs(0)->mutable_launch()->mutable_refs(0)->set_dtype(pb::DTYPE_NONE);
     }},
    {"it launches rms_norm, its work is of gemm",
     [](pb::Plan &p) { p.mutable_routines(0)->mutable_instrs(0)->mutable_launch()->set_kernel(uint32_t(Kernel::RmsNorm)); }},
    {"instruction 0 'linear': work 5 does not exist; there are 1",
     [](pb::Plan &p) { p.mutable_routines(0)->mutable_instrs(0)->mutable_launch()->set_work(5); }},
    {"the instruction is empty", [](pb::Plan &p) { p.mutable_routines(0)->mutable_instrs(0)->clear_launch(); }},
    {"a reduction without an operation",
     [](pb::Plan &p) {
       p.mutable_routines(0)->mutable_instrs(1)->mutable_batch()->mutable_collectives(0)->set_reduce(pb::REDUCE_NONE);
     }},
    {"the operands of a collective have two types",
     [](pb::Plan &p) {
       p.mutable_routines(0)->mutable_instrs(1)->mutable_batch()->mutable_collectives(0)->mutable_in()->set_dtype(
           pb::DTYPE_BF16);
     }},
    {"a copy of 0 elements to 1",
     [](pb::Plan &p) {
       pb::Copy &copy = *p.mutable_routines(0)->mutable_instrs(0)->mutable_copy();
       copy.mutable_from()->set_dtype(pb::DTYPE_F32);
       copy.mutable_from()->add_shape(0);
       copy.mutable_to()->set_dtype(pb::DTYPE_F32);
     }},
    {"program 0 'forward and backward', call 0: routine 3 does not exist",
     [](pb::Plan &p) { p.mutable_programs(0)->mutable_calls(0)->set_routine(3); }},
    {"1 bindings for the 2 slots of routine 'block'",
     [](pb::Plan &p) { p.mutable_programs(0)->mutable_calls(0)->mutable_bind()->RemoveLast(); }},
    {"slot 0 'weights' is bound to 2, no multiple of 4",
     [](pb::Plan &p) { p.mutable_programs(0)->mutable_calls(0)->set_bind(0, 2); }},
    // Ranks.
    {"rank range 1: rank 0 is covered twice",
     [](pb::Plan &p) { *p.mutable_ranks(1)->mutable_ranks() = p.ranks(0).ranks(); }},
    {"rank ranges: rank 2 of 8 has no role", [](pb::Plan &p) { p.mutable_ranks()->RemoveLast(); }},
    {"rank range 0: role 9 does not exist; there are 2", [](pb::Plan &p) { p.mutable_ranks(0)->set_role(9); }},
    {"role 0 'stage 0': axis family 9 does not exist",
     [](pb::Plan &p) { p.mutable_roles(0)->set_axis_families(0, 9); }},
    {"role 0 'stage 0': rank 0 is not in its axis family 'tp'",
     [](pb::Plan &p) {
       p.mutable_families(0)->mutable_groups()->set_base(2);
       p.mutable_families(0)->mutable_groups()->mutable_extents(0)->set_count(3);
     }},
    // Roles.
    {"its frames do not fit the frame arena of 100 bytes",
     [](pb::Plan &p) { p.mutable_roles(0)->set_space_bytes(pb::SPACE_FRAME, 100); }},
    {"token ids or labels at 60 leave a frame of 64 bytes",
     [](pb::Plan &p) { p.mutable_roles(0)->mutable_frames(0)->set_tokens_offset(60); }},
    {"port 1 'out': 64 bytes at 100 leave its space of 128 bytes",
     [](pb::Plan &p) { p.mutable_roles(0)->mutable_ports(1)->set_offset(100); }},
    {"role 0 'stage 0': program 4 does not exist", [](pb::Plan &p) { p.mutable_roles(0)->set_programs(0, 4); }},
    {"slot 0 'weights' of 96 bytes at 400 leaves SPACE_PARAM of 120 bytes",
     [](pb::Plan &p) { p.mutable_programs(0)->mutable_calls(0)->set_bind(0, 400); }},
    {"call 0 of 'block', sum: axis 3 does not exist; there are 1",
     [](pb::Plan &p) {
       p.mutable_routines(0)->mutable_instrs(1)->mutable_batch()->mutable_collectives(0)->set_axis(3);
     }},
    {"root 2 of 2 members",
     [](pb::Plan &p) {
       p.mutable_routines(0)->mutable_instrs(1)->mutable_batch()->mutable_collectives(0)->set_root(2);
     }},
    {"has a part of 16 elements, member 0 needs 8",
     [](pb::Plan &p) {
       p.mutable_routines(0)->mutable_instrs(1)->mutable_batch()->mutable_collectives(0)->set_kind(
           pb::COLLECTIVE_REDUCE_SCATTER);
     }},
    {"its counts do not divide 16 elements among 2 members",
     [](pb::Plan &p) {
       pb::Collective &c = *p.mutable_routines(0)->mutable_instrs(1)->mutable_batch()->mutable_collectives(0);
       c.set_kind(pb::COLLECTIVE_REDUCE_SCATTER);
       c.add_counts(9);
       c.add_counts(8);
     }},
    // Tasks.
    {"role 0 'stage 0': schedule 9 does not exist", [](pb::Plan &p) { p.mutable_roles(0)->set_schedule(9); }},
    {"role 0 'stage 0', task 2: program of the role 1 does not exist",
     [](pb::Plan &p) { taskOf(p, 0, pb::TASK_RUN).set_program(1); }},
    {"task 2: frame 3 does not exist; there are 3", [](pb::Plan &p) { taskOf(p, 0, pb::TASK_RUN).set_frame(3); }},
    {"task 1: no frame class of the role takes tokens or labels in frame 9",
     [](pb::Plan &p) { taskOf(p, 0, pb::TASK_LOAD).set_frame(9); }},
    {"role 0 'stage 0', rank 0: micro-batch 6 does not exist; there are 6", [](pb::Plan &p) { taskOf(p, 0, pb::TASK_LOAD).set_microbatch(6); }},
    {"role 0 'stage 0', rank 4: micro-batch 6 does not exist; there are 6",
     [](pb::Plan &p) { // copies along the data axis, each with three micro-batches, from the first on
       p.mutable_roles(0)->set_copy_family(GridPlan::Data);
       p.mutable_roles(0)->set_first_microbatch(3);
       p.mutable_roles(0)->set_microbatches_per_copy(3);
     }},
    {"role 0 'stage 0': copy family 5 does not exist",
     [](pb::Plan &p) {
       p.mutable_roles(0)->set_copy_family(5);
       p.mutable_roles(0)->set_microbatches_per_copy(3);
     }},
    {"role 0 'stage 0', rank 0: it is not in the role's copy family",
     [](pb::Plan &p) {
       p.mutable_families(1)->mutable_groups()->mutable_extents(1)->set_count(1);
       p.mutable_families(1)->mutable_groups()->set_base(1);
       p.mutable_roles(0)->set_copy_family(GridPlan::Data);
       p.mutable_roles(0)->set_microbatches_per_copy(3);
     }},
    {"schedules: micro-batch 0 is loaded by 2 ranks that count its loss, not by one",
     [](pb::Plan &p) { p.mutable_roles(0)->set_reports_loss(true); }},
    {"task 2: queue 3 does not exist", [](pb::Plan &p) { taskOf(p, 0, pb::TASK_RUN).set_queue(3); }},
    {"task 2: it depends on task 2, which does not come before it",
     [](pb::Plan &p) { taskOf(p, 0, pb::TASK_RUN).add_deps(2); }},
    {"task 3: channel 8 does not exist",
     [](pb::Plan &p) { taskOf(p, 0, pb::TASK_TRANSFER).mutable_p2ps(0)->set_channel(8); }},
    {"task 3: port 2 does not exist", [](pb::Plan &p) { taskOf(p, 0, pb::TASK_TRANSFER).mutable_p2ps(0)->set_port(2); }},
    {"task 3: 64 bytes at 1 leave port 1 'out' of 64 bytes",
     [](pb::Plan &p) { taskOf(p, 0, pb::TASK_TRANSFER).mutable_p2ps(0)->set_offset(1); }},
    {"task 2: only a transfer has messages", [](pb::Plan &p) { taskOf(p, 0, pb::TASK_RUN).add_p2ps(); }},
    {"task 2: task kind 77 is not known", [](pb::Plan &p) { taskOf(p, 0, pb::TASK_RUN).set_kind(pb::TaskKind(77)); }},
    {"TASK_VOTE occurs 0 times in its schedule, not once",
     [](pb::Plan &p) { taskOf(p, 0, pb::TASK_VOTE).set_kind(pb::TASK_ZERO); }},
    {"TASK_APPLY comes too early",
     [](pb::Plan &p) {
       taskOf(p, 0, pb::TASK_APPLY).set_kind(pb::TASK_NONE);
       taskOf(p, 0, pb::TASK_VOTE).set_kind(pb::TASK_APPLY);
       taskOf(p, 0, pb::TASK_NONE).set_kind(pb::TASK_VOTE);
     }},
    {"role 0 'stage 0': sync 0 'matrix.0' is reduced 0 times, not once",
     [](pb::Plan &p) { taskOf(p, 0, pb::TASK_GRAD_SYNC).set_sync(1); }},
    {"sync 0 'matrix.0' is gathered 0 times, not once",
     [](pb::Plan &p) { taskOf(p, 0, pb::TASK_PARAM_GATHER).set_sync(1); }},
    {"the role has no part of sync 2 'matrix.1'", [](pb::Plan &p) { taskOf(p, 0, pb::TASK_GRAD_SYNC).set_sync(2); }},
    {"sync 9 does not exist; there are 4", [](pb::Plan &p) { taskOf(p, 0, pb::TASK_GRAD_SYNC).set_sync(9); }},
    // State.
    {"sync 0 'matrix.0': its cuts do not divide 24 elements among 2 members",
     [](pb::Plan &p) { p.mutable_syncs(0)->set_cuts(1, 25); }},
    {"sync 0 'matrix.0': family 7 does not exist", [](pb::Plan &p) { p.mutable_syncs(0)->set_family(7); }},
    {"sync 1 'vector.0': its silent members must be some of its 4, not all",
     [](pb::Plan &p) { p.mutable_syncs(1)->add_silent(1); }},
    {"rank 1 holds 'matrix.0' [5:9, 0:6], which is not inside [0:8, 0:6]",
     [](pb::Plan &p) { p.mutable_roles(0)->mutable_residences(0)->mutable_start(0)->set_per_coord(5); }},
    {"a residence of 'matrix.0' has 1 starts and 2 sizes for 2 dimensions",
     [](pb::Plan &p) { p.mutable_roles(0)->mutable_residences(0)->mutable_start()->RemoveLast(); }},
    {"residences of 'matrix.0' and 'vector.0' overlap in the parameter arena",
     [](pb::Plan &p) { p.mutable_roles(0)->mutable_residences(1)->set_offset(20); }},
    {"role 'stage 0': tensor 9 does not exist",
     [](pb::Plan &p) { p.mutable_roles(0)->mutable_residences(0)->set_tensor(9); }},
    {"role 'stage 0': 30 elements do not fit SPACE_GRAD of 100 bytes",
     [](pb::Plan &p) { p.mutable_roles(0)->set_space_bytes(pb::SPACE_GRAD, 100); }},
    {"optimizer state of 6 elements at 192 does not fit 200 bytes",
     [](pb::Plan &p) { p.mutable_roles(0)->set_space_bytes(pb::SPACE_OPTIMIZER, 200); }},
    {"the optimizer states of two sync parts overlap",
     [](pb::Plan &p) { p.mutable_roles(0)->mutable_sync_parts(1)->set_optimizer_offset(92); }},
    {"its pieces have 23 elements, the sync has 24",
     [](pb::Plan &p) { p.mutable_roles(0)->mutable_sync_parts(0)->mutable_pieces(0)->set_row_elements(23); }},
    {"piece of 1 x 24 elements at 8 leaves the residences of its role",
     [](pb::Plan &p) { p.mutable_roles(0)->mutable_sync_parts(0)->mutable_pieces(0)->set_offset(8); }},
    {"is empty or too large",
     [](pb::Plan &p) { p.mutable_roles(0)->mutable_sync_parts(0)->mutable_pieces(0)->set_rows(uint64_t(1) << 61); }},
    {"is not a part of one residence's rows",
     [](pb::Plan &p) {
       pb::Piece &piece = *p.mutable_roles(0)->mutable_sync_parts(0)->mutable_pieces(0);
       piece.set_rows(2);
       piece.set_row_elements(2);
       piece.set_row_stride(5);
     }},
    {"packing 24 elements at 64 does not fit 128 bytes of communication memory",
     [](pb::Plan &p) {
       pb::SyncPart &part = *p.mutable_roles(0)->mutable_sync_parts(0);
       part.set_comm_offset(64);
       pb::Piece low = part.pieces(0);
       low.set_row_elements(12);
       pb::Piece high = low;
       high.set_offset(12);
       *part.mutable_pieces(0) = high;
       *part.add_pieces() = low;
     }},
    {"of its part of tensor 'vector.0', the sync parts hold 6 of 6 elements not at all",
     [](pb::Plan &p) {
       p.mutable_roles(0)->mutable_sync_parts()->RemoveLast();
       p.mutable_schedules(0)->mutable_tasks()->DeleteSubrange(17, 1);
     }},
    {"the sync parts hold element 0 twice",
     [](pb::Plan &p) { p.mutable_roles(0)->mutable_sync_parts(1)->mutable_pieces(0)->set_offset(0); }},
    {"sync 0 'matrix.0': ranks 0 and 5 mean different elements: element 0 of tensor 0 against element 24 of tensor 0",
     [](pb::Plan &p) {
       // Members of a data group with unlike shards.
       constexpr uint64_t kFourths[] = {0, 6, 12, 18, 24};
       p.mutable_families(1)->mutable_members()->clear_extents();
       for (uint32_t rank : {0, 5, 1, 4})
         p.mutable_families(1)->mutable_members()->add_listed(rank);
       *p.mutable_families(1)->mutable_groups() = rankSet(0, {{2, 2}});
       for (pb::Sync &sync : *p.mutable_syncs())
         if (sync.sharded())
           sync.mutable_cuts()->Assign(std::begin(kFourths), std::end(kFourths));
     }},
    {"tensor 1 'vector.0': the syncs of all ranks hold element 0 twice",
     [](pb::Plan &p) { // every rank of the tensor axis would count the vector
       p.mutable_syncs(1)->set_family(GridPlan::Data);
       p.mutable_syncs(1)->clear_silent();
     }},
    {"only 2 of the 4 members of group 0 have a part of it",
     [](pb::Plan &p) { // the ranks of one data coordinate get a role of their own, without the vector
       *p.add_roles() = p.roles(0);
       p.mutable_roles(2)->mutable_sync_parts()->RemoveLast();
       p.mutable_roles(2)->mutable_residences()->RemoveLast();
       *p.add_schedules() = p.schedules(0);
       p.mutable_schedules(2)->mutable_tasks()->DeleteSubrange(17, 1);
       p.mutable_roles(2)->set_schedule(2);
       *p.mutable_ranks(0)->mutable_ranks() = rankSet(0, {{2, 1}});
       *p.add_ranks()->mutable_ranks() = rankSet(4, {{2, 1}});
       p.mutable_ranks(2)->set_role(2);
     }},
    // Channels.
    {"channel 0 'activation of 1': rank 0 of role 'stage 0' uses it, but is none of its senders",
     [](pb::Plan &p) {
       p.mutable_channels(0)->mutable_from()->set_base(1);
       p.mutable_channels(0)->mutable_from()->mutable_extents()->RemoveLast();
       p.mutable_channels(0)->mutable_to()->mutable_extents()->RemoveLast();
     }},
    {"channel 0 'activation of 1', rank 0 to rank 2: 2 messages are sent, 3 received",
     [](pb::Plan &p) { p.mutable_schedules(0)->mutable_tasks()->DeleteSubrange(3, 1); }},
    {"channel 0 'activation of 1', rank 0 to rank 2: message 0 has 32 bytes sent and 64 received",
     [](pb::Plan &p) { taskOf(p, 0, pb::TASK_TRANSFER).mutable_p2ps(0)->set_bytes(32); }},
};

/// Changes one random field of the message, or of one inside it.
void mutate(google::protobuf::Message &message, std::mt19937 &random) {
  const auto *descriptor = message.GetDescriptor();
  const auto *reflection = message.GetReflection();
  if (!descriptor->field_count())
    return;
  const auto *field = descriptor->field(random() % descriptor->field_count());
  constexpr uint64_t kValues[] = {0, 1, 2, 3, 7, 64, 1u << 20, INT32_MAX, uint64_t(1) << 40, ~uint64_t(0)};
  uint64_t value = kValues[random() % std::size(kValues)];
  using Type = google::protobuf::FieldDescriptor;
  if (field->is_repeated()) {
    int size = reflection->FieldSize(message, field);
    if (size && random() % 4 == 0)
      return reflection->RemoveLast(&message, field);
    if (size && field->cpp_type() == Type::CPPTYPE_MESSAGE)
      return mutate(*reflection->MutableRepeatedMessage(&message, field, int(random() % size)), random);
    switch (field->cpp_type()) {
    case Type::CPPTYPE_UINT32:
      if (size)
        return reflection->SetRepeatedUInt32(&message, field, int(random() % size), uint32_t(value));
      return reflection->AddUInt32(&message, field, uint32_t(value));
    case Type::CPPTYPE_UINT64:
      if (size)
        return reflection->SetRepeatedUInt64(&message, field, int(random() % size), value);
      return reflection->AddUInt64(&message, field, value);
    case Type::CPPTYPE_INT64:
      if (size)
        return reflection->SetRepeatedInt64(&message, field, int(random() % size), int64_t(value));
      return reflection->AddInt64(&message, field, int64_t(value));
    case Type::CPPTYPE_MESSAGE: reflection->AddMessage(&message, field); return;
    default: return;
    }
  }
  switch (field->cpp_type()) {
  case Type::CPPTYPE_UINT32: return reflection->SetUInt32(&message, field, uint32_t(value));
  case Type::CPPTYPE_UINT64: return reflection->SetUInt64(&message, field, value);
  case Type::CPPTYPE_INT32: return reflection->SetInt32(&message, field, int32_t(value));
  case Type::CPPTYPE_INT64: return reflection->SetInt64(&message, field, int64_t(value));
  case Type::CPPTYPE_BOOL: return reflection->SetBool(&message, field, value & 1);
  case Type::CPPTYPE_ENUM: return reflection->SetEnumValue(&message, field, int(value & 15));
  case Type::CPPTYPE_MESSAGE: return mutate(*reflection->MutableMessage(&message, field), random);
  default: return;
  }
}

} // namespace

TEST_CASE("a valid plan may count its loss, number its copies, and join pieces of neighbouring residences") {
  pb::Plan plan = GridPlan::make({});
  for (pb::Role &role : *plan.mutable_roles()) {
    role.set_copy_family(GridPlan::Data);
    role.set_microbatches_per_copy(3);
  }
  plan.mutable_roles(0)->set_reports_loss(true);
  REQUIRE(joined(verifyPlan(plan)) == "");
  // One rank alone: matrix and vector in one sync of one piece.
  plan = GridPlan::make({1, 1, 1, 1});
  plan.mutable_syncs(0)->set_elements(54);
  plan.mutable_syncs(0)->set_cuts(1, 54);
  pb::Role &role = *plan.mutable_roles(0);
  role.mutable_sync_parts()->RemoveLast();
  role.mutable_sync_parts(0)->mutable_pieces(0)->set_row_elements(54);
  auto &tasks = *plan.mutable_schedules(0)->mutable_tasks();
  tasks.DeleteSubrange(5, 1); // the vector's GRAD_SYNC
  REQUIRE(joined(verifyPlan(plan)) == "");
}

TEST_CASE("valid plans of many grids pass") {
  for (Grid grid : {Grid{}, Grid{1, 1, 1, 1}, Grid{1, 1, 2, 1}, Grid{3, 4, 2, 5}, Grid{4, 1, 8, 2}, Grid{128, 16, 8, 8}}) {
    pb::Plan plan = GridPlan::make(grid);
    INFO(joined(verifyPlan(plan)) << joined(verifyComm(plan)));
    REQUIRE(verify(plan));
  }
}

TEST_CASE("planted faults are named") {
  for (const Planted &planted : kFaults) {
    pb::Plan plan = GridPlan::make({});
    planted.plant(plan);
    std::string faults = joined(verifyPlan(plan));
    CAPTURE(planted.expected, faults);
    CHECK(faults.find(planted.expected) != std::string::npos);
    Status status = verify(plan);
    REQUIRE_FALSE(status);
    REQUIRE(status.error().code == ExitCode::CheckFailed);
    REQUIRE(status.error().message.find("the plan does not verify:\n  ") == 0);
  }
}

TEST_CASE("changed fields never crash") {
  std::mt19937 random(17);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    pb::Plan plan = GridPlan::make({});
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes)
      mutate(plan, random);
    refused += !verify(plan);
  }
  REQUIRE(refused > 10000);
}

TEST_CASE("changed bytes never crash") {
  std::string bytes = serializePlan(GridPlan::make({}));
  std::mt19937 random(18);
  google::protobuf::LogSilencer silencer;
  int parsed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = bytes;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    pb::Plan plan;
    if (!plan.ParseFromString(damaged))
      continue;
    ++parsed;
    (void)bool(verify(plan));
  }
  REQUIRE(parsed > 1000);
}
