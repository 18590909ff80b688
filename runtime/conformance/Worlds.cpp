#include "runtime/conformance/Worlds.h"
#include "runtime/comm/shm/ShmCommunicator.h"
#include "runtime/reference/ReferenceWorld.h"
#include <csignal>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace plait {

using MakeCommunicator = std::function<std::unique_ptr<Communicator>(uint32_t rank)>;

static std::vector<std::string> runThreads(uint32_t worldSize, const RankBody &body, const MakeCommunicator &make) {
  std::vector<std::string> texts(worldSize);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < worldSize; ++rank)
    threads.emplace_back([&, rank] { texts[rank] = body(*make(rank)); });
  for (std::thread &thread : threads)
    thread.join();
  return texts;
}

World referenceThreads() {
  return {"reference threads", [](uint32_t worldSize, const RankBody &body) {
            ReferenceWorld world(worldSize);
            return runThreads(worldSize, body, [&](uint32_t rank) { return world.communicator(rank); });
          }};
}

World shmThreads(uint64_t arenaBytes, uint64_t windowBytes) {
  return {"shm threads", [=](uint32_t worldSize, const RankBody &body) -> std::vector<std::string> {
            auto segment = ShmSegment::create(worldSize, arenaBytes, windowBytes);
            if (!segment)
              return std::vector<std::string>(worldSize, "lost: " + segment.error().message);
            std::shared_ptr<ShmSegment> shared = std::move(*segment);
            return runThreads(worldSize, body, [&](uint32_t rank) { return makeShmCommunicator(shared, rank); });
          }};
}

namespace {
struct Child {
  pid_t pid = -1;
  int pipe = -1;
};
} // namespace

/// In the child: attaches as a worker would, runs the body, writes its text, and never returns.
[[noreturn]] static void runChild(int segmentFd, uint32_t rank, const RankBody &body, int pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string text;
  {
    auto segment = ShmSegment::attach(segmentFd);
    text = segment ? body(*makeShmCommunicator(std::move(*segment), rank)) : "lost: " + segment.error().message;
  }
  for (size_t done = 0; done < text.size();) {
    ssize_t written = write(pipe, text.data() + done, text.size() - done);
    if (written <= 0)
      break;
    done += static_cast<size_t>(written);
  }
  _exit(0);
}

/// Reads the child's text to the end of the pipe; false if the child did not end by `until`.
static bool readAll(int pipe, std::string &text, Communicator::Clock::time_point until) {
  char buffer[4096];
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Communicator::Clock::now()).count();
    pollfd poll{pipe, POLLIN, 0};
    if (left <= 0 || ::poll(&poll, 1, static_cast<int>(left)) <= 0)
      return false;
    ssize_t got = read(pipe, buffer, sizeof buffer);
    if (got <= 0)
      return got == 0;
    text.append(buffer, static_cast<size_t>(got));
  }
}

static std::vector<std::string> runProcesses(const ShmSegment &segment, const RankBody &body) {
  constexpr std::chrono::seconds kPatience{120};
  std::vector<Child> children;
  for (uint32_t rank = 0; rank < segment.worldSize(); ++rank) {
    int ends[2];
    if (pipe(ends) != 0)
      break;
    pid_t pid = fork();
    if (pid == 0) {
      close(ends[0]);
      runChild(segment.fd(), rank, body, ends[1]);
    }
    close(ends[1]);
    children.push_back({pid, ends[0]});
  }
  std::vector<std::string> texts(segment.worldSize(), "lost: not started");
  auto until = Communicator::Clock::now() + kPatience;
  for (size_t rank = 0; rank < children.size(); ++rank) {
    Child &child = children[rank];
    texts[rank].clear();
    bool ended = child.pid > 0 && readAll(child.pipe, texts[rank], until);
    if (!ended && child.pid > 0)
      kill(child.pid, SIGKILL);
    int status = 0;
    if (child.pid > 0)
      waitpid(child.pid, &status, 0);
    if (!ended || !WIFEXITED(status))
      texts[rank] = "lost: rank " + std::to_string(rank) + (ended ? " was killed" : " did not end");
    close(child.pipe);
  }
  return texts;
}

World shmProcesses(uint64_t arenaBytes, uint64_t windowBytes) {
  return {"shm processes", [=](uint32_t worldSize, const RankBody &body) -> std::vector<std::string> {
            auto segment = ShmSegment::create(worldSize, arenaBytes, windowBytes);
            if (!segment)
              return std::vector<std::string>(worldSize, "lost: " + segment.error().message);
            return runProcesses(**segment, body);
          }};
}

} // namespace plait
