// Durations: what the tasks and instructions of a plan take on one class of ranks.
#ifndef PLAIT_COST_MODEL_SIMULATE_DURATIONS_H
#define PLAIT_COST_MODEL_SIMULATE_DURATIONS_H

#include "cost_model/simulate/RankClasses.h"
#include <array>
#include <string>
#include <vector>

namespace plait {

/// What time is spent on. Kernels come first, by their number.
enum Category : uint32_t {
  CategoryCopies = 32,
  CategoryTensorCollectives,
  CategoryAxisCollectives,
  CategoryZero,
  CategoryLoad,
  CategoryTransfer,
  CategoryGradSync,
  CategoryVote,
  CategoryApply,
  CategoryParamGather,
  CategoryIdle,
  kCategories
};
std::string categoryName(uint32_t category);

struct PostedCollective {
  uint32_t group = 0; ///< index into RankClasses::groups
  CommKind kind = CommKind::AllReduce;
  double bytes = 0;
  uint32_t category = 0;
};

/// Launches in a row, or one batch of collectives.
struct RoutinePiece {
  double seconds = 0;
  std::vector<std::pair<uint32_t, double>> categories; ///< parts of `seconds`
  std::vector<PostedCollective> collectives;
  const std::string *origin = nullptr; ///< of a single instruction
};

/// Precondition as for simulate().
class Durations {
public:
  /// `merge`: launches in a row become one piece.
  Durations(const pb::Plan &plan, const RankClasses &classes, uint32_t rankClass, bool merge);

  const std::vector<RoutinePiece> &routine(uint32_t index);
  /// Seconds that a task computes before it communicates, and what it then posts (RUN and TRANSFER apart).
  struct Simple {
    double seconds = 0;
    std::vector<PostedCollective> collectives;
  };
  Simple task(const pb::Task &task) const;
  static uint32_t categoryOf(pb::TaskKind kind);

private:
  RoutinePiece piece(const pb::Instr &instr) const;
  uint64_t ownedElements() const;

  const pb::Plan &plan;
  const RankClasses &classes;
  const RankClass &self;
  const pb::Role &role;
  bool merge;
  std::vector<std::vector<RoutinePiece>> routines;
  std::vector<bool> known;
};

} // namespace plait

#endif
