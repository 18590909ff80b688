// Worlds of ranks to run a test body on: threads or processes, each with its communicator.
#ifndef PLAIT_RUNTIME_CONFORMANCE_WORLDS_H
#define PLAIT_RUNTIME_CONFORMANCE_WORLDS_H

#include "runtime/comm/Communicator.h"
#include <functional>

namespace plait {

/// What one rank does; the text (any bytes) it returns goes back to the caller of the world.
using RankBody = std::function<std::string(Communicator &)>;

/// A way to run a body on `worldSize` fresh ranks; returns the texts in rank order. A rank that does not end by itself
/// returns a text that begins with "lost: ".
struct World {
  std::string name;
  std::function<std::vector<std::string>(uint32_t worldSize, const RankBody &body)> run;
};

World referenceThreads();
World shmThreads(uint64_t arenaBytes, uint64_t windowBytes);
/// Forks; the calling process must have one thread.
World shmProcesses(uint64_t arenaBytes, uint64_t windowBytes);

} // namespace plait

#endif
