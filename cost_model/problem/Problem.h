// Problem: what may be chosen. Plain data, no MLIR, no protobuf. check() says whether the problem is well formed,
// verify() whether a solution is legal, evaluate() what it costs; every rule has a number (docs/rules.md).
#ifndef PLAIT_COST_MODEL_PROBLEM_PROBLEM_H
#define PLAIT_COST_MODEL_PROBLEM_PROBLEM_H

#include "cost_model/problem/Solution.h"
#include "runtime/plan/DType.h"
#include "runtime/plan/Result.h"
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plait {

/// "fp32": everything F32. "bf16": parameters, compute and saved BF16; gradients, master and moments F32.
struct Precision {
  DType param = DType::F32, compute = DType::F32, saved = DType::F32, grad = DType::F32, reduce = DType::F32,
        master = DType::F32, moments = DType::F32;
  bool operator==(const Precision &) const = default;
};
Result<Precision> precisionByName(const std::string &name);

/// A trained logical tensor and its place in a Hugging Face checkpoint (fields as pb::Tensor).
struct ParamTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::string hfName;
  std::vector<int64_t> hfShape;
  int64_t hfBase = 0;
  std::vector<int64_t> hfSizes, hfStrides;
  enum class Init { Zeros, Ones, Normal } init = Init::Normal;
  double initStd = 0.02;
  bool decay = true;
  int64_t elements() const;
};

/// One block of the chain: embedding, layer 0, layer 1, ..., head.
struct BlockUse {
  Id kind = 0;             ///< index into Model::kinds
  int32_t layer = -1;      ///< decoder layer, -1 for embedding and head
  std::vector<Id> params;  ///< per BlockSummary::params: index into Model::params; tied tensors appear in two uses
};

struct Model {
  std::string name, family;
  int64_t vocabSize = 0;
  std::vector<BlockSummary> kinds;
  std::vector<BlockUse> chain;
  std::vector<ParamTensor> params;
  int64_t parameterCount() const; ///< sum of elements over params (tied tensors once)
};

/// Devices of one kind with equal links; `facts` names an entry of cost_model/facts.
struct DeviceClass {
  std::string name, facts;
  uint64_t memoryBytes = 0, reservedBytes = 0;
};

/// A node of the domain tree (cluster, node, ...). Leaves hold devices; devices are numbered in leaf order.
/// bandwidth and latency are those of one device's path across this domain's fabric, per direction.
struct Domain {
  Id parent = kNone;
  std::string name;
  Id deviceClass = kNone;  ///< leaves only
  uint32_t devices = 0;    ///< leaves only
  std::string link;        ///< facts entry of the fabric that joins this domain's children (leaf: its devices)
  bool failsTogether = false;
};

struct Cluster {
  std::string name;
  std::vector<DeviceClass> classes;
  std::vector<Domain> domains; ///< parents before children; domain 0 is the root
  uint32_t deviceCount() const;
  /// Device class of a device; kNone if out of range.
  Id classOf(uint32_t device) const;
  /// Smallest domain that holds both devices.
  Id commonDomain(uint32_t a, uint32_t b) const;
};

struct JobSpec {
  int64_t globalBatch = 1, seqLen = 1; ///< sequences, tokens
  Precision precision;
  std::string optimizer = "adamw";
};

/// What the proof ranges over; printed with every result. An empty list allows every legal value.
struct Space {
  std::vector<uint32_t> tp, pp, dp, microBatch;
  std::vector<std::string> schedules, recompute, sharding; ///< names as in Solution
  std::vector<bool> sequenceParallel, splitWeightGrad;
  bool unevenLayers = true;
  bool idleDevices = false;
};

struct Problem {
  std::shared_ptr<const Model> model;
  Cluster cluster;
  JobSpec job;
  Space space;
  std::string target = "plait";
};

/// Why something is not allowed. `rule` is "F-07"; the rendered text is
/// "<place>: <asked>: <forbids> [F-07]; what works: a, b".
struct Reason {
  std::string rule, place, asked, forbids;
  std::vector<std::string> works;
  std::string text() const;
};

/// Seconds and bytes per phase and component of a plan.
struct Cost {
  double seconds = 0;                                        ///< one optimizer step
  std::vector<uint64_t> peakBytes;                           ///< per (replica, stage), the fullest device, flattened
  std::vector<std::vector<std::pair<std::string, uint64_t>>> memory; ///< components, same order
  double bubble = 0;                                         ///< idle share of the busiest-stage window, 0..1
};

/// Where costs come from: TableCosts (numbers given in a test) or ModelCosts (facts + projection).
class CostSource {
public:
  virtual ~CostSource() = default;
  /// Seconds of one phase of block `kind` for one micro-batch on the slowest device of the stage, collectives included.
  virtual double phaseSeconds(Id kind, const Stage &stage, Phase phase, int64_t microBatch) const = 0;
  /// Seconds to move the boundary activation of one micro-batch from a stage to the next (either direction).
  virtual double boundarySeconds(const Stage &from, const Stage &to, int64_t microBatch) const = 0;
  /// Seconds after the last backward until the step is final: gradient sync, vote, update, gather; for (replica, stage).
  virtual double stepTailSeconds(const Solution &, Id replica, Id stage) const = 0;
  /// Memory components of the fullest device of (replica, stage) when `inFlight` micro-batches are held.
  virtual std::vector<std::pair<std::string, uint64_t>> memory(const Solution &, Id replica, Id stage,
                                                               uint32_t inFlight) const = 0;
};

/// Is the problem well formed? Empty: yes.
std::vector<Reason> check(const Problem &);
/// Is the solution legal for the problem (rules, memory excluded)? Empty: yes. Every solver's answer passes this.
std::vector<Reason> verify(const Problem &, const Solution &);
/// Step time and memory by the simulator's engine at task granularity. Precondition: verify() is empty.
Cost evaluate(const Problem &, const Solution &, const CostSource &);
/// Memory verdict of an evaluated solution: a Reason for each (replica, stage) beyond its device's capacity.
std::vector<Reason> checkMemory(const Problem &, const Solution &, const Cost &);

} // namespace plait

#endif
