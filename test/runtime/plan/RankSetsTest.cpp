// Rank sets against their definition: expanded lists and linear searches.
#include "runtime/plan/RankSets.h"
#include <catch2/catch.hpp>
#include <random>

using namespace plait;

namespace {

pb::RankSet extents(uint32_t base, std::vector<std::pair<uint32_t, uint32_t>> countStride) {
  pb::RankSet set;
  set.set_base(base);
  for (auto [count, stride] : countStride) {
    set.add_extents()->set_count(count);
    set.mutable_extents()->rbegin()->set_stride(stride);
  }
  return set;
}

pb::RankSet listed(std::vector<uint32_t> ranks) {
  pb::RankSet set;
  for (uint32_t rank : ranks)
    set.add_listed(rank);
  return set;
}

/// A well-formed random set: digits of a mixed radix with gaps, in shuffled order.
pb::RankSet randomSet(std::mt19937 &random) {
  if (random() % 4 == 0) {
    std::vector<uint32_t> ranks(60);
    for (uint32_t i = 0; i < ranks.size(); ++i)
      ranks[i] = i;
    std::shuffle(ranks.begin(), ranks.end(), random);
    ranks.resize(1 + random() % 10);
    return listed(ranks);
  }
  std::vector<std::pair<uint32_t, uint32_t>> parts;
  uint32_t stride = 1 + random() % 3, span = 0;
  for (size_t n = random() % 4; n > 0; --n) {
    uint32_t count = 1 + random() % 4;
    parts.push_back({count, stride});
    span += (count - 1) * stride;
    stride = span + 1 + random() % 3;
  }
  std::shuffle(parts.begin(), parts.end(), random);
  return extents(random() % 5, parts);
}

/// Nested loops, first extent outermost.
std::vector<uint32_t> expand(const pb::RankSet &set) {
  if (set.listed_size())
    return {set.listed().begin(), set.listed().end()};
  std::vector<uint32_t> ranks{set.base()};
  for (const pb::Extent &extent : set.extents()) {
    std::vector<uint32_t> next;
    for (uint32_t rank : ranks)
      for (uint32_t i = 0; i < extent.count(); ++i)
        next.push_back(rank + i * extent.stride());
    ranks = next;
  }
  return ranks;
}

std::string messageOf(const Status &status) { return status ? "" : status.error().message; }

} // namespace

TEST_CASE("rank sets equal their expansion") {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    pb::RankSet set = randomSet(random);
    std::vector<uint32_t> all = expand(set);
    REQUIRE(checkRankSet(set, 1000));
    REQUIRE(sizeOf(set) == all.size());
    REQUIRE(ranksOf(set) == all);
    REQUIRE_FALSE(rankAt(set, all.size()));
    for (uint32_t rank = 0; rank < 200; ++rank) {
      auto it = std::find(all.begin(), all.end(), rank);
      std::optional<uint64_t> position = positionOf(set, rank);
      REQUIRE(position.has_value() == (it != all.end()));
      REQUIRE(contains(set, rank) == (it != all.end()));
      if (position)
        REQUIRE(*position == uint64_t(it - all.begin()));
    }
  }
}

TEST_CASE("group families equal their definition") {
  std::mt19937 random(2);
  int valid = 0;
  for (int round = 0; round < 4000; ++round) {
    pb::GroupFamily family;
    *family.mutable_groups() = randomSet(random);
    *family.mutable_members() = randomSet(random);
    std::vector<uint32_t> groups = expand(family.groups()), members = expand(family.members());
    std::vector<uint32_t> all;
    for (uint32_t group : groups)
      for (uint32_t member : members)
        all.push_back(group + member);
    std::vector<uint32_t> sorted = all;
    std::sort(sorted.begin(), sorted.end());
    bool unique = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    bool accepted = bool(checkFamily(family, 1000));
    if (!unique)
      REQUIRE_FALSE(accepted);
    if (!accepted)
      continue;
    ++valid;
    for (uint32_t rank = 0; rank < 300; ++rank) {
      auto it = std::find(all.begin(), all.end(), rank);
      std::optional<GroupPlace> place = placeIn(family, rank);
      REQUIRE(place.has_value() == (it != all.end()));
      if (!place)
        continue;
      uint32_t at = it - all.begin();
      REQUIRE(*place == GroupPlace{uint32_t(at / members.size()), uint32_t(at % members.size())});
      REQUIRE(groupRanks(family, place->group)[place->index] == rank);
    }
  }
  REQUIRE(valid > 500);
}

TEST_CASE("a family of 16,384 ranks is answered by arithmetic") {
  pb::Plan plan;
  pb::GroupFamily &tp = *plan.add_families(), &dp = *plan.add_families();
  tp.set_name("tp");
  *tp.mutable_groups() = extents(0, {{2048, 8}});
  *tp.mutable_members() = extents(0, {{8, 1}});
  dp.set_name("dp");
  *dp.mutable_groups() = extents(0, {{16, 8}, {8, 1}});
  *dp.mutable_members() = extents(0, {{128, 128}});
  REQUIRE(checkFamily(dp, 16384));
  REQUIRE(placeIn(tp, 16383) == GroupPlace{2047, 7});
  REQUIRE(placeIn(dp, 129) == GroupPlace{1, 1});
  std::optional<RankGroup> group = groupOf(plan, 1, 129);
  REQUIRE(group);
  REQUIRE(group->id == 1 + 2048 + 1);
  REQUIRE(group->name == "dp[1]");
  REQUIRE(group->ranks.size() == 128);
  REQUIRE(group->ranks[1] == 129);
  REQUIRE_FALSE(groupOf(plan, 2, 129));
}

TEST_CASE("channels pair by position") {
  pb::Channel channel;
  *channel.mutable_from() = extents(0, {{3, 1}});
  *channel.mutable_to() = listed({7, 5, 6});
  REQUIRE(peerOf(channel, 0, true) == 7u);
  REQUIRE(peerOf(channel, 6, false) == 2u);
  REQUIRE_FALSE(peerOf(channel, 7, true));
  REQUIRE_FALSE(peerOf(channel, 0, false));
}

TEST_CASE("the place of a rank: role, coordinates, offsets") {
  pb::Plan plan;
  plan.set_world_size(6);
  *plan.add_families()->mutable_members() = extents(0, {{3, 1}});
  *plan.mutable_families(0)->mutable_groups() = extents(0, {{2, 3}});
  plan.add_roles()->add_axis_families(0);
  plan.add_roles();
  *plan.add_ranks()->mutable_ranks() = extents(3, {{3, 1}});
  *plan.add_ranks()->mutable_ranks() = extents(0, {{3, 1}});
  plan.mutable_ranks(1)->set_role(1);
  Result<RankPlace> place = RankPlace::find(plan, 5);
  REQUIRE(place);
  REQUIRE(place->roleIndex() == 0);
  REQUIRE(place->coordinates() == std::vector<uint32_t>{2});
  REQUIRE_FALSE(place->isOrigin());
  pb::Offset offset;
  offset.set_constant(10);
  offset.set_per_coord(-4);
  REQUIRE(place->evaluate(offset) == 2);
  offset.set_axis(1);
  REQUIRE(place->evaluate(offset) == 10);
  REQUIRE(RankPlace::find(plan, 0)->isOrigin());

  REQUIRE(RankPlace::find(plan, 6).error().message == "rank 6: no rank range of the plan covers it (world size 6)");
  plan.mutable_ranks(1)->set_role(2);
  REQUIRE(RankPlace::find(plan, 0).error().message == "rank 0: role 2 does not exist");
  plan.mutable_ranks(1)->mutable_ranks()->mutable_extents(0)->set_count(4);
  plan.mutable_ranks(1)->set_role(1);
  REQUIRE(RankPlace::find(plan, 3).error().message == "rank 3: two rank ranges of the plan cover it");
}

TEST_CASE("ill-formed sets are refused by name") {
  REQUIRE(messageOf(checkRankSet(extents(0, {{3, 2}, {2, 3}}), 100)) ==
          "rank set 0,3,2,5,4,7: stride 3 does not exceed the span 4 of the smaller extents, so ranks may repeat");
  REQUIRE(messageOf(checkRankSet(extents(0, {{2, 0}}), 100)).find("stride 0 does not exceed") != std::string::npos);
  REQUIRE(messageOf(checkRankSet(extents(0, {{0, 1}}), 100)) == "rank set : an extent has count 0");
  REQUIRE(messageOf(checkRankSet(extents(4, {{8, 1}}), 8)) == "rank set 4..11: rank 11 is not below the world size 8");
  REQUIRE(messageOf(checkRankSet(listed({1, 2, 1}), 8)) == "rank set 1,2,1: rank 1 is listed twice");
  pb::RankSet both = listed({1});
  both.add_extents()->set_count(1);
  REQUIRE(messageOf(checkRankSet(both, 8)) == "rank set 1: it has both extents and listed ranks");
  REQUIRE(messageOf(checkRankSet(extents(~0u, {{~0u, ~0u}, {~0u, ~0u}}), ~0u)) != "");
  pb::GroupFamily family;
  family.set_name("tp");
  *family.mutable_groups() = extents(0, {{2, 1}});
  *family.mutable_members() = listed({0, 1});
  REQUIRE(messageOf(checkFamily(family, 8)) == "group family 'tp': rank 1 is in two groups");
  *family.mutable_members() = extents(6, {{2, 2}});
  REQUIRE(messageOf(checkFamily(family, 8)) == "group family 'tp': rank 9 is not below the world size 8");
}
