// Ranks as threads of one process, one lock, and a rendezvous per call: the last member to arrive computes everybody's
// result. Slow and obvious; the oracle that fast communicators are compared with, and the strictest: nothing is
// buffered, calls match by order only. Messages are those of the interface.
#ifndef PLAIT_RUNTIME_REFERENCE_REFERENCEWORLD_H
#define PLAIT_RUNTIME_REFERENCE_REFERENCEWORLD_H

#include "runtime/comm/Calls.h"
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

namespace plait {

class ReferenceWorld {
public:
  explicit ReferenceWorld(uint32_t worldSize) : size(worldSize) {}

  /// One per rank; the world must outlive it.
  std::unique_ptr<Communicator> communicator(uint32_t rank);

private:
  friend class ReferenceCommunicator;

  struct Arrival {
    uint32_t rank = 0;
    CollectiveCall call;
  };
  /// One collective call of one group, from its first arrival until every member has left.
  struct Meeting {
    std::vector<Arrival> arrivals;
    bool done = false;
  };
  /// One message of an ordered pair; a side is null until it arrives.
  struct Message {
    const P2pCall *send = nullptr, *receive = nullptr;
    bool done = false;
  };
  using MeetingKey = std::pair<uint32_t, uint32_t>;             ///< group id, sequence
  using MessageKey = std::tuple<uint32_t, uint32_t, uint32_t>;  ///< from, to, sequence

  void end(const std::string &cause, const std::string &byWhom);

  uint32_t size;
  std::mutex mutex;
  std::condition_variable changed;
  // A finished entry stays as a small record; tests are short.
  std::map<MeetingKey, Meeting> meetings;
  std::map<MessageKey, Message> messages;
  bool ended = false;
  std::string endedText;
};

} // namespace plait

#endif
