#include "runtime/executor/GradientSync.h"
#include <algorithm>
#include <cstring>

namespace plait {

Result<GradientSync::Part> GradientSync::makePart(const pb::Plan &plan, const RankPlace &place,
                                                  const pb::SyncPart &pieces) {
  const pb::Sync &sync = plan.syncs(int(pieces.sync()));
  const std::string where = "sync '" + sync.name() + "' of role '" + place.role().name() + "'";
  Part part;
  part.sync = &sync;
  part.pieces = &pieces;
  std::optional<RankGroup> group = groupOf(plan, sync.family(), place.rank());
  if (!group)
    return Error{ExitCode::CheckFailed,
                 where + ": rank " + std::to_string(place.rank()) + " is in no group of its family '" +
                     plan.families(int(sync.family())).name() + "'"};
  part.group = {group->id, std::move(group->name), std::move(group->ranks), group->index};
  const uint32_t members = uint32_t(part.group.ranks.size());
  if (sync.sharded() && sync.cuts_size() != int(members) + 1)
    return Error{ExitCode::CheckFailed, where + ": " + std::to_string(sync.cuts_size()) + " cuts for " +
                                            std::to_string(members) + " members, expected " +
                                            std::to_string(members + 1)};
  uint64_t elements = 0;
  for (const pb::Piece &piece : pieces.pieces())
    elements += piece.rows() * piece.row_elements();
  if (elements != sync.elements())
    return Error{ExitCode::CheckFailed, where + ": its pieces have " + std::to_string(elements) +
                                            " elements, the sync has " + std::to_string(sync.elements())};
  for (uint32_t m = 0; sync.sharded() && m < members; ++m)
    part.counts.push_back(int64_t(sync.cuts(int(m) + 1) - sync.cuts(int(m))));
  part.owned = ownedRange(sync, part.group.index);
  part.silent = std::find(sync.silent().begin(), sync.silent().end(), part.group.index) != sync.silent().end();
  uint64_t next = pieces.pieces_size() ? pieces.pieces(0).offset() : 0;
  part.contiguous = true;
  forEachRow(pieces, 0, elements, [&](const PieceRow &row) {
    part.contiguous &= row.local == next;
    next = row.local + row.count;
  });
  return part;
}

Status GradientSync::bindState(const pb::Plan &plan, Part &part) const {
  const uint64_t count = part.owned.end - part.owned.begin;
  const bool master = paramType != DType::F32, moments = plan.job().optimizer() != "sgd";
  const uint64_t bytes = count * sizeof(float) * (master + 2 * moments);
  if (bytes == 0)
    return success();
  if (part.pieces->optimizer_offset() + bytes > arenas->bytes(pb::SPACE_OPTIMIZER))
    return Error{ExitCode::CheckFailed, "sync '" + part.sync->name() + "': its optimizer state of " +
                                            std::to_string(bytes) + " bytes at " +
                                            std::to_string(part.pieces->optimizer_offset()) +
                                            " does not fit the OPTIMIZER space of " +
                                            std::to_string(arenas->bytes(pb::SPACE_OPTIMIZER))};
  float *next = reinterpret_cast<float *>(arenas->base(pb::SPACE_OPTIMIZER) + part.pieces->optimizer_offset());
  if (master) {
    part.state.master = next;
    next += count;
  }
  if (moments)
    part.state = {part.state.master, next, next + count};
  return success();
}

Result<GradientSync> GradientSync::create(const pb::Plan &plan, const RankPlace &place, const Arenas &arenas) {
  GradientSync result(arenas, DType(plan.job().precision().param()));
  std::vector<uint32_t> indices;
  for (const pb::SyncPart &pieces : place.role().sync_parts()) {
    Result<Part> part = makePart(plan, place, pieces);
    if (!part)
      return part.error();
    if (Status bound = result.bindState(plan, *part); !bound)
      return bound.error();
    indices.push_back(part->group.index);
    result.parts.push_back(std::move(*part));
  }
  result.owned = ownedRuns(plan, place.role(), indices);
  return result;
}

GradientSync::Part *GradientSync::find(uint32_t sync) {
  for (Part &part : parts)
    if (part.pieces->sync() == sync)
      return &part;
  return nullptr;
}

std::byte *GradientSync::pack(const Part &part, std::byte *arena, uint64_t elementBytes, FlatRange range) const {
  if (part.contiguous)
    return arena + part.pieces->pieces(0).offset() * elementBytes;
  std::byte *buffer = arenas->base(pb::SPACE_COMM) + part.pieces->comm_offset();
  forEachRow(*part.pieces, range.begin, range.end, [&](const PieceRow &row) {
    std::memcpy(buffer + row.flat * elementBytes, arena + row.local * elementBytes, row.count * elementBytes);
  });
  return buffer;
}

void GradientSync::unpack(const Part &part, std::byte *arena, uint64_t elementBytes, FlatRange range) const {
  if (part.contiguous)
    return;
  const std::byte *buffer = arenas->base(pb::SPACE_COMM) + part.pieces->comm_offset();
  forEachRow(*part.pieces, range.begin, range.end, [&](const PieceRow &row) {
    std::memcpy(arena + row.local * elementBytes, buffer + row.flat * elementBytes, row.count * elementBytes);
  });
}

Status GradientSync::communicate(const Part &part, pb::CollectiveKind kind, std::byte *buffer, DType type,
                                 Communicator &communicator, Communicator::Clock::time_point deadline) const {
  std::byte *own = buffer + part.owned.begin * uint64_t(bytesOf(type));
  CollectiveCall call;
  call.kind = kind;
  call.group = &part.group;
  call.in = kind == pb::COLLECTIVE_ALL_GATHER ? own : buffer;
  call.out = kind == pb::COLLECTIVE_REDUCE_SCATTER ? own : buffer;
  call.elements = part.sync->elements();
  call.dtype = type;
  call.reduce = kind == pb::COLLECTIVE_ALL_GATHER ? pb::REDUCE_NONE : pb::REDUCE_SUM;
  call.counts = part.counts;
  call.origin = part.sync->name().c_str();
  return communicator.run({&call, 1}, {}, deadline);
}

Status GradientSync::reduce(uint32_t sync, Communicator &communicator, Communicator::Clock::time_point deadline) {
  Part *part = find(sync);
  if (!part || part->group.ranks.size() < 2 || part->sync->elements() == 0)
    return success();
  std::byte *arena = arenas->base(pb::SPACE_GRAD);
  const FlatRange all{0, part->sync->elements()};
  if (part->silent)
    forEachRow(*part->pieces, all.begin, all.end, [&](const PieceRow &row) {
      std::memset(arena + row.local * sizeof(float), 0, row.count * sizeof(float));
    });
  std::byte *buffer = pack(*part, arena, sizeof(float), all);
  const pb::CollectiveKind kind =
      part->sync->sharded() ? pb::COLLECTIVE_REDUCE_SCATTER : pb::COLLECTIVE_ALL_REDUCE;
  if (Status done = communicate(*part, kind, buffer, DType::F32, communicator, deadline); !done)
    return done;
  unpack(*part, arena, sizeof(float), part->owned);
  return success();
}

Status GradientSync::gather(uint32_t sync, Communicator &communicator, Communicator::Clock::time_point deadline) {
  Part *part = find(sync);
  if (!part || !part->sync->sharded() || part->group.ranks.size() < 2 || part->sync->elements() == 0)
    return success();
  std::byte *arena = arenas->base(pb::SPACE_PARAM);
  const uint64_t elementBytes = uint64_t(bytesOf(paramType));
  std::byte *buffer = pack(*part, arena, elementBytes, part->owned);
  if (Status done = communicate(*part, pb::COLLECTIVE_ALL_GATHER, buffer, paramType, communicator, deadline); !done)
    return done;
  unpack(*part, arena, elementBytes, {0, part->sync->elements()});
  return success();
}

} // namespace plait
