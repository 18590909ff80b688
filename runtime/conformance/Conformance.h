// The conformance suite of communicators: what the interface promises, written once and run on every backend. A case
// returns what is wrong, one line each; nothing if the world conforms.
#ifndef PLAIT_RUNTIME_CONFORMANCE_CONFORMANCE_H
#define PLAIT_RUNTIME_CONFORMANCE_CONFORMANCE_H

#include "runtime/conformance/Worlds.h"

namespace plait {

struct ConformanceCase {
  std::string name;
  std::function<std::vector<std::string>(const World &world)> failures;
};

/// All cases, in a fixed order.
std::vector<ConformanceCase> conformanceCases();

// The parts that the suite is made of.
void addCollectiveCases(std::vector<ConformanceCase> &cases);
void addP2pCases(std::vector<ConformanceCase> &cases);
void addFailureCases(std::vector<ConformanceCase> &cases);
void addRandomPrograms(std::vector<ConformanceCase> &cases);

/// Runs a body that returns its complaints, one a line, and joins those of all ranks.
std::vector<std::string> complaintsOf(const World &world, uint32_t worldSize, const RankBody &body);

/// The group of `ranks` as `rank` sees it; `rank` must be a member.
CommGroup groupOf(uint32_t id, const std::string &name, const std::vector<uint32_t> &ranks, uint32_t rank);

/// A time that no call of a healthy world needs, on a machine with more ranks than cores.
Communicator::Clock::time_point farDeadline();

} // namespace plait

#endif
