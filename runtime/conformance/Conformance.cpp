#include "runtime/conformance/Conformance.h"
#include <algorithm>
#include <sstream>

namespace plait {

std::vector<ConformanceCase> conformanceCases() {
  std::vector<ConformanceCase> cases;
  addCollectiveCases(cases);
  addP2pCases(cases);
  addFailureCases(cases);
  addRandomPrograms(cases);
  return cases;
}

std::vector<std::string> complaintsOf(const World &world, uint32_t worldSize, const RankBody &body) {
  std::vector<std::string> complaints;
  std::vector<std::string> texts = world.run(worldSize, body);
  for (uint32_t rank = 0; rank < worldSize; ++rank) {
    std::istringstream lines(texts[rank]);
    for (std::string line; std::getline(lines, line);)
      complaints.push_back("rank " + std::to_string(rank) + ": " + line);
  }
  return complaints;
}

CommGroup groupOf(uint32_t id, const std::string &name, const std::vector<uint32_t> &ranks, uint32_t rank) {
  auto at = std::find(ranks.begin(), ranks.end(), rank);
  return {id, name, ranks, static_cast<uint32_t>(at - ranks.begin())};
}

Communicator::Clock::time_point farDeadline() { return Communicator::Clock::now() + std::chrono::seconds(60); }

} // namespace plait
