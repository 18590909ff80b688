// A worker for the launcher's tests: all-reduces once per step with all ranks, reports as a worker must, and in step 3
// the rank given does what it is told to.
//
//   scripted_worker PLAN STEPS [RANK ACTION]
#include "runtime/comm/shm/ShmCommunicator.h"
#include "runtime/launcher/WorkerEnvironment.h"
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

using namespace plait;
using namespace std::chrono_literals;

static int number(const char *variable) { return atoi(getenv(variable)); }

static void report(const std::string &line) {
  std::string text = line + "\n";
  if (write(number(kStatusFdVariable), text.data(), text.size()) < 0)
    _exit(1);
}

static int fail(int code, const std::string &message) {
  report("{\"event\":\"error\",\"message\":\"" + message + "\"}");
  return code;
}

/// What is left of the process after it: nothing to return for most.
static int act(const std::string &action, ShmSegment &segment, Communicator &communicator) {
  if (action == "die")
    raise(SIGKILL);
  if (action == "stop")
    raise(SIGSTOP);
  if (action == "hang")
    std::this_thread::sleep_for(60s);
  if (action == "garbage") {
    report("not an event");
    report("{\"event\":7}");
    report("[1,2");
    report("{\"event\":\"unknown\",\"step\":{}}");
    report("{\"event\":\"step\",\"step\":1e300,\"loss\":\"x\"}");
    report(std::string(200000, '{'));
  }
  if (action == "refuse")
    return fail(6, "no such device");
  if (action == "abort") {
    communicator.abort("loss is not a number");
    std::this_thread::sleep_for(100ms); // the others end first
    return fail(7, "loss is not a number");
  }
  if (action == "deaf") { // ends the epoch and never ends itself
    communicator.abort("half dead");
    std::this_thread::sleep_for(60s);
  }
  return 0;
}

int main(int argc, char **argv) {
  uint32_t rank = static_cast<uint32_t>(number(kRankVariable)), world = static_cast<uint32_t>(number(kWorldSizeVariable));
  int steps = atoi(argv[2]), actor = argc > 4 ? atoi(argv[3]) : -1;
  auto attached = ShmSegment::attach(number(kShmFdVariable));
  if (!attached)
    return fail(1, attached.error().message);
  std::shared_ptr<ShmSegment> segment = std::move(*attached);
  auto communicator = makeShmCommunicator(segment, rank);
  CommGroup group{1, "world", {}, rank};
  for (uint32_t i = 0; i < world; ++i)
    group.ranks.push_back(i);
  for (int step = 1; step <= steps; ++step) {
    segment->reportTask(rank, "step " + std::to_string(step) + " RUN");
    if (step == 3 && actor == static_cast<int>(rank))
      if (int code = act(argv[4], *segment, *communicator))
        return code;
    double loss = rank + 1;
    CollectiveCall call;
    call.kind = pb::COLLECTIVE_ALL_REDUCE;
    call.group = &group;
    call.in = call.out = &loss;
    call.elements = 1;
    call.dtype = DType::F64;
    call.reduce = pb::REDUCE_SUM;
    call.origin = "vote";
    if (step == 3 && argc > 4 && std::strcmp(argv[4], "all-wait") == 0) { // each for a message of the next rank
      P2pCall receive{false, (rank + 1) % world, &loss, 8, "boundary"};
      Status ended = communicator->run({}, {&receive, 1}, Communicator::Clock::now() + 30s);
      return fail(static_cast<int>(ended.error().code), ended.error().message);
    }
    Status status = communicator->run({&call, 1}, {}, Communicator::Clock::now() + 30s);
    if (!status)
      return fail(static_cast<int>(status.error().code), "step " + std::to_string(step) + ": " + status.error().message);
    if (rank == 0)
      report("{\"event\":\"step\",\"step\":" + std::to_string(step) + ",\"loss\":" + std::to_string(loss) +
             ",\"grad_norm\":null,\"tokens_per_s\":100,\"step_time_s\":0.5}");
  }
  return 0;
}
