#include "cost_model/simulate/Engine.h"
#include <algorithm>
#include <map>

namespace plait {

namespace {

/// One direction between two lanes: the k-th send meets the k-th receive.
struct Wire {
  struct End {
    size_t item;
    double posted;
  };
  std::vector<End> sends, receives;
  size_t matched = 0;
};

class Engine {
public:
  Engine(std::span<const EngineLane> lanes, const EngineCosts &costs)
      : lanes(lanes), costs(costs), at(lanes.size()), open(lanes.size()), clock(lanes.size()), times(lanes.size()) {
    for (size_t lane = 0; lane < lanes.size(); ++lane)
      index[{lanes[lane].replica, lanes[lane].stage}] = lane;
  }

  std::vector<LaneTimes> run() {
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      times[lane].start.assign(lanes[lane].items.size(), 0);
      times[lane].end.assign(lanes[lane].items.size(), 0);
      ready.push_back(lane);
    }
    while (!ready.empty()) {
      size_t lane = ready.back();
      ready.pop_back();
      advance(lane);
    }
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      if (at[lane] != lanes[lane].items.size())
        return {};
      times[lane].finish = clock[lane];
    }
    return std::move(times);
  }

private:
  void advance(size_t lane) {
    while (at[lane] < lanes[lane].items.size() && !open[lane]) {
      const PipeItem &item = lanes[lane].items[at[lane]];
      times[lane].start[at[lane]] = clock[lane];
      if (item.kind == PipeItem::Run) {
        double seconds = costs.run(lane, item.run);
        times[lane].busy += seconds;
        times[lane].end[at[lane]] = clock[lane] += seconds;
        ++at[lane];
        continue;
      }
      post(lane, item);
    }
  }

  void post(size_t lane, const PipeItem &item) {
    open[lane] = item.messages.size();
    double posted = clock[lane];
    for (const PipeMessage &message : item.messages) {
      size_t peer = index.at({message.peerReplica, message.peerStage});
      size_t from = message.send ? lane : peer, to = message.send ? peer : lane;
      Wire &wire = wires[{from, to}];
      (message.send ? wire.sends : wire.receives).push_back({at[lane], posted});
      if (wire.matched < wire.sends.size() && wire.matched < wire.receives.size()) {
        double begin = std::max(wire.sends[wire.matched].posted, wire.receives[wire.matched].posted);
        ++wire.matched;
        double end = begin + costs.message(from, to, message);
        complete(from, end);
        complete(to, end);
      }
    }
  }

  /// One message of the lane's current batch has ended. The last one lets the lane go on.
  void complete(size_t lane, double end) {
    clock[lane] = std::max(clock[lane], end);
    if (--open[lane])
      return;
    times[lane].end[at[lane]] = clock[lane];
    ++at[lane];
    ready.push_back(lane);
  }

  std::span<const EngineLane> lanes;
  const EngineCosts &costs;
  std::map<std::pair<Id, Id>, size_t> index;
  std::map<std::pair<size_t, size_t>, Wire> wires;
  std::vector<size_t> at, open;
  std::vector<double> clock;
  std::vector<LaneTimes> times;
  std::vector<size_t> ready;
};

} // namespace

std::vector<LaneTimes> runEngine(std::span<const EngineLane> lanes, const EngineCosts &costs) {
  return Engine(lanes, costs).run();
}

} // namespace plait
