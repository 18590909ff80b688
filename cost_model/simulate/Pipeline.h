// Pipeline: the canonical order in which a stage computes its micro-batches and the boundary messages between them.
// One order for every reader: evaluate() prices it and passes/schedule writes it into the plan.
//
// Order. Every micro-batch gets a position: its index in its replica where nothing is overridden. An executor sorts its
// runs by a key that grows by exactly one along every message:
//   1f1b   forward 2p + s, backward 2p + 2S - 1 - s       (S stages; p the position): the usual warm-up of S - s
//          forwards, then backward and forward in turn, then the remaining backwards
//   gpipe  all forwards by p, then all backwards by p
// Executor overrides merge micro-batches of several replicas (in the order of their relative progress). Positions are
// the least numbers that keep this order and never give two micro-batches of one executor the same position; hence keys
// on an executor are distinct integers and a batch never waits for a run with a larger key: no rendezvous can block.
//
// A stage with splitWeightGrad runs BackwardInput and then BackwardWeight; the latter is put behind the next run if
// that is a forward (the next stage gets its activation sooner; one more frame), else it follows directly.
#ifndef PLAIT_COST_MODEL_SIMULATE_PIPELINE_H
#define PLAIT_COST_MODEL_SIMULATE_PIPELINE_H

#include "cost_model/problem/Solution.h"
#include <cstdint>
#include <vector>

namespace plait {

/// One phase of one micro-batch. replica and microbatch name its origin; frame holds its saved tensors from the forward
/// to the last backward (the lowest free number).
struct PipeRun {
  Phase phase = Phase::None;
  Id replica = 0, microbatch = 0;
  uint32_t frame = 0;
  bool operator==(const PipeRun &) const = default;
};

/// An activation (to the next stage) or a gradient (to the previous stage) of micro-batch (replica, microbatch) and the
/// executor at the other end.
struct PipeMessage {
  bool send = false, gradient = false;
  Id replica = 0, microbatch = 0;
  Id peerReplica = 0, peerStage = 0;
  bool operator==(const PipeMessage &) const = default;
};

/// Items of an executor are done one after another. A Transfer is one batch: the send of what the previous run
/// produced and the receive of what the next run needs.
struct PipeItem {
  enum Kind { Run, Transfer } kind = Run;
  PipeRun run;
  std::vector<PipeMessage> messages;
};

/// Orders of all executors of a solution. Precondition: verify() of the solution is empty. Keeps a reference to it.
class Pipeline {
public:
  explicit Pipeline(const Solution &solution);
  /// Replica whose stage `stage` runs micro-batch `microbatch` of `replica`.
  Id executor(Id replica, Id stage, Id microbatch) const;
  /// Items of (replica, stage); of copy 0, as all copies are alike.
  std::vector<PipeItem> items(Id replica, Id stage) const;

private:
  struct KeyedRun;
  std::vector<KeyedRun> sortedRuns(Id replica, Id stage) const;
  void placeOverridden();
  uint32_t position(Id replica, Id microbatch) const;

  const Solution &solution;
  std::vector<Override> overrides;              ///< by (replica, stage, microbatch)
  std::vector<std::vector<uint32_t>> positions; ///< per replica and micro-batch; empty without overrides
  uint32_t positionEnd = 0;                     ///< above every position
};

/// Items of one executor; Pipeline shares the work when several are needed.
std::vector<PipeItem> pipelineItems(const Solution &solution, Id replica, Id stage);
/// Frames that these items use: the most micro-batches in flight.
uint32_t framesNeeded(const std::vector<PipeItem> &items);
uint32_t framesNeeded(const Solution &solution, Id replica, Id stage);

} // namespace plait

#endif
