#include "runtime/plan/DType.h"
#include "runtime/plan/Kernels.h"
#include "runtime/plan/layout/CheckpointView.h"
#include "runtime/plan/verify/Phases.h"
#include <cmath>
#include <set>

namespace plait {
namespace {

void verifyJob(const pb::Job &job, Faults &faults) {
  auto positive = [&](const char *what, int64_t value) {
    if (value <= 0)
      faults.add("job", std::string(what) + " " + std::to_string(value) + " is not positive");
  };
  positive("sequence length", job.seq_len());
  positive("global batch", job.global_batch());
  positive("micro-batch", job.micro_batch());
  positive("vocabulary", job.vocab_size());
  if (job.micro_batch() > 0 && job.global_batch() % job.micro_batch())
    faults.add("job", "global batch " + std::to_string(job.global_batch()) + " is no multiple of micro-batch " +
                          std::to_string(job.micro_batch()));
  if (job.optimizer() != "adamw" && job.optimizer() != "sgd")
    faults.add("job", "optimizer '" + job.optimizer() + "' is not known; adamw and sgd are");
  if (job.precision().param() != pb::DTYPE_F32 && job.precision().param() != pb::DTYPE_BF16)
    faults.add("job", "parameters are " + std::string(nameOf(DType(job.precision().param()))) +
                          "; they can be f32 or bf16");
}

void verifyTensors(const pb::Plan &plan, Faults &faults) {
  std::set<std::string> names;
  for (int i = 0; i < plan.tensors_size(); ++i) {
    const pb::Tensor &tensor = plan.tensors(i);
    std::string place = placeOf("tensor", i, tensor.name());
    if (tensor.name().empty() || !names.insert(tensor.name()).second)
      faults.add(place, tensor.name().empty() ? "it has no name" : "another tensor has this name");
    if (tensor.dtype() != pb::DTYPE_F32 && tensor.dtype() != pb::DTYPE_BF16)
      faults.add(place, "its storage type is " + std::string(nameOf(DType(tensor.dtype()))) + "; f32 and bf16 are known");
    if (Result<CheckpointView> view = CheckpointView::of(tensor); !view)
      faults.add(place, view.error().message);
  }
}

void verifyChannelEnds(const pb::Plan &plan, Faults &faults) {
  for (int i = 0; i < plan.channels_size(); ++i) {
    const pb::Channel &channel = plan.channels(i);
    std::string place = placeOf("channel", i, channel.name());
    bool isSound = true;
    for (const pb::RankSet *set : {&channel.from(), &channel.to()})
      if (Status status = checkRankSet(*set, plan.world_size()); !status) {
        faults.add(place, status.error().message);
        isSound = false;
      }
    if (!isSound)
      continue;
    uint64_t size = sizeOf(channel.from());
    if (size != sizeOf(channel.to()))
      faults.add(place, std::to_string(size) + " senders and " + std::to_string(sizeOf(channel.to())) + " receivers");
    for (uint64_t k = 0; k < size && size == sizeOf(channel.to()); ++k)
      if (rankAt(channel.from(), k) == rankAt(channel.to(), k)) {
        faults.add(place, "rank " + std::to_string(*rankAt(channel.from(), k)) + " would send to itself");
        break;
      }
  }
}

void verifyPointwise(const pb::Plan &plan, Faults &faults) {
  for (int i = 0; i < plan.pointwise_size(); ++i) {
    const pb::PointwiseProgram &program = plan.pointwise(i);
    std::string place = placeOf("pointwise program", i, program.name());
    uint64_t defined = program.inputs_size();
    for (int j = 0; j < program.instrs_size(); ++j, ++defined) {
      const pb::PointwiseInstr &instr = program.instrs(j);
      auto op = static_cast<PointwiseOp>(instr.op());
      std::string at = place + ", instruction " + std::to_string(j);
      unsigned arity = pointwiseArity(op);
      int immediates = op == PointwiseOp::Axpby || op == PointwiseOp::ScaleAdd ? 2 : 0;
      if (!arity)
        faults.add(at, "operation " + std::to_string(instr.op()) + " is not known");
      else if (instr.operands_size() != int(arity) || instr.immediates_size() != immediates)
        faults.add(at, std::string(pointwiseOpName(op)) + " takes " + std::to_string(arity) + " operands and " +
                           std::to_string(immediates) + " immediates");
      for (uint32_t operand : instr.operands())
        faults.checkIndex(at, "operand", operand, defined);
    }
    for (uint32_t output : program.outputs())
      faults.checkIndex(place, "output", output, defined);
  }
}

} // namespace

void verifyTables(const pb::Plan &plan, Faults &faults) {
  if (plan.world_size() == 0 || plan.world_size() > kMaxRanks) {
    faults.add("plan", "world size " + std::to_string(plan.world_size()) + " is not between 1 and " +
                           std::to_string(kMaxRanks));
    return;
  }
  verifyJob(plan.job(), faults);
  verifyTensors(plan, faults);
  for (const pb::GroupFamily &family : plan.families())
    faults.add(checkFamily(family, plan.world_size()));
  verifyChannelEnds(plan, faults);
  for (int i = 0; i < plan.works_size(); ++i) {
    const pb::Work &work = plan.works(i);
    std::string place = placeOf("work", i, "");
    if (work.kernel() == 0 || kernelName(static_cast<Kernel>(work.kernel())) == "?")
      faults.add(place, "kernel " + std::to_string(work.kernel()) + " is not known");
    for (double value : {work.flops(), work.bytes_read(), work.bytes_written()})
      if (!(value >= 0) || std::isinf(value))
        faults.add(place, "flops and bytes must be finite and not negative");
  }
  verifyPointwise(plan, faults);
}

} // namespace plait
