// Gradient synchronisation and parameter gathering of one rank: the parts of its role, each with its group. A part whose
// pieces are one run of the arena is communicated in place, any other is packed into the COMM area of the part.
#ifndef PLAIT_RUNTIME_EXECUTOR_GRADIENTSYNC_H
#define PLAIT_RUNTIME_EXECUTOR_GRADIENTSYNC_H

#include "runtime/executor/Arenas.h"
#include "runtime/executor/Spans.h"

namespace plait {

class GradientSync {
public:
  /// `plan` and `arenas` outlive the result. Errors name the sync and what does not fit.
  static Result<GradientSync> create(const pb::Plan &plan, const RankPlace &place, const Arenas &arenas);

  /// Contributors -> owners: afterwards the gradient arena of an owner holds the sums of what it owns.
  Status reduce(uint32_t sync, Communicator &communicator, Communicator::Clock::time_point deadline);
  /// Owners -> holders: afterwards every member holds all parameters of the sync. Nothing moves where all own all.
  Status gather(uint32_t sync, Communicator &communicator, Communicator::Clock::time_point deadline);

  /// Elements that this rank updates, sorted by arena offset.
  const std::vector<OwnedRun> &runs() const { return owned; }
  /// Optimizer state of a part, in elements owned of it.
  struct State {
    float *master = nullptr; ///< null where parameters are f32, and then their own master
    float *moment1 = nullptr, *moment2 = nullptr;
  };
  const State &state(uint32_t part) const { return parts[part].state; }

private:
  struct Part {
    const pb::Sync *sync = nullptr;
    const pb::SyncPart *pieces = nullptr;
    CommGroup group;
    std::vector<int64_t> counts; ///< elements of each member, empty if not sharded
    FlatRange owned;
    bool silent = false, contiguous = false;
    State state;
  };
  GradientSync(const Arenas &arenas, DType paramType) : arenas(&arenas), paramType(paramType) {}
  static Result<Part> makePart(const pb::Plan &plan, const RankPlace &place, const pb::SyncPart &pieces);
  Status bindState(const pb::Plan &plan, Part &part) const;
  Part *find(uint32_t sync);
  Status communicate(const Part &part, pb::CollectiveKind kind, std::byte *buffer, DType type,
                     Communicator &communicator, Communicator::Clock::time_point deadline) const;
  std::byte *pack(const Part &part, std::byte *arena, uint64_t elementBytes, FlatRange range) const;
  void unpack(const Part &part, std::byte *arena, uint64_t elementBytes, FlatRange range) const;

  const Arenas *arenas;
  DType paramType;
  std::vector<Part> parts;
  std::vector<OwnedRun> owned;
};

} // namespace plait

#endif
