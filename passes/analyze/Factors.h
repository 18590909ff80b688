// Factors of a block: which dimensions of its values are split together.
//
// Every rule joins the dimensions that carry the same factor; over all ops of all phases that gives the block's factors.
// A composite dimension `(g r d)` with whole d is one splittable dimension `g r` in units of d elements; if another
// dimension of the rule is `g`, it follows with ratio r. A join that would put one factor twice into a value (the
// residual stream through a square weight) is refused: the two stay apart and meet at a layout change. A gradient at the
// ends of a block (of a parameter, of x, of y) has the factors of its value.
#ifndef PLAIT_PASSES_ANALYZE_FACTORS_H
#define PLAIT_PASSES_ANALYZE_FACTORS_H

#include "passes/analyze/Numbering.h"

namespace plait {

class FactorAnalysis {
public:
  explicit FactorAnalysis(const Numbering &numbering);

  std::vector<Factor> factors;           ///< in order of first appearance
  std::vector<std::vector<Dim>> dims;    ///< per value
  unsigned refused = 0;                  ///< joins refused

  /// Block factors that a rule factor of op `index` stands for: those of the dimensions that it alone (or with whole
  /// factors inside it) makes up, without repetition.
  std::vector<Id> factorsOf(size_t index, int ruleFactor) const;

private:
  using Slot = unsigned; ///< one dimension of one value
  struct Part {          ///< the splittable part of a dimension: key, and elements per unit
    model::BoundDim key;
    int64_t unit = 1;
  };

  template <typename Visit> void forEachDim(const NumberedOp &op, Visit visit) const;
  static Part partOf(const model::BoundDim &dim, const model::BoundRule &rule);
  Slot find(Slot slot) const;
  void join(Slot a, Slot b);
  void joinOps(size_t begin, size_t end);
  void joinGradients();
  void joinValues(Id a, Id b);
  void makeFactors();
  void nameFactors();
  void relateFactors();

  const Numbering &numbering;
  std::vector<Slot> base;                   ///< per value: its first slot
  std::vector<Id> valueOf;                  ///< per slot
  mutable std::vector<Slot> parent;
  std::vector<std::vector<Id>> members;     ///< per root: values, sorted
  std::vector<int64_t> unit;                ///< per slot: elements per unit, as some rule says; 0: no rule sees it
  std::vector<Id> factorOf;                 ///< per slot: factor
};

} // namespace plait

#endif
