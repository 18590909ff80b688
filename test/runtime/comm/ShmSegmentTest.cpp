// The segment: sizes, attaching to descriptors that hold none, the abort cause, tasks.
#include "runtime/comm/shm/ShmCommunicator.h"
#include <catch2/catch.hpp>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace plait;

TEST_CASE("sizes out of range are refused") {
  for (uint32_t world : {0u, ShmSegment::kMaxWorldSize + 1}) {
    auto segment = ShmSegment::create(world, 4096);
    REQUIRE(!segment);
    CHECK(segment.error().code == ExitCode::Usage);
    CHECK(segment.error().message.find("1 to 1024 ranks") != std::string::npos);
  }
  auto huge = ShmSegment::create(2, uint64_t{1} << 50);
  REQUIRE(!huge);
  CHECK(huge.error().message.find("exceeds 1 TiB") != std::string::npos);
  CHECK(!ShmSegment::create(2, 4096, 100));
}

TEST_CASE("attach sees the creator's memory and refuses anything else") {
  auto segment = ShmSegment::create(3, 5000);
  REQUIRE(segment);
  CHECK((*segment)->arenaBytes() == 8192);
  std::strcpy(static_cast<char *>((*segment)->arena(2)), "of rank 2");
  auto other = ShmSegment::attach((*segment)->fd());
  REQUIRE(other);
  CHECK((*other)->worldSize() == 3);
  CHECK(std::string(static_cast<char *>((*other)->arena(2))) == "of rank 2");
  CHECK((*other)->arena(2) != (*segment)->arena(2));

  int null = open("/dev/null", O_RDWR);
  int unsealed = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  REQUIRE(ftruncate(unsealed, 1 << 16) == 0);
  int foreign = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  REQUIRE(ftruncate(foreign, 1 << 16) == 0);
  REQUIRE(fcntl(foreign, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  for (int fd : {-1, null, unsealed, foreign}) {
    auto refused = ShmSegment::attach(fd);
    REQUIRE(!refused);
    CHECK(refused.error().code == ExitCode::Usage);
    CHECK(refused.error().message ==
          "shared memory: descriptor " + std::to_string(fd) + " does not hold a segment of this version");
  }
  for (int fd : {null, unsealed, foreign})
    close(fd);
}

TEST_CASE("nobody can shrink the segment under the others") {
  auto segment = ShmSegment::create(2, 4096);
  REQUIRE(segment);
  CHECK(ftruncate((*segment)->fd(), 0) != 0);
}

TEST_CASE("the first abort cause stays, and long ones are cut") {
  auto segment = ShmSegment::create(2, 4096);
  REQUIRE(segment);
  CHECK((*segment)->abortText().empty());
  CHECK((*segment)->abort(1, "first"));
  CHECK(!(*segment)->abort(0, "second"));
  CHECK((*segment)->abortText() == "aborted by rank 1: first");
  auto other = ShmSegment::create(2, 4096);
  REQUIRE(other);
  CHECK((*other)->abort(ShmSegment::kLauncher, std::string(5000, 'x')));
  CHECK((*other)->abortText() == "aborted by the launcher: " + std::string(1023, 'x'));
}

TEST_CASE("arenas are handed out until they are full") {
  std::shared_ptr<ShmSegment> segment = std::move(*ShmSegment::create(2, 8192));
  auto communicator = makeShmCommunicator(segment, 1);
  char *first = static_cast<char *>(communicator->arena(100)), *second = static_cast<char *>(communicator->arena(8064));
  CHECK(first == segment->arena(1));
  CHECK(second == first + 128);
  CHECK(communicator->arena(1) == nullptr);
  CHECK(communicator->arena(~uint64_t{0}) == nullptr);
}

TEST_CASE("a later communicator of a rank continues its sequences") {
  std::shared_ptr<ShmSegment> segment = std::move(*ShmSegment::create(1, 4096));
  for (int i = 0; i < 3; ++i) {
    auto communicator = makeShmCommunicator(segment, 0);
    char out[8] = "1234567", in[8] = {};
    P2pCall calls[2] = {{true, 0, out, 8, ""}, {false, 0, in, 8, ""}};
    CommGroup group{4, "self", {0}, 0};
    int32_t value = 5;
    CollectiveCall call;
    call.kind = pb::COLLECTIVE_ALL_REDUCE;
    call.group = &group;
    call.in = call.out = &value;
    call.elements = 1;
    call.dtype = DType::I32;
    call.reduce = pb::REDUCE_SUM;
    Status status = communicator->run({&call, 1}, calls, Communicator::Clock::now() + std::chrono::seconds(10));
    REQUIRE(status);
    CHECK(std::string(in) == "1234567");
    CHECK(value == 5);
  }
}

TEST_CASE("one id for two groups of a rank is refused") {
  std::shared_ptr<ShmSegment> segment = std::move(*ShmSegment::create(2, 4096));
  auto communicator = makeShmCommunicator(segment, 0);
  CommGroup alone{4, "alone", {0}, 0}, both{4, "both", {0, 1}, 0};
  float value = 1;
  CollectiveCall call;
  call.kind = pb::COLLECTIVE_ALL_REDUCE;
  call.in = call.out = &value;
  call.elements = 1;
  call.reduce = pb::REDUCE_SUM;
  call.group = &alone;
  auto deadline = Communicator::Clock::now() + std::chrono::seconds(10);
  REQUIRE(communicator->run({&call, 1}, {}, deadline));
  call.group = &both;
  Status status = communicator->run({&call, 1}, {}, deadline);
  REQUIRE(!status);
  CHECK(status.error().message ==
        "group \"both\": id 4 was used before with other ranks; ids must be distinct");
}

TEST_CASE("the launcher sees tasks and progress") {
  auto segment = ShmSegment::create(2, 4096);
  REQUIRE(segment);
  CHECK((*segment)->progress(1) == 0);
  (*segment)->reportTask(1, "step 3 APPLY");
  CHECK((*segment)->progress(1) == 1);
  CHECK((*segment)->progress(0) == 0);
  CHECK((*segment)->lastTask(1) == "step 3 APPLY");
  CHECK((*segment)->waitingIn(1).empty());
}
