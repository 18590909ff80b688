// The memory of one rank: one arena per space of its role, sized by the plan and allocated once.
#ifndef PLAIT_RUNTIME_EXECUTOR_ARENAS_H
#define PLAIT_RUNTIME_EXECUTOR_ARENAS_H

#include "runtime/backends/Backend.h"
#include "runtime/comm/Communicator.h"
#include <array>
#include <cstddef>

namespace plait {

/// Layout of the CONTROL arena, in bytes: what programs may bind to, and the executor's own scalars behind it.
struct ControlLayout {
  static constexpr uint64_t LossScale = 0; ///< f32, 1 / targets of the global batch
  static constexpr uint64_t LossSum = 4;   ///< f32, accumulated by the head
  static constexpr uint64_t Vote = 64;     ///< f64 scalars of the vote
  static constexpr uint64_t Bytes = 128;
};

class Arenas {
public:
  static Result<Arenas> allocate(const pb::Role &role, Backend &backend, Communicator &communicator);
  ~Arenas();
  Arenas(Arenas &&other) noexcept;
  Arenas(const Arenas &) = delete;
  Arenas &operator=(const Arenas &) = delete;
  Arenas &operator=(Arenas &&) = delete;

  std::byte *base(pb::Space space) const { return areas[space].memory; }
  uint64_t bytes(pb::Space space) const { return areas[space].bytes; }
  /// First byte of a frame. Frame classes lie one after another, in the order of the role.
  std::byte *frame(uint32_t frameClass, uint32_t frame) const {
    return base(pb::SPACE_FRAME) + frameClasses[frameClass].offset + frame * frameClasses[frameClass].bytes;
  }
  /// Takes the memory of a new communicator. The contents of every arena but PARAM, GRAD and OPTIMIZER are lost.
  Status moveTo(Communicator &communicator);

private:
  struct Area {
    std::byte *memory = nullptr;
    uint64_t bytes = 0;
    bool owned = false; ///< from the backend; else from the communicator
  };
  struct FramePlace {
    uint64_t offset = 0, bytes = 0;
  };
  explicit Arenas(Backend &backend) : backend(&backend) {}
  Status takePrivate(pb::Space space, uint64_t bytes);
  Status takeShared(pb::Space space, uint64_t bytes, Communicator &communicator);

  Backend *backend;
  std::array<Area, pb::Space_ARRAYSIZE> areas;
  std::vector<FramePlace> frameClasses;
};

} // namespace plait

#endif
