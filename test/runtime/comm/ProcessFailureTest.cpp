// Ranks that die or stop in the middle of their calls: the survivors' calls return by their deadline and name them.
#include "runtime/comm/shm/ShmCommunicator.h"
#include "runtime/conformance/Conformance.h"
#include <catch2/catch.hpp>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace plait;
using namespace std::chrono_literals;

namespace {

constexpr uint32_t kWorld = 4, kVictim = 2;

/// All-reduces until one fails; each call has two seconds.
std::string reduceForever(Communicator &communicator, ShmSegment &segment) {
  CommGroup group = groupOf(1, "dp", {0, 1, 2, 3}, communicator.rank());
  std::vector<float> data(1000, 1.f);
  for (int step = 0;; ++step) {
    segment.reportTask(communicator.rank(), "step " + std::to_string(step));
    CollectiveCall call;
    call.kind = pb::COLLECTIVE_ALL_REDUCE;
    call.group = &group;
    call.in = call.out = data.data();
    call.elements = data.size();
    call.reduce = pb::REDUCE_MAX;
    Status status = communicator.run({&call, 1}, {}, Communicator::Clock::now() + 2s);
    if (!status)
      return status.error().message;
  }
}

struct Ranks {
  std::unique_ptr<ShmSegment> segment;
  std::vector<pid_t> pids;
  std::vector<int> pipes;
};

Ranks start() {
  Ranks ranks{std::move(*ShmSegment::create(kWorld, 4096)), {}, {}};
  for (uint32_t rank = 0; rank < kWorld; ++rank) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0) {
      std::shared_ptr<ShmSegment> segment = std::move(*ShmSegment::attach(ranks.segment->fd()));
      std::string text = reduceForever(*makeShmCommunicator(segment, rank), *segment);
      _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    close(ends[1]);
    ranks.pids.push_back(pid);
    ranks.pipes.push_back(ends[0]);
  }
  // In the middle of the loop, wherever that is.
  for (int i = 0; i < 2000 && ranks.segment->progress(kVictim) < 50; ++i)
    std::this_thread::sleep_for(5ms);
  REQUIRE(ranks.segment->progress(kVictim) >= 50);
  return ranks;
}

std::string finish(Ranks &ranks, uint32_t rank) {
  char text[2048];
  ssize_t got = read(ranks.pipes[rank], text, sizeof text);
  close(ranks.pipes[rank]);
  waitpid(ranks.pids[rank], nullptr, 0);
  return std::string(text, static_cast<size_t>(std::max<ssize_t>(got, 0)));
}

void checkSurvivors(Ranks &ranks, const std::string &expected) {
  auto begin = Communicator::Clock::now();
  for (uint32_t rank = 0; rank < kWorld; ++rank)
    if (rank != kVictim) {
      std::string text = finish(ranks, rank);
      INFO("rank " << rank << ": " << text);
      CHECK(text.find(expected) != std::string::npos);
    }
  CHECK(Communicator::Clock::now() - begin < 20s);
}

} // namespace

TEST_CASE("a killed rank is named by the survivors") {
  Ranks ranks = start();
  kill(ranks.pids[kVictim], SIGKILL);
  checkSurvivors(ranks, "of group \"dp\": the deadline passed without rank 2; rank 2 was last in task step ");
  finish(ranks, kVictim);
}

TEST_CASE("a stopped rank is named by the survivors and learns that the epoch ended") {
  Ranks ranks = start();
  kill(ranks.pids[kVictim], SIGSTOP);
  checkSurvivors(ranks, "the deadline passed without rank 2");
  kill(ranks.pids[kVictim], SIGCONT);
  CHECK(finish(ranks, kVictim).find("aborted by rank ") != std::string::npos);
}

TEST_CASE("an abort by the launcher reaches every rank at once") {
  Ranks ranks = start();
  kill(ranks.pids[kVictim], SIGKILL);
  waitpid(ranks.pids[kVictim], nullptr, 0);
  auto begin = Communicator::Clock::now();
  ranks.segment->abort(ShmSegment::kLauncher, "rank 2 was killed by signal 9");
  checkSurvivors(ranks, "aborted by the launcher: rank 2 was killed by signal 9");
  CHECK(Communicator::Clock::now() - begin < 1s);
}
