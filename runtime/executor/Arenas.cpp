#include "runtime/executor/Arenas.h"
#include <algorithm>

namespace plait {

Arenas::Arenas(Arenas &&other) noexcept
    : backend(other.backend), areas(other.areas), frameClasses(std::move(other.frameClasses)) {
  other.areas = {};
}

Arenas::~Arenas() {
  for (Area &area : areas)
    if (area.owned)
      backend->release(area.memory, area.bytes);
}

namespace {

/// What no step carries over to the next. It is taken from the communicator where that has memory, so that peers read
/// and write it in place; the smallest first.
constexpr pb::Space kTransient[] = {pb::SPACE_CONTROL, pb::SPACE_COMM, pb::SPACE_SCRATCH, pb::SPACE_FRAME};

} // namespace

Status Arenas::takePrivate(pb::Space space, uint64_t bytes) {
  if (bytes == 0)
    return success();
  Result<void *> memory = backend->allocate(bytes);
  if (!memory)
    return Error{memory.error().code, "arena " + pb::Space_Name(space) + ": " + memory.error().message};
  areas[space] = {static_cast<std::byte *>(*memory), bytes, true};
  return success();
}

Status Arenas::takeShared(pb::Space space, uint64_t bytes, Communicator &communicator) {
  void *memory = bytes ? communicator.arena(bytes) : nullptr;
  if (!memory)
    return takePrivate(space, bytes);
  areas[space] = {static_cast<std::byte *>(memory), bytes, false};
  return success();
}

Status Arenas::moveTo(Communicator &communicator) {
  for (pb::Space space : kTransient) {
    const Area old = areas[space];
    areas[space] = {};
    if (old.owned)
      backend->release(old.memory, old.bytes);
    if (Status taken = takeShared(space, old.bytes, communicator); !taken)
      return taken;
  }
  return success();
}

Result<Arenas> Arenas::allocate(const pb::Role &role, Backend &backend, Communicator &communicator) {
  Arenas arenas(backend);
  auto bytesOfSpace = [&](pb::Space space) -> uint64_t {
    const uint64_t bytes = space < role.space_bytes_size() ? role.space_bytes(space) : 0;
    return space == pb::SPACE_CONTROL ? std::max(bytes, ControlLayout::Bytes) : bytes;
  };
  uint64_t frameBytes = 0;
  for (const pb::FrameClass &frames : role.frames()) {
    arenas.frameClasses.push_back({frameBytes, frames.bytes()});
    frameBytes += frames.bytes() * frames.count();
  }
  if (frameBytes > bytesOfSpace(pb::SPACE_FRAME))
    return Error{ExitCode::CheckFailed, "role '" + role.name() + "': its frames need " + std::to_string(frameBytes) +
                                            " bytes, its FRAME space has " +
                                            std::to_string(bytesOfSpace(pb::SPACE_FRAME))};
  for (pb::Space space : {pb::SPACE_PARAM, pb::SPACE_GRAD, pb::SPACE_OPTIMIZER})
    if (Status taken = arenas.takePrivate(space, bytesOfSpace(space)); !taken)
      return taken.error();
  for (pb::Space space : kTransient)
    if (Status taken = arenas.takeShared(space, bytesOfSpace(space), communicator); !taken)
      return taken.error();
  return arenas;
}

} // namespace plait
