#include "runtime/plan/RankSets.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace plait {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

uint64_t saturatingMul(uint64_t a, uint64_t b) { return b && a > kMax / b ? kMax : a * b; }
uint64_t saturatingAdd(uint64_t a, uint64_t b) { return a > kMax - b ? kMax : a + b; }

/// Indices of the extents, largest stride first.
std::vector<int> byStride(const pb::RankSet &set) {
  std::vector<int> order(set.extents_size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return set.extents(a).stride() > set.extents(b).stride(); });
  return order;
}

/// Distance from the first to the last rank of the extents.
uint64_t spanOf(const pb::RankSet &set) {
  uint64_t span = 0;
  for (const pb::Extent &extent : set.extents())
    if (extent.count())
      span = saturatingAdd(span, uint64_t(extent.count() - 1) * extent.stride());
  return span;
}

bool isListed(const pb::RankSet &set) { return set.listed_size() > 0; }

std::optional<std::string> extentsError(const pb::RankSet &set) {
  std::vector<int> order = byStride(set);
  uint64_t span = 0;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const pb::Extent &extent = set.extents(*it);
    if (!extent.count())
      return "an extent has count 0";
    if (extent.count() > 1 && extent.stride() <= span)
      return "stride " + std::to_string(extent.stride()) + " does not exceed the span " + std::to_string(span) +
             " of the smaller extents, so ranks may repeat";
    span = saturatingAdd(span, uint64_t(extent.count() - 1) * extent.stride());
  }
  return std::nullopt;
}

std::optional<std::string> listedError(const pb::RankSet &set) {
  if (set.extents_size())
    return "it has both extents and listed ranks";
  std::vector<uint32_t> ranks(set.listed().begin(), set.listed().end());
  std::sort(ranks.begin(), ranks.end());
  auto twice = std::adjacent_find(ranks.begin(), ranks.end());
  if (twice != ranks.end())
    return "rank " + std::to_string(*twice) + " is listed twice";
  return std::nullopt;
}

uint64_t largestOf(const pb::RankSet &set) {
  if (isListed(set))
    return *std::max_element(set.listed().begin(), set.listed().end());
  return saturatingAdd(set.base(), spanOf(set));
}

std::optional<std::string> shapeError(const pb::RankSet &set) {
  return isListed(set) ? listedError(set) : extentsError(set);
}

/// Groups and members as one set of extents, if neither is listed; position = group * members + index.
std::optional<pb::RankSet> merged(const pb::GroupFamily &family) {
  if (isListed(family.groups()) || isListed(family.members()))
    return std::nullopt;
  pb::RankSet all = family.groups();
  all.set_base(family.groups().base() + family.members().base());
  for (const pb::Extent &extent : family.members().extents())
    *all.add_extents() = extent;
  return all;
}

} // namespace

Status checkRankSet(const pb::RankSet &set, uint32_t worldSize) {
  if (std::optional<std::string> error = shapeError(set))
    return Error{ExitCode::CheckFailed, "rank set " + toString(set) + ": " + *error};
  if (largestOf(set) >= worldSize)
    return Error{ExitCode::CheckFailed, "rank set " + toString(set) + ": rank " + std::to_string(largestOf(set)) +
                                            " is not below the world size " + std::to_string(worldSize)};
  return success();
}

Status checkFamily(const pb::GroupFamily &family, uint32_t worldSize) {
  auto fail = [&](const std::string &what) {
    return Error{ExitCode::CheckFailed, "group family '" + family.name() + "': " + what};
  };
  for (const pb::RankSet *set : {&family.groups(), &family.members()})
    if (std::optional<std::string> error = shapeError(*set))
      return fail("rank set " + toString(*set) + ": " + *error);
  uint64_t largest = saturatingAdd(largestOf(family.groups()), largestOf(family.members()));
  if (largest >= worldSize)
    return fail("rank " + std::to_string(largest) + " is not below the world size " + std::to_string(worldSize));
  if (std::optional<pb::RankSet> all = merged(family)) {
    if (std::optional<std::string> error = extentsError(*all))
      return fail(*error);
    return success();
  }
  // All ranks are below worldSize and every group has distinct ones, so this loop ends at the first repetition.
  std::vector<bool> seen(worldSize, false);
  uint64_t groups = sizeOf(family.groups()), members = sizeOf(family.members());
  for (uint64_t group = 0; group < groups; ++group)
    for (uint64_t index = 0; index < members; ++index) {
      uint32_t rank = *rankAt(family.groups(), group) + *rankAt(family.members(), index);
      if (seen[rank])
        return fail("rank " + std::to_string(rank) + " is in two groups");
      seen[rank] = true;
    }
  return success();
}

uint64_t sizeOf(const pb::RankSet &set) {
  if (isListed(set))
    return set.listed_size();
  uint64_t size = 1;
  for (const pb::Extent &extent : set.extents())
    size = saturatingMul(size, extent.count());
  return size;
}

std::optional<uint32_t> rankAt(const pb::RankSet &set, uint64_t k) {
  if (k >= sizeOf(set))
    return std::nullopt;
  if (isListed(set))
    return set.listed(static_cast<int>(k));
  uint32_t rank = set.base();
  for (int i = set.extents_size() - 1; i >= 0; --i) {
    const pb::Extent &extent = set.extents(i);
    rank += static_cast<uint32_t>(k % extent.count()) * extent.stride();
    k /= extent.count();
  }
  return rank;
}

std::optional<uint64_t> positionOf(const pb::RankSet &set, uint32_t rank) {
  if (isListed(set)) {
    auto it = std::find(set.listed().begin(), set.listed().end(), rank);
    if (it == set.listed().end())
      return std::nullopt;
    return it - set.listed().begin();
  }
  if (rank < set.base() || !sizeOf(set))
    return std::nullopt;
  uint32_t rest = rank - set.base();
  std::vector<uint32_t> digits(set.extents_size(), 0);
  for (int i : byStride(set)) {
    const pb::Extent &extent = set.extents(i);
    if (!extent.stride())
      continue;
    digits[i] = std::min(extent.count() - 1, rest / extent.stride());
    rest -= digits[i] * extent.stride();
  }
  if (rest)
    return std::nullopt;
  uint64_t position = 0;
  for (int i = 0; i < set.extents_size(); ++i)
    position = position * set.extents(i).count() + digits[i];
  return position;
}

bool contains(const pb::RankSet &set, uint32_t rank) { return positionOf(set, rank).has_value(); }

std::vector<uint32_t> ranksOf(const pb::RankSet &set) {
  std::vector<uint32_t> ranks;
  for (uint64_t k = 0, size = sizeOf(set); k < size; ++k)
    ranks.push_back(*rankAt(set, k));
  return ranks;
}

std::string toString(const pb::RankSet &set) {
  constexpr uint64_t kShown = 8;
  uint64_t size = sizeOf(set);
  bool consecutive = size > 1;
  for (uint64_t k = 1; k < std::min(size, kShown); ++k)
    consecutive &= *rankAt(set, k) == *rankAt(set, k - 1) + 1;
  if (consecutive && rankAt(set, size - 1) == *rankAt(set, 0) + size - 1)
    return std::to_string(*rankAt(set, 0)) + ".." + std::to_string(*rankAt(set, size - 1));
  std::string text;
  for (uint64_t k = 0; k < std::min(size, kShown); ++k) {
    if (k)
      text += ',';
    text += std::to_string(*rankAt(set, k));
  }
  return size > kShown ? text + ",.. (" + std::to_string(size) + " ranks)" : text;
}

std::optional<GroupPlace> placeIn(const pb::GroupFamily &family, uint32_t rank) {
  uint64_t members = sizeOf(family.members());
  if (std::optional<pb::RankSet> all = merged(family)) {
    std::optional<uint64_t> position = positionOf(*all, rank);
    if (!position || !members)
      return std::nullopt;
    return GroupPlace{static_cast<uint32_t>(*position / members), static_cast<uint32_t>(*position % members)};
  }
  // Walk the listed side; the other side answers by arithmetic or is a short list.
  bool walkMembers = isListed(family.members());
  const pb::RankSet &walked = walkMembers ? family.members() : family.groups();
  const pb::RankSet &solved = walkMembers ? family.groups() : family.members();
  for (int i = 0; i < walked.listed_size(); ++i) {
    if (walked.listed(i) > rank)
      continue;
    if (std::optional<uint64_t> other = positionOf(solved, rank - walked.listed(i)))
      return walkMembers ? GroupPlace{static_cast<uint32_t>(*other), static_cast<uint32_t>(i)}
                         : GroupPlace{static_cast<uint32_t>(i), static_cast<uint32_t>(*other)};
  }
  return std::nullopt;
}

std::vector<uint32_t> groupRanks(const pb::GroupFamily &family, uint32_t group) {
  std::optional<uint32_t> offset = rankAt(family.groups(), group);
  if (!offset)
    return {};
  std::vector<uint32_t> ranks = ranksOf(family.members());
  for (uint32_t &rank : ranks)
    rank += *offset;
  return ranks;
}

std::optional<RankGroup> groupOf(const pb::Plan &plan, uint32_t family, uint32_t rank) {
  if (family >= static_cast<uint32_t>(plan.families_size()))
    return std::nullopt;
  const pb::GroupFamily &data = plan.families(family);
  std::optional<GroupPlace> place = placeIn(data, rank);
  if (!place)
    return std::nullopt;
  RankGroup group;
  group.id = 1 + place->group;
  for (uint32_t i = 0; i < family; ++i)
    group.id += static_cast<uint32_t>(sizeOf(plan.families(i).groups()));
  group.index = place->index;
  group.name = data.name() + "[" + std::to_string(place->group) + "]";
  group.ranks = groupRanks(data, place->group);
  return group;
}

std::optional<uint32_t> peerOf(const pb::Channel &channel, uint32_t rank, bool send) {
  std::optional<uint64_t> position = positionOf(send ? channel.from() : channel.to(), rank);
  if (!position)
    return std::nullopt;
  return rankAt(send ? channel.to() : channel.from(), *position);
}

Result<RankPlace> RankPlace::find(const pb::Plan &plan, uint32_t rank) {
  auto fail = [&](const std::string &what) {
    return Error{ExitCode::CheckFailed, "rank " + std::to_string(rank) + ": " + what};
  };
  RankPlace place;
  place.theRank = rank;
  for (const pb::RankRange &range : plan.ranks()) {
    if (!contains(range.ranks(), rank))
      continue;
    if (place.roleData)
      return fail("two rank ranges of the plan cover it");
    if (range.role() >= static_cast<uint32_t>(plan.roles_size()))
      return fail("role " + std::to_string(range.role()) + " does not exist");
    place.theRole = range.role();
    place.roleData = &plan.roles(static_cast<int>(range.role()));
  }
  if (!place.roleData)
    return fail("no rank range of the plan covers it (world size " + std::to_string(plan.world_size()) + ")");
  for (uint32_t family : place.role().axis_families()) {
    if (family >= static_cast<uint32_t>(plan.families_size()))
      return fail("role '" + place.role().name() + "' names family " + std::to_string(family) + ", which does not exist");
    std::optional<GroupPlace> at = placeIn(plan.families(static_cast<int>(family)), rank);
    if (!at)
      return fail("role '" + place.role().name() + "' names family '" + plan.families(static_cast<int>(family)).name() +
                  "', which does not hold this rank");
    place.coords.push_back(at->index);
  }
  return place;
}

bool RankPlace::isOrigin() const {
  return std::all_of(coords.begin(), coords.end(), [](uint32_t c) { return c == 0; });
}

int64_t RankPlace::evaluate(const pb::Offset &offset) const {
  int64_t coordinate = offset.axis() < coords.size() ? coords[offset.axis()] : 0;
  return offset.constant() + offset.per_coord() * coordinate;
}

} // namespace plait
