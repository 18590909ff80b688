#include "cost_model/simulate/Simulate.h"
#include "cost_model/facts/ClusterFile.h"
#include "cost_model/simulate/Durations.h"
#include "runtime/plan/TaskNames.h"
#include <algorithm>
#include <map>
#include <tuple>

namespace plait {

namespace {

struct Interval {
  double start, end;
  uint32_t category;
};

/// Tasks of one queue of a class, one after another.
struct Queue {
  std::vector<uint32_t> tasks;
  size_t next = 0; ///< position in `tasks`
  bool running = false;
  bool posted = false;         ///< the current task has posted its communication (all but RUN)
  int call = 0;                ///< RUN: current call of the program
  size_t piece = 0;            ///< RUN: current piece of the routine
  size_t open = 0;             ///< parts of the current batch that have not ended
  double clock = 0, start = 0; ///< of the current piece; of the current task
  double posting = 0;          ///< when the current batch was posted
};

struct Lane {
  const RankClass *self = nullptr;
  const pb::Role *role = nullptr;
  const pb::Schedule *schedule = nullptr;
  std::unique_ptr<Durations> durations;
  std::map<uint32_t, Queue> queues;
  std::vector<double> ends;            ///< per task; negative: not ended
  std::vector<Interval> compute, comm; ///< active times of queue 0, of the others
  std::array<double, kCategories> spent{};
  std::map<uint32_t, uint64_t> sequence;                  ///< per group: collectives posted
  std::map<std::pair<uint32_t, bool>, uint64_t> messages; ///< per channel end: messages posted
  SimulatedRanks result;
};

struct Waiting {
  size_t lane;
  uint32_t queue;
};
struct Meeting {
  double begin = 0;
  std::vector<Waiting> arrived;
  size_t share = 1; ///< messages of one batch that share an end
};

class Simulator {
public:
  Simulator(const pb::Plan &plan, const RankClasses &classes, const SimulateOptions &options)
      : plan(plan), classes(classes), options(options) {}
  Result<SimulationResult> run();

private:
  void prepare();
  void advance(size_t lane, uint32_t queue);
  bool begin(Lane &lane, Queue &queue);
  bool stepProgram(size_t lane, uint32_t queue);
  void postSimple(size_t lane, uint32_t queue);
  void end(size_t lane, uint32_t queue);
  void postCollective(size_t lane, uint32_t queue, const PostedCollective &posted);
  void postMessage(size_t lane, uint32_t queue, const pb::P2p &p2p, size_t share);
  void complete(const Waiting &who, double begin, double end, uint32_t category);
  void active(Lane &lane, uint32_t queue, double start, double end, uint32_t category);
  void event(Lane &lane, std::string_view name, uint32_t queue, double start, double end, uint64_t bytes, bool instruction);
  const pb::Task &taskOf(const Lane &lane, const Queue &queue) const {
    return lane.schedule->tasks(int(queue.tasks[queue.next]));
  }
  uint64_t bytesOfMessage(const Lane &lane, const pb::P2p &p2p) const {
    return p2p.bytes() ? p2p.bytes() : lane.role->ports(int(p2p.port())).bytes();
  }
  void account(Lane &lane, double seconds);
  Error stuck() const;
  SimulationResult summary();

  const pb::Plan &plan;
  const RankClasses &classes;
  const SimulateOptions &options;
  std::vector<Lane> lanes;
  std::vector<Waiting> ready;
  std::map<std::pair<uint32_t, uint64_t>, Meeting> collectives;                   // (group, sequence)
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint64_t>, Meeting> messages; // (channel, from, to, sequence)
  std::map<std::string, double> traffic;
};

void Simulator::prepare() {
  bool merge = options.events != SimulateOptions::Events::Instructions;
  for (uint32_t c = 0; c < classes.classes.size(); ++c) {
    Lane lane;
    lane.self = &classes.classes[c];
    lane.role = &plan.roles(int(lane.self->role));
    lane.schedule = &plan.schedules(int(lane.role->schedule()));
    lane.durations = std::make_unique<Durations>(plan, classes, c, merge);
    lane.ends.assign(size_t(lane.schedule->tasks_size()), -1);
    for (int t = 0; t < lane.schedule->tasks_size(); ++t)
      lane.queues[lane.schedule->tasks(t).queue()].tasks.push_back(uint32_t(t));
    lane.result.role = lane.self->role;
    lane.result.rank = lane.self->rank;
    lane.result.ranks = lane.self->ranks;
    lanes.push_back(std::move(lane));
  }
}

Result<SimulationResult> Simulator::run() {
  prepare();
  for (size_t lane = lanes.size(); lane-- > 0;)
    for (const auto &[queue, data] : lanes[lane].queues)
      ready.push_back({lane, queue});
  while (!ready.empty()) {
    Waiting next = ready.back();
    ready.pop_back();
    advance(next.lane, next.queue);
  }
  for (const Lane &lane : lanes)
    for (const auto &[number, queue] : lane.queues)
      if (queue.next < queue.tasks.size())
        return stuck();
  return summary();
}

/// Starts the queue's next task if all that it waits for has ended.
bool Simulator::begin(Lane &lane, Queue &queue) {
  double start = queue.clock;
  for (uint32_t dep : taskOf(lane, queue).deps()) {
    if (lane.ends[dep] < 0)
      return false;
    start = std::max(start, lane.ends[dep]);
  }
  queue.running = true;
  queue.posted = false;
  queue.call = 0;
  queue.piece = 0;
  queue.clock = queue.start = start;
  return true;
}

void Simulator::advance(size_t index, uint32_t number) {
  Lane &lane = lanes[index];
  Queue &queue = lane.queues.at(number);
  while (queue.open == 0 && queue.next < queue.tasks.size()) {
    if (!queue.running && !begin(lane, queue))
      return;
    if (taskOf(lane, queue).kind() == pb::TASK_RUN ? stepProgram(index, number) : queue.posted)
      end(index, number);
    else if (taskOf(lane, queue).kind() != pb::TASK_RUN)
      postSimple(index, number);
  }
}

/// Does the program up to its next batch of collectives; true at its end.
bool Simulator::stepProgram(size_t index, uint32_t number) {
  Lane &lane = lanes[index];
  Queue &queue = lane.queues.at(number);
  const pb::Program &program = plan.programs(int(lane.role->programs(int(taskOf(lane, queue).program()))));
  for (; queue.call < program.calls_size(); ++queue.call, queue.piece = 0) {
    const std::vector<RoutinePiece> &pieces = lane.durations->routine(program.calls(queue.call).routine());
    for (; queue.piece < pieces.size(); ++queue.piece) {
      const RoutinePiece &piece = pieces[queue.piece];
      if (!piece.collectives.empty() && !queue.posted) {
        queue.posted = true;
        queue.posting = queue.clock;
        queue.open = piece.collectives.size();
        for (const PostedCollective &collective : piece.collectives)
          postCollective(index, number, collective);
        if (queue.open)
          return false;
      }
      double before = queue.posted ? queue.posting : queue.clock, at = queue.clock;
      queue.posted = false;
      for (auto [category, seconds] : piece.categories) {
        active(lane, number, at, at + seconds, category);
        at += seconds;
      }
      queue.clock = at;
      event(lane, *piece.origin, 0, before, queue.clock, 0, true);
    }
  }
  return true;
}

void Simulator::postSimple(size_t index, uint32_t number) {
  Lane &lane = lanes[index];
  Queue &queue = lane.queues.at(number);
  const pb::Task &task = taskOf(lane, queue);
  Durations::Simple simple = lane.durations->task(task);
  active(lane, number, queue.clock, queue.clock + simple.seconds, Durations::categoryOf(task.kind()));
  queue.clock += simple.seconds;
  queue.posted = true;
  queue.posting = queue.clock;
  queue.open = simple.collectives.size() + size_t(task.p2ps_size());
  for (const PostedCollective &collective : simple.collectives)
    postCollective(index, number, collective);
  size_t sends = size_t(std::count_if(task.p2ps().begin(), task.p2ps().end(), [](const pb::P2p &p) { return p.send(); }));
  for (const pb::P2p &p2p : task.p2ps())
    postMessage(index, number, p2p, p2p.send() ? sends : size_t(task.p2ps_size()) - sends);
}

void Simulator::postCollective(size_t index, uint32_t number, const PostedCollective &posted) {
  Lane &lane = lanes[index];
  const ClassGroup &group = classes.groups[posted.group];
  const CommShape &shape = group.shape;
  double sent = ringBytes(posted.kind, posted.bytes, shape.members);
  for (size_t l = 0; l < shape.levels.size(); ++l) { // the ring closes over its highest level
    double edges = shape.levels[l].hops + (l + 1 == shape.levels.size() ? 1 : 0);
    traffic[shape.levels[l].link->name] += double(lane.self->ranks) * sent * edges / shape.members;
  }
  auto at = collectives.try_emplace({posted.group, lane.sequence[posted.group]++}).first;
  Meeting &meeting = at->second;
  meeting.begin = std::max(meeting.begin, lane.queues.at(number).posting);
  meeting.arrived.push_back({index, number});
  if (meeting.arrived.size() < group.classes.size())
    return;
  double end = meeting.begin + collectiveSeconds(posted.kind, posted.bytes, shape);
  for (const Waiting &who : meeting.arrived)
    complete(who, meeting.begin, end, posted.category);
  collectives.erase(at);
}

void Simulator::postMessage(size_t index, uint32_t number, const pb::P2p &p2p, size_t share) {
  Lane &lane = lanes[index];
  const ClassPeer &peer = lane.self->peers.at({p2p.channel(), p2p.send()});
  uint32_t self = uint32_t(index), from = p2p.send() ? self : peer.peerClass, to = p2p.send() ? peer.peerClass : self;
  double bytes = double(bytesOfMessage(lane, p2p));
  if (p2p.send())
    for (const CommLevel &level : peer.shape.levels)
      traffic[level.link->name] += double(lane.self->ranks) * bytes;
  auto at = messages.try_emplace({p2p.channel(), from, to, lane.messages[{p2p.channel(), p2p.send()}]++}).first;
  Meeting &meeting = at->second;
  meeting.begin = std::max(meeting.begin, lane.queues.at(number).posting);
  meeting.share = std::max(meeting.share, share);
  meeting.arrived.push_back({index, number});
  if (meeting.arrived.size() < 2)
    return;
  double end = meeting.begin + messageSeconds(bytes * double(meeting.share), peer.shape);
  for (const Waiting &who : meeting.arrived)
    complete(who, meeting.begin, end, CategoryTransfer);
  messages.erase(at);
}

/// A part of a batch has ended. The last one lets its queue go on.
void Simulator::complete(const Waiting &who, double begin, double end, uint32_t category) {
  Lane &lane = lanes[who.lane];
  Queue &queue = lane.queues.at(who.queue);
  // Parts of a batch go on together: only what lies behind the parts that ended before counts.
  active(lane, who.queue, std::max(begin, queue.clock), end, category);
  queue.clock = std::max(queue.clock, end);
  if (--queue.open == 0)
    ready.push_back(who);
}

void Simulator::end(size_t index, uint32_t number) {
  Lane &lane = lanes[index];
  Queue &queue = lane.queues.at(number);
  const pb::Task &task = taskOf(lane, queue);
  lane.ends[queue.tasks[queue.next]] = queue.clock;
  lane.result.finish = std::max(lane.result.finish, queue.clock);
  if (task.kind() == pb::TASK_RUN)
    lane.result.busy += queue.clock - queue.start;
  if (task.kind() == pb::TASK_RUN || task.kind() == pb::TASK_TRANSFER)
    lane.result.computed = std::max(lane.result.computed, queue.clock);
  uint64_t bytes = 0;
  for (const pb::P2p &p2p : task.p2ps())
    bytes += bytesOfMessage(lane, p2p);
  event(lane, taskName(task.kind()), number, queue.start, queue.clock, bytes, false);
  queue.running = false;
  ++queue.next;
  for (const auto &[other, data] : lane.queues)
    if (other != number)
      ready.push_back({index, other});
}

void Simulator::active(Lane &lane, uint32_t queue, double start, double end, uint32_t category) {
  if (end <= start)
    return;
  if (queue != 0) {
    lane.comm.push_back({start, end, category});
    return;
  }
  lane.spent[category] += end - start;
  if (!lane.compute.empty() && lane.compute.back().end == start)
    lane.compute.back().end = end;
  else
    lane.compute.push_back({start, end, category});
}

void Simulator::event(Lane &lane, std::string_view name, uint32_t queue, double start, double end, uint64_t bytes,
                      bool instruction) {
  if (options.events == (instruction ? SimulateOptions::Events::Instructions : SimulateOptions::Events::Tasks) ||
      (!instruction && options.events == SimulateOptions::Events::Instructions))
    lane.result.events.push_back({std::string(name), queue, start, end - start, bytes});
}

/// Splits the step into components: compute as it is, communication of the other queues where nothing is computed.
void Simulator::account(Lane &lane, double seconds) {
  std::sort(lane.comm.begin(), lane.comm.end(),
            [](const Interval &a, const Interval &b) { return std::tie(a.start, a.end) < std::tie(b.start, b.end); });
  size_t first = 0;
  double counted = 0; // up to here other communication has been counted
  for (const Interval &comm : lane.comm) {
    double at = std::max(comm.start, counted), exposed = 0;
    while (first < lane.compute.size() && lane.compute[first].end <= at)
      ++first;
    for (size_t i = first; at < comm.end; ++i) {
      bool more = i < lane.compute.size() && lane.compute[i].start < comm.end;
      double until = more ? std::max(lane.compute[i].start, at) : comm.end;
      exposed += until - at;
      at = more ? std::max(at, lane.compute[i].end) : comm.end;
    }
    lane.spent[comm.category] += exposed;
    counted = std::max(counted, comm.end);
  }
  double sum = 0;
  for (uint32_t c = 0; c < CategoryIdle; ++c)
    sum += lane.spent[c];
  lane.spent[CategoryIdle] = std::max(0.0, seconds - sum);
  for (uint32_t c = 0; c < kCategories; ++c)
    if (lane.spent[c] > 0)
      lane.result.components.push_back({categoryName(c), lane.spent[c]});
}

Error Simulator::stuck() const {
  std::string text = "ranks wait for each other:";
  int shown = 0;
  for (const Lane &lane : lanes)
    for (const auto &[number, queue] : lane.queues)
      if (queue.next < queue.tasks.size() && queue.running && shown++ < 4)
        text += (shown > 1 ? ", rank " : " rank ") + std::to_string(lane.self->rank) + " in task " +
                std::to_string(queue.tasks[queue.next]) + " (" +
                std::string(taskName(taskOf(lane, queue).kind())) + ")";
  return {ExitCode::CheckFailed, text};
}

SimulationResult Simulator::summary() {
  SimulationResult result;
  double busiest = 0, computed = 0, ranks = 0;
  for (const Lane &lane : lanes) {
    result.seconds = std::max(result.seconds, lane.result.finish);
    busiest = std::max(busiest, lane.result.busy);
    computed = std::max(computed, lane.result.computed);
    ranks += double(lane.self->ranks);
  }
  result.bubble = computed > 0 ? 1 - busiest / computed : 0;
  std::array<double, kCategories> mean{};
  for (Lane &lane : lanes) {
    account(lane, result.seconds);
    for (uint32_t c = 0; c < kCategories; ++c)
      mean[c] += lane.spent[c] * double(lane.self->ranks) / ranks;
    result.ranks.push_back(std::move(lane.result));
  }
  for (uint32_t c = 0; c < kCategories; ++c)
    if (mean[c] > 0)
      result.components.push_back({categoryName(c), mean[c]});
  result.traffic.assign(traffic.begin(), traffic.end());
  for (const pb::Role &role : plan.roles()) {
    RoleMemory memory;
    memory.role = role.name();
    for (uint64_t bytes : role.space_bytes())
      memory.bytes += bytes;
    for (const pb::Component &component : role.components())
      memory.components.push_back({component.name(), component.bytes()});
    result.memory.push_back(std::move(memory));
  }
  result.label = Label::Measured;
  for (const RankClass &one : classes.classes) {
    result.label = std::max(result.label, weakest(one.device->figures));
    result.errorBand = std::max(result.errorBand, one.device->errorBand);
  }
  for (const ClassGroup &group : classes.groups)
    for (const CommLevel &level : group.shape.levels) {
      result.label = std::max(result.label, level.link->label);
      result.errorBand = std::max(result.errorBand, level.link->errorBand);
    }
  return result;
}

} // namespace

Result<SimulationResult> simulate(const pb::Plan &plan, const Cluster &cluster, const Facts &facts,
                                  const SimulateOptions &options) {
  Result<RankClasses> classes = classifyRanks(plan, cluster, facts, options.fold);
  if (!classes)
    return classes.error();
  return Simulator(plan, *classes, options).run();
}

Result<SimulationResult> simulate(const pb::Plan &plan, const SimulateOptions &options) {
  Result<Cluster> cluster = readCluster(plan.cluster_json(), "cluster of the plan", Facts::builtin());
  if (!cluster)
    return cluster.error();
  return simulate(plan, *cluster, Facts::builtin(), options);
}

} // namespace plait
