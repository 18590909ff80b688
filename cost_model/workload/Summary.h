// BlockSummary: what one kind of block computes, as plain data. passes/analyze makes it from the differentiated model
// dialect; project() (Projection.h) splits it; nothing here knows MLIR.
//
// A block has named factors (dimensions that may be split: query heads, FFN width, vocabulary, sequence ...). Every
// dimension of every value is `units of a factor x elements per unit`, or a plain extent. Operations are listed per
// phase and recompute variant; values are shared by all phases of the block, so "saved" is a list of value ids.
#ifndef PLAIT_COST_MODEL_WORKLOAD_SUMMARY_H
#define PLAIT_COST_MODEL_WORKLOAD_SUMMARY_H

#include "runtime/plan/Kernels.h"
#include <cstdint>
#include <string>
#include <vector>

namespace plait {

using Id = uint32_t;
inline constexpr Id kNone = ~Id(0);

/// Element types of values; the precision of the job turns them into storage types.
enum class ElementKind { Activation, Param, ParamGrad, Statistic, Index, Scalar };

/// Phases of a block; values equal pb::Phase.
enum class Phase : uint32_t { None = 0, Forward = 1, Backward = 2, BackwardInput = 3, BackwardWeight = 4 };
enum class Reduction : uint32_t { None = 0, Sum = 1, Max = 2 };

struct Factor {
  std::string name;   ///< "s", "b", "h", "g", "i", "v", "e", ...
  int64_t size = 0;   ///< indivisible units (heads, columns, ids); 0: taken from TaskParams (only "s" and "b")
  Id follows = kNone; ///< this factor's range covers that of `follows`: unit j here serves units [j*ratio, (j+1)*ratio)
  int64_t ratio = 1;  ///< (KV heads follow query heads). Shards of a following factor may overlap.
};

/// One dimension of a value: factor units x `unit` elements, or `unit` elements alone when factor is kNone.
struct Dim {
  Id factor = kNone;
  int64_t unit = 1;
};

struct Value {
  std::string name;
  ElementKind kind = ElementKind::Activation;
  std::vector<Dim> dims;
};

/// A factor over which an operation sums (or takes the maximum of) its results.
struct ReducedFactor {
  Id factor;
  Reduction reduction;
};

/// An operation as the kernel catalogue defines it. Integers, doubles and the pointwise program are those of the
/// launch; offsetFactors name, in order, the factors whose first local unit the launch receives as an offset
/// (for Attention the special offset head_shift is derived from the q-head and KV factors by project()).
struct OpTemplate {
  Kernel kernel = Kernel::None;
  std::string origin;            ///< model op and role, e.g. "linear gate", for messages and traces
  Id segment = 0;                ///< index into BlockSummary::segments; its axis map splits this op
  std::vector<Id> operands;      ///< value ids, as the kernel orders them
  std::vector<Id> results;       ///< value ids; a ParamGrad or the loss accumulates
  std::vector<ReducedFactor> reduces;
  std::vector<Id> whole;         ///< factors that this op cannot split
  bool additive = false;         ///< result of partial operands is partial (add): no reduction is needed before it
  std::vector<int64_t> ints;
  std::vector<double> doubles;
  std::vector<Id> offsetFactors;
  int32_t pointwise = -1;        ///< index into BlockSummary::pointwise
};

/// Mirrors pb::PointwiseProgram.
struct PointwiseInstruction {
  PointwiseOp op;
  std::vector<uint32_t> operands; ///< < number of inputs: an input; else the result of an earlier instruction
  std::vector<double> immediates;
};
struct PointwiseTemplate {
  std::string name;
  std::vector<bool> rowInput;    ///< per input: broadcast over leading dimensions
  std::vector<PointwiseInstruction> instrs;
  std::vector<uint32_t> outputs;
};

/// One phase of a block under one recompute variant.
/// Forward: x (or tokens) -> y, or loss for the last block; `saved` is what it leaves for the backward.
/// Backward and BackwardInput: saved, dy -> dx; BackwardInput leaves `carried` for BackwardWeight.
/// kNone where a block has no such value (the first block has no x and no dx, the last no y and no dy).
struct PhaseGraph {
  Phase phase = Phase::None;
  std::string variant;           ///< "none" | "selective" | "full"
  std::vector<OpTemplate> ops;   ///< in execution order
  std::vector<Id> saved;         ///< Forward: produced; others: consumed. Block inputs may be among them (kept by reference).
  std::vector<Id> carried;       ///< BackwardInput: produced; BackwardWeight: consumed
};

/// One parameter of the block and its gradient.
struct BlockParam {
  std::string name;              ///< role inside the block: "wq", "norm1.weight"
  Id value = kNone;
  Id grad = kNone;
};

struct BlockSummary {
  std::string name;              ///< block kind: "embedding", "decoder", "head"
  std::vector<Factor> factors;
  std::vector<std::string> segments; ///< "stream" (residual stream and norms), "attention", "mlp", "embedding", "head"
  std::vector<Value> values;
  std::vector<BlockParam> params;
  std::vector<PointwiseTemplate> pointwise;
  std::vector<PhaseGraph> phases; ///< per variant: Forward, Backward, BackwardInput, BackwardWeight
  Id x = kNone, y = kNone, dx = kNone, dy = kNone, tokens = kNone, labels = kNone, loss = kNone, lossScale = kNone;

  /// nullptr if the block has no such phase or variant.
  const PhaseGraph *find(Phase phase, const std::string &variant) const {
    for (const PhaseGraph &graph : phases)
      if (graph.phase == phase && graph.variant == variant)
        return &graph;
    return nullptr;
  }
};

/// Index of `name` in `names`, or kNone.
template <typename Range> Id indexOfName(const Range &range, const std::string &name) {
  Id index = 0;
  for (const auto &entry : range) {
    if (entry.name == name)
      return index;
    ++index;
  }
  return kNone;
}

} // namespace plait

#endif
