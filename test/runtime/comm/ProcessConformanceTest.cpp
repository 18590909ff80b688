// The conformance suite on ranks that are processes.
#include "runtime/conformance/Conformance.h"
#include <catch2/catch.hpp>

using namespace plait;

TEST_CASE("shm between processes conforms") {
  World world = shmProcesses(1 << 18, 4096);
  for (const ConformanceCase &testCase : conformanceCases()) {
    DYNAMIC_SECTION(testCase.name) {
      for (const std::string &failure : testCase.failures(world))
        FAIL_CHECK(failure);
      SUCCEED();
    }
  }
}
