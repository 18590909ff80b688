// The conformance suite on ranks that are threads.
#include "runtime/conformance/Conformance.h"
#include <catch2/catch.hpp>

using namespace plait;

static void conforms(const World &world) {
  for (const ConformanceCase &testCase : conformanceCases()) {
    DYNAMIC_SECTION(world.name << ": " << testCase.name) {
      for (const std::string &failure : testCase.failures(world))
        FAIL_CHECK(failure);
      SUCCEED();
    }
  }
}

TEST_CASE("the reference conforms") { conforms(referenceThreads()); }
// Small windows, so that the large cases need many chunks.
TEST_CASE("shm between threads conforms") { conforms(shmThreads(1 << 18, 4096)); }
TEST_CASE("shm between threads conforms with ordinary windows") { conforms(shmThreads(1 << 18, 1 << 20)); }
