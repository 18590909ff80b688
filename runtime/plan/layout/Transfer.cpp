#include "runtime/plan/layout/Transfer.h"
#include <algorithm>
#include <map>

namespace plait {
namespace {

TransferCost sum(const TransferCost &a, const TransferCost &b) {
  return {a.crossings + b.crossings, a.messages + b.messages, a.elements + b.elements};
}

/// Boxes of more grid cells than this are halved before the exact search, which is cubic in the cells of a dimension.
constexpr int64_t kExactCells = 64;

/// Copies of one value or addend: indices into `from`, ascending by (rank, index).
using Term = std::vector<uint32_t>;

/// Divides one target box among the copies of one term.
class Divider {
public:
  Divider(const std::vector<Residence> &from, const Term &term, const Residence &target, const DomainOf &domainOf)
      : target(target) {
    uint32_t home = domainOf(target.rank);
    std::vector<Box> boxes;
    for (uint32_t index : term)
      if (std::optional<Box> common = intersect(from[index].box, target.box)) {
        bool isLocal = from[index].rank == target.rank;
        sources.push_back({index, from[index].rank, isLocal, !isLocal && domainOf(from[index].rank) != home, *common, {}});
        boxes.push_back(*common);
      }
    if (boxes.empty())
      return;
    grid = boundaries(target.box.size, relative(boxes));
    for (Source &source : sources)
      source.cells = cellsOf(source.box);
  }

  /// Elements of the target box that no copy holds are left out. `sent` counts elements per rank, for spreading.
  std::vector<Message> divide(std::map<uint32_t, int64_t> &sent, bool pending, uint32_t toResidence) {
    if (sources.empty())
      return {};
    Cells whole;
    for (const std::vector<int64_t> &cuts : grid)
      whole.push_back({0, static_cast<int>(cuts.size()) - 1});
    std::vector<Message> messages;
    emit(whole, sent, pending, toResidence, messages);
    std::sort(messages.begin(), messages.end(),
              [](const Message &a, const Message &b) { return a.box.start < b.box.start; });
    return messages;
  }

private:
  struct Range {
    int begin, end;
    auto operator<=>(const Range &) const = default;
  };
  using Cells = std::vector<Range>; ///< a box in units of grid cells
  struct Source {
    uint32_t residence, rank;
    bool isLocal, crosses;
    Box box;
    Cells cells;
  };
  enum class Kind { Nothing, Piece, Cut };
  struct Choice {
    TransferCost cost;
    Kind kind = Kind::Nothing;
    size_t dim = 0; ///< Cut
    int at = 0;     ///< Cut
  };

  std::vector<Box> relative(std::vector<Box> boxes) const {
    for (Box &box : boxes)
      for (size_t k = 0; k < box.start.size(); ++k)
        box.start[k] -= target.box.start[k];
    return boxes;
  }

  Cells cellsOf(const Box &box) const {
    Cells cells;
    for (size_t k = 0; k < grid.size(); ++k) {
      auto position = [&](int64_t at) {
        return static_cast<int>(std::lower_bound(grid[k].begin(), grid[k].end(), at - target.box.start[k]) -
                                grid[k].begin());
      };
      cells.push_back({position(box.start[k]), position(box.start[k] + box.size[k])});
    }
    return cells;
  }

  Box boxOf(const Cells &cells) const {
    Box box;
    for (size_t k = 0; k < cells.size(); ++k) {
      box.start.push_back(target.box.start[k] + grid[k][cells[k].begin]);
      box.size.push_back(grid[k][cells[k].end] - grid[k][cells[k].begin]);
    }
    return box;
  }

  static bool covers(const Cells &outer, const Cells &inner) {
    for (size_t k = 0; k < outer.size(); ++k)
      if (inner[k].begin < outer[k].begin || inner[k].end > outer[k].end)
        return false;
    return true;
  }
  static bool touches(const Cells &a, const Cells &b) {
    for (size_t k = 0; k < a.size(); ++k)
      if (a[k].end <= b[k].begin || b[k].end <= a[k].begin)
        return false;
    return true;
  }

  /// Cost of filling `elements` elements from `source` alone.
  static TransferCost costFrom(const Source &source, int64_t elements) {
    return source.isLocal ? TransferCost{} : TransferCost{source.crosses, 1, elements};
  }

  /// Best way to fill `cells`; remembered.
  const Choice &best(const Cells &cells) {
    auto found = memo.find(cells);
    if (found != memo.end())
      return found->second;
    Choice choice;
    bool anyHeld = false, anyLocal = false, anyInDomain = false;
    int64_t elements = boxOf(cells).elements();
    for (const Source &source : sources) {
      if (!touches(source.cells, cells))
        continue;
      anyHeld = true;
      anyLocal |= source.isLocal;
      anyInDomain |= !source.crosses;
      TransferCost cost = costFrom(source, elements);
      if (covers(source.cells, cells) && (choice.kind == Kind::Nothing || cost < choice.cost))
        choice = {cost, Kind::Piece, 0, 0};
    }
    // One message can only be improved on where a part is at hand or comes without crossing.
    bool improvable = choice.kind == Kind::Nothing ? anyHeld
                                                   : choice.cost.messages > 0 &&
                                                         (anyLocal || (choice.cost.crossings > 0 && anyInDomain));
    if (improvable)
      improveByCutting(cells, choice);
    return memo.emplace(cells, choice).first->second;
  }

  void improveByCutting(const Cells &cells, Choice &choice) {
    int64_t count = 1;
    size_t longest = 0;
    for (size_t k = 0; k < cells.size(); ++k) {
      count *= cells[k].end - cells[k].begin;
      if (cells[k].end - cells[k].begin > cells[longest].end - cells[longest].begin)
        longest = k;
    }
    if (count > kExactCells)
      return tryCut(cells, longest, (cells[longest].begin + cells[longest].end) / 2, choice);
    for (size_t k = 0; k < cells.size(); ++k)
      for (int at = cells[k].begin + 1; at < cells[k].end; ++at)
        tryCut(cells, k, at, choice);
  }

  void tryCut(const Cells &cells, size_t k, int at, Choice &choice) {
    auto [low, high] = halves(cells, k, at);
    TransferCost cost = sum(best(low).cost, best(high).cost);
    if (choice.kind == Kind::Nothing || cost < choice.cost)
      choice = {cost, Kind::Cut, k, at};
  }

  static std::pair<Cells, Cells> halves(const Cells &cells, size_t k, int at) {
    std::pair<Cells, Cells> parts{cells, cells};
    parts.first[k].end = at;
    parts.second[k].begin = at;
    return parts;
  }

  void emit(const Cells &cells, std::map<uint32_t, int64_t> &sent, bool pending, uint32_t toResidence,
            std::vector<Message> &messages) {
    Choice choice = best(cells);
    if (choice.kind == Kind::Cut) {
      auto [low, high] = halves(cells, choice.dim, choice.at);
      emit(low, sent, pending, toResidence, messages);
      emit(high, sent, pending, toResidence, messages);
    }
    if (choice.kind != Kind::Piece)
      return;
    Box box = boxOf(cells);
    const Source *chosen = nullptr;
    for (const Source &source : sources)
      if (covers(source.cells, cells) && costFrom(source, box.elements()) == choice.cost &&
          (!chosen || sent[source.rank] < sent[chosen->rank]))
        chosen = &source;
    if (chosen->rank != target.rank)
      sent[chosen->rank] += box.elements();
    messages.push_back({chosen->rank, target.rank, box, chosen->residence, toResidence, pending});
  }

  const Residence &target;
  std::vector<Source> sources;
  std::vector<std::vector<int64_t>> grid;
  std::map<Cells, Choice> memo;
};

/// Groups the sources into terms: one for values, one per addend; ordered by lowest rank.
std::vector<Term> termsOf(const std::vector<Residence> &from) {
  Term order(from.size());
  for (uint32_t i = 0; i < from.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return from[a].rank < from[b].rank; });
  std::vector<Term> terms;
  std::map<uint32_t, size_t> known;
  for (uint32_t index : order) {
    const Residence &source = from[index];
    bool shared = !source.pending || source.addend != Residence::kOwnAddend;
    auto [it, isNew] = known.try_emplace(source.pending ? source.addend : 0, terms.size());
    if (isNew || !shared)
      terms.push_back({index});
    else
      terms[it->second].push_back(index);
  }
  return terms;
}

Error uncovered(const Box &hole, uint32_t rank) {
  return {ExitCode::Internal, "rank " + std::to_string(rank) + " needs " + toString(hole) + ", which no rank holds"};
}

Status checkTransfer(const std::vector<int64_t> &shape, const std::vector<Residence> &from,
                     const std::vector<Residence> &to) {
  for (const std::vector<Residence> *side : {&from, &to})
    if (Status status = checkResidences(shape, *side); !status)
      return status;
  for (const Residence &source : from)
    if (source.pending != from.front().pending)
      return Error{ExitCode::Internal, "ranks " + std::to_string(from.front().rank) + " and " +
                                           std::to_string(source.rank) +
                                           ": one holds a value and the other an addend of the same tensor"};
  for (const Residence &target : to)
    if (target.pending)
      return Error{ExitCode::Internal, "rank " + std::to_string(target.rank) + ": the target of a transfer is pending"};
  for (const Atom &atom : atoms(shape, from))
    for (const Residence &target : to)
      if (std::optional<Box> hole = intersect(atom.box, target.box); hole && atom.holders.empty())
        return uncovered(*hole, target.rank);
  return success();
}

} // namespace

Result<std::vector<Message>> compileTransfer(const std::vector<int64_t> &shape, const std::vector<Residence> &from,
                                             const std::vector<Residence> &to, const DomainOf &domainOf) {
  if (Status status = checkTransfer(shape, from, to); !status)
    return status.error();
  std::vector<Term> terms = termsOf(from);
  std::map<uint32_t, int64_t> sent;
  std::vector<Message> messages;
  for (uint32_t index = 0; index < to.size(); ++index)
    for (const Term &term : terms) {
      std::vector<Message> part =
          Divider(from, term, to[index], domainOf).divide(sent, from[term.front()].pending, index);
      messages.insert(messages.end(), part.begin(), part.end());
    }
  return messages;
}

TransferCost costOf(const std::vector<Message> &messages, const DomainOf &domainOf) {
  TransferCost cost;
  for (const Message &message : messages)
    if (!message.isLocal())
      cost = sum(cost, {domainOf(message.from) != domainOf(message.to), 1, message.box.elements()});
  return cost;
}

} // namespace plait
