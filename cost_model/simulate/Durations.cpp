#include "cost_model/simulate/Durations.h"
#include "cost_model/compute/Kernels.h"

namespace plait {

std::string categoryName(uint32_t category) {
  switch (category) {
  case CategoryCopies: return "compute copies";
  case CategoryTensorCollectives: return "tp collectives";
  case CategoryAxisCollectives: return "other axis collectives";
  case CategoryZero: return "zero";
  case CategoryLoad: return "load";
  case CategoryTransfer: return "boundary transfers";
  case CategoryGradSync: return "gradient sync";
  case CategoryVote: return "vote";
  case CategoryApply: return "optimizer";
  case CategoryParamGather: return "parameter gather";
  case CategoryIdle: return "idle";
  default: return "compute " + std::string(kernelName(Kernel(category)));
  }
}

uint32_t Durations::categoryOf(pb::TaskKind kind) {
  switch (kind) {
  case pb::TASK_LOAD: return CategoryLoad;
  case pb::TASK_TRANSFER: return CategoryTransfer;
  case pb::TASK_GRAD_SYNC: return CategoryGradSync;
  case pb::TASK_VOTE: return CategoryVote;
  case pb::TASK_APPLY: return CategoryApply;
  case pb::TASK_PARAM_GATHER: return CategoryParamGather;
  default: return CategoryZero;
  }
}

static double bytesOfRef(const pb::Ref &ref) {
  double bytes = double(bytesOf(DType(ref.dtype())));
  for (int64_t extent : ref.shape())
    bytes *= double(extent);
  return bytes;
}

static CommKind kindOf(pb::CollectiveKind kind) {
  switch (kind) {
  case pb::COLLECTIVE_ALL_GATHER: return CommKind::AllGather;
  case pb::COLLECTIVE_REDUCE_SCATTER: return CommKind::ReduceScatter;
  case pb::COLLECTIVE_BROADCAST: return CommKind::Broadcast;
  default: return CommKind::AllReduce;
  }
}

static Work workOfPlan(const pb::Work &work) {
  Work result;
  result.kernel = Kernel(work.kernel());
  result.dims.assign(work.dims().begin(), work.dims().end());
  result.dtype = DType(work.dtype());
  result.flops = work.flops();
  result.bytesRead = work.bytes_read();
  result.bytesWritten = work.bytes_written();
  return result;
}

Durations::Durations(const pb::Plan &plan, const RankClasses &classes, uint32_t rankClass, bool merge)
    : plan(plan), classes(classes), self(classes.classes[rankClass]), role(plan.roles(int(self.role))), merge(merge),
      routines(size_t(plan.routines_size())), known(size_t(plan.routines_size())) {}

RoutinePiece Durations::piece(const pb::Instr &instr) const {
  RoutinePiece piece;
  piece.origin = &instr.origin();
  uint32_t category = CategoryCopies;
  if (instr.has_launch()) {
    piece.seconds = kernelSeconds(workOfPlan(plan.works(int(instr.launch().work()))), *self.device);
    category = std::min(instr.launch().kernel(), uint32_t(CategoryCopies - 1));
  } else if (instr.has_zero()) {
    piece.seconds = memorySeconds(bytesOfRef(instr.zero()), *self.device);
  } else if (instr.has_copy()) {
    piece.seconds = memorySeconds(bytesOfRef(instr.copy().from()) + bytesOfRef(instr.copy().to()), *self.device);
  }
  for (const pb::Collective &collective : instr.batch().collectives()) {
    bool gather = collective.kind() == pb::COLLECTIVE_ALL_GATHER;
    piece.collectives.push_back({self.axisGroups[collective.axis()], kindOf(collective.kind()),
                                 bytesOfRef(gather ? collective.out() : collective.in()),
                                 collective.axis() == 0 ? CategoryTensorCollectives : CategoryAxisCollectives});
  }
  if (piece.collectives.empty())
    piece.categories = {{category, piece.seconds}};
  return piece;
}

const std::vector<RoutinePiece> &Durations::routine(uint32_t index) {
  std::vector<RoutinePiece> &pieces = routines[index];
  if (known[index])
    return pieces;
  known[index] = true;
  for (const pb::Instr &instr : plan.routines(int(index)).instrs()) {
    RoutinePiece next = piece(instr);
    bool join = merge && !pieces.empty() && pieces.back().collectives.empty() && next.collectives.empty();
    if (!join) {
      pieces.push_back(std::move(next));
      continue;
    }
    pieces.back().seconds += next.seconds;
    pieces.back().categories.insert(pieces.back().categories.end(), next.categories.begin(), next.categories.end());
  }
  return pieces;
}

/// Elements that this class updates.
uint64_t Durations::ownedElements() const {
  uint64_t owned = 0;
  for (const pb::SyncPart &part : role.sync_parts()) {
    const pb::Sync &sync = plan.syncs(int(part.sync()));
    uint64_t most = sync.sharded() ? 0 : sync.elements();
    for (int i = 1; i < sync.cuts_size(); ++i)
      most = std::max(most, sync.cuts(i) - sync.cuts(i - 1));
    owned += most;
  }
  return owned;
}

Durations::Simple Durations::task(const pb::Task &task) const {
  const pb::Precision &precision = plan.job().precision();
  auto bytesFor = [](pb::DType type) { return double(bytesOf(DType(type))); };
  auto space = [&](pb::Space space) { return space < role.space_bytes_size() ? double(role.space_bytes(space)) : 0.0; };
  auto sync = [&](bool gather) -> std::vector<PostedCollective> {
    const pb::Sync &data = plan.syncs(int(task.sync()));
    if (gather && !data.sharded())
      return {};
    CommKind kind = gather ? CommKind::AllGather : data.sharded() ? CommKind::ReduceScatter : CommKind::AllReduce;
    double bytes = double(data.elements()) * bytesFor(gather ? precision.param() : precision.reduce());
    return {{self.syncGroups.at(task.sync()), kind, bytes, categoryOf(task.kind())}};
  };
  double owned = double(ownedElements());
  switch (task.kind()) {
  case pb::TASK_ZERO: return {memorySeconds(space(pb::SPACE_GRAD), *self.device), {}};
  case pb::TASK_LOAD:
    return {memorySeconds(16.0 * double(plan.job().seq_len() * plan.job().micro_batch()), *self.device), {}};
  case pb::TASK_GRAD_SYNC: return {0, sync(false)};
  case pb::TASK_PARAM_GATHER: return {0, sync(true)};
  case pb::TASK_VOTE:
    return {memorySeconds(owned * bytesFor(precision.grad()), *self.device),
            {{classes.worldGroup, CommKind::AllReduce, 24, CategoryVote}}};
  case pb::TASK_APPLY: {
    bool adam = plan.job().optimizer() == "adamw", apart = precision.param() != precision.master();
    double touched = bytesFor(precision.grad()) + 2 * bytesFor(precision.master()) +
                     (adam ? 4 * bytesFor(precision.moments()) : 0) + (apart ? bytesFor(precision.param()) : 0);
    return {memorySeconds(owned * touched, *self.device), {}};
  }
  default: return {};
  }
}

} // namespace plait
