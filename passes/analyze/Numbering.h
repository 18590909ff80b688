// Numbering: one id per value of a block, the same in all of its phases and variants.
//
// Phases are separate definitions that repeat ops of each other (recomputation, input gradients). A value is what
// computes it: an op with the same name, attributes and operand ids is the same op, and so are its results. Saved and
// carried arguments are the values that the phase before yielded at the same position.
#ifndef PLAIT_PASSES_ANALYZE_NUMBERING_H
#define PLAIT_PASSES_ANALYZE_NUMBERING_H

#include "dialects/model/Model.h"
#include <map>

namespace plait {

/// An op of the block with the ids of its values; phases refer to it by index.
struct NumberedOp {
  model::ComputeOpInterface op; ///< any of its copies
  std::vector<Id> operands, results;
  model::BoundRule rule;
  std::string origin; ///< mnemonic and, if the location has a name, that name
};

/// One phase and variant: its ops by index and the ids at its ends.
struct NumberedPhase {
  model::BlockDefOp def;
  std::vector<size_t> ops;
  std::vector<Id> outputs, saved, carried, grads;
};

class Numbering {
public:
  explicit Numbering(model::BlockDefOp source) : source(source) {}

  /// Adds a phase. Forward first, backward_input before backward_weight; variant by variant.
  llvm::LogicalResult add(model::BlockDefOp def);

  /// Id of an input ("x", "tokens", ..., "dy"), or kNone.
  Id input(const std::string &name) const;
  std::vector<Id> params;
  std::vector<Value> values;                    ///< dims are still empty
  std::vector<std::vector<int64_t>> shapes;     ///< per value; ShapedType::kDynamic where not fixed
  std::vector<NumberedOp> ops;
  std::vector<NumberedPhase> phases;

private:
  Id newValue(std::string name, mlir::Type type, ElementKind kind);
  llvm::LogicalResult mapArguments(model::BlockDefOp def, llvm::DenseMap<mlir::Value, Id> &ids);
  const NumberedPhase *find(model::BlockPhase phase, llvm::StringRef variant) const;
  mlir::FailureOr<size_t> number(model::ComputeOpInterface op, const std::vector<Id> &operands, unsigned occurrence);

  using Key = std::tuple<const void *, const void *, std::vector<Id>, unsigned>;
  model::BlockDefOp source;
  std::map<std::string, Id> inputs;
  std::map<Key, size_t> known;
  std::map<std::string, unsigned> counts; ///< ops per mnemonic, for names
};

} // namespace plait

#endif
