#include "passes/analyze/Factors.h"
#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace plait::model;

namespace plait {

FactorAnalysis::FactorAnalysis(const Numbering &numbering) : numbering(numbering) {
  for (Id value = 0; value < numbering.values.size(); ++value) {
    base.push_back(valueOf.size());
    valueOf.insert(valueOf.end(), numbering.shapes[value].size(), value);
  }
  parent.resize(valueOf.size());
  std::iota(parent.begin(), parent.end(), 0);
  for (Id value : valueOf)
    members.push_back({value});
  unit.assign(valueOf.size(), 0);
  // Forward ops, then the ends, then the rest: where a join is refused, it is one of the backward.
  size_t forward = numbering.phases.empty() ? 0 : numbering.phases.front().ops.size();
  joinOps(0, forward);
  joinGradients();
  joinOps(forward, numbering.ops.size());
  makeFactors();
  relateFactors();
  nameFactors();
}

/// Calls visit(slot, dimension) for every dimension of op's operands, then results.
template <typename Visit> void FactorAnalysis::forEachDim(const NumberedOp &op, Visit visit) const {
  auto list = [&](const std::vector<Id> &ids, const auto &tensors) {
    for (size_t i = 0; i < ids.size(); ++i)
      for (size_t dim = 0; dim < tensors[i].size(); ++dim)
        if (!tensors[i][dim].empty())
          visit(Slot(base[ids[i]] + dim), tensors[i][dim]);
  };
  list(op.operands, op.rule.operands);
  list(op.results, op.rule.results);
}

static bool isWhole(int factor, const BoundRule &rule) {
  return factor < static_cast<int>(Rule::kMaxFactors) && rule.rule->factors[factor].whole;
}

FactorAnalysis::Part FactorAnalysis::partOf(const BoundDim &dim, const BoundRule &rule) {
  Part part{dim, 1};
  while (part.key.size() > 1 && isWhole(part.key.back(), rule)) {
    int64_t size = rule.sizes[part.key.pop_back_val()];
    part.unit *= ShapedType::isDynamic(size) ? 1 : size;
  }
  return part;
}

FactorAnalysis::Slot FactorAnalysis::find(Slot slot) const {
  while (parent[slot] != slot)
    slot = parent[slot] = parent[parent[slot]];
  return slot;
}

void FactorAnalysis::join(Slot a, Slot b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return;
  if (b < a)
    std::swap(a, b);
  std::vector<Id> both;
  std::set_intersection(members[a].begin(), members[a].end(), members[b].begin(), members[b].end(), std::back_inserter(both));
  if (!both.empty()) {
    ++refused;
    return;
  }
  std::vector<Id> merged;
  std::merge(members[a].begin(), members[a].end(), members[b].begin(), members[b].end(), std::back_inserter(merged));
  members[a] = std::move(merged);
  members[b].clear();
  parent[b] = a;
}

void FactorAnalysis::joinOps(size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    const NumberedOp &op = numbering.ops[i];
    std::map<std::vector<int>, Slot> first;
    forEachDim(op, [&](Slot slot, const BoundDim &dim) {
      Part part = partOf(dim, op.rule);
      unit[slot] = std::max(unit[slot], part.unit);
      auto [found, inserted] = first.try_emplace(std::vector<int>(part.key.begin(), part.key.end()), slot);
      if (!inserted)
        join(found->second, slot);
    });
  }
}

void FactorAnalysis::joinValues(Id a, Id b) {
  if (a == kNone || b == kNone || numbering.shapes[a].size() != numbering.shapes[b].size())
    return;
  for (size_t dim = 0; dim < numbering.shapes[a].size(); ++dim)
    join(base[a] + dim, base[b] + dim);
}

void FactorAnalysis::joinGradients() {
  for (const NumberedPhase &phase : numbering.phases) {
    bool forward = BlockDefOp(phase.def).getPhase() == BlockPhase::Forward;
    for (Id output : phase.outputs)
      joinValues(numbering.input(forward ? "dy" : "x"), output);
    for (size_t i = 0; i < phase.grads.size() && i < numbering.params.size(); ++i)
      joinValues(numbering.params[i], phase.grads[i]);
  }
}

/// A factor has as many units as divide all of its dimensions evenly: the greatest common divisor of their counts.
void FactorAnalysis::makeFactors() {
  std::map<Slot, Id> ofRoot;
  factorOf.assign(valueOf.size(), kNone);
  for (Slot slot = 0; slot < valueOf.size(); ++slot) {
    if (unit[slot] == 0)
      continue;
    auto [found, inserted] = ofRoot.try_emplace(find(slot), Id(factors.size()));
    if (inserted)
      factors.emplace_back();
    factorOf[slot] = found->second;
    int64_t size = numbering.shapes[valueOf[slot]][slot - base[valueOf[slot]]];
    if (!ShapedType::isDynamic(size))
      factors[found->second].size = std::gcd(factors[found->second].size, size / unit[slot]);
  }
  for (Id value = 0; value < numbering.values.size(); ++value) {
    std::vector<Dim> &list = dims.emplace_back();
    for (size_t i = 0; i < numbering.shapes[value].size(); ++i) {
      int64_t size = numbering.shapes[value][i];
      Id factor = factorOf[base[value] + i];
      int64_t units = factor == kNone ? 1 : factors[factor].size;
      list.push_back({factor, ShapedType::isDynamic(size) || units == 0 ? 1 : size / units});
    }
  }
}

/// `g` beside `g r` in one rule: g's factor follows with ratio r.
void FactorAnalysis::relateFactors() {
  for (const NumberedOp &op : numbering.ops)
    forEachDim(op, [&](Slot leaderSlot, const BoundDim &leaderDim) {
      Part leader = partOf(leaderDim, op.rule);
      forEachDim(op, [&](Slot slot, const BoundDim &dim) {
        Part part = partOf(dim, op.rule);
        if (part.key.size() >= leader.key.size() || !std::equal(part.key.begin(), part.key.end(), leader.key.begin()))
          return;
        Factor &follower = factors[factorOf[slot]];
        if (follower.follows != kNone || factorOf[slot] == factorOf[leaderSlot])
          return;
        follower.follows = factorOf[leaderSlot];
        for (int inner : ArrayRef<int>(leader.key).drop_front(part.key.size()))
          follower.ratio *= op.rule.sizes[inner];
      });
    });
}

/// Rules name factors; letters that say only "some dimension" (linear's k and n) lose against those that mean something.
static unsigned rankOf(const std::string &name) {
  static const std::array<const char *, 9> meaningful = {"s", "b", "v", "g", "h", "i", "e", "p", "d"};
  auto found = std::find(meaningful.begin(), meaningful.end(), name);
  if (found != meaningful.end())
    return found - meaningful.begin();
  return name == "n" || name == "k" || name.starts_with("...") ? 21 : 20;
}

void FactorAnalysis::nameFactors() {
  std::vector<std::string> best(factors.size());
  auto propose = [&](Id factor, const std::string &name) {
    if (factor != kNone && (best[factor].empty() || rankOf(name) < rankOf(best[factor])))
      best[factor] = name;
  };
  for (const NumberedOp &op : numbering.ops)
    forEachDim(op, [&](Slot slot, const BoundDim &dim) {
      Part part = partOf(dim, op.rule);
      std::string name;
      for (int factor : part.key)
        name += op.rule.factorName(factor);
      propose(factorOf[slot], name == "gr" ? "h" : name);
    });
  // The stream's width is "e" even where no norm or embedding says so.
  if (Id x = numbering.input("x"); x != kNone && !dims[x].empty())
    if (Id width = dims[x].back().factor; width != kNone && rankOf(best[width]) >= 20)
      best[width].assign(1, 'e');
  std::map<std::string, unsigned> taken;
  for (Id factor = 0; factor < factors.size(); ++factor) {
    std::string name = best[factor].starts_with("...") ? "n" : best[factor];
    unsigned count = taken[name]++;
    factors[factor].name = count == 0 ? name : name + std::to_string(count);
  }
}

std::vector<Id> FactorAnalysis::factorsOf(size_t index, int ruleFactor) const {
  std::vector<Id> result;
  const NumberedOp &op = numbering.ops[index];
  forEachDim(op, [&](Slot slot, const BoundDim &dim) {
    Part part = partOf(dim, op.rule);
    if (part.key.size() == 1 && part.key.front() == ruleFactor &&
        std::find(result.begin(), result.end(), factorOf[slot]) == result.end())
      result.push_back(factorOf[slot]);
  });
  return result;
}

} // namespace plait
