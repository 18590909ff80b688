// compileTransfer executed on real arrays, and its cost against exhaustive search.
#include "RandomLayouts.h"
#include "runtime/plan/layout/Transfer.h"
#include <catch2/catch.hpp>
#include <map>

using namespace plait;
using namespace plait::test;

namespace {

struct Case {
  std::vector<int64_t> shape;
  std::vector<Residence> from, to;
  uint32_t domainSize = 1;
  DomainOf domainOf() const {
    return [size = domainSize](uint32_t rank) { return rank / size; };
  }
};

/// A layout of random, overlapping boxes. Targets ask only for what is held.
Case randomCase(std::mt19937 &random, int maxRank, int64_t maxExtent, bool pending) {
  Case c;
  c.shape = randomShape(random, maxRank, maxExtent);
  c.domainSize = pick(random, 1, 3);
  for (int64_t n = pick(random, 1, 5); n > 0; --n) {
    Residence source{uint32_t(pick(random, 0, 5)), randomBox(random, c.shape), pending};
    if (pending && random() % 2)
      source.addend = pick(random, 0, 2);
    c.from.push_back(source);
  }
  if (random() % 2)
    c.from.push_back({uint32_t(pick(random, 0, 5)), wholeBox(c.shape), pending, pending ? 1 : Residence::kOwnAddend});
  for (int64_t n = pick(random, 1, 4); n > 0; --n) {
    Residence target{uint32_t(pick(random, 0, 7)), randomBox(random, c.shape)};
    bool held = true;
    forEachIndex(target.box, [&](const std::vector<int64_t> &index, int64_t) {
      held &= std::any_of(c.from.begin(), c.from.end(), [&](const Residence &r) { return holds(r.box, index); });
    });
    if (held)
      c.to.push_back(target);
  }
  return c;
}

/// Key of the addend that a source holds: sources with equal keys hold equal values.
uint32_t termOf(const Case &c, uint32_t source) {
  if (!c.from[source].pending)
    return 0;
  return c.from[source].addend == Residence::kOwnAddend ? 100 + source : c.from[source].addend;
}

int64_t valueAt(const std::vector<int64_t> &index, uint32_t term) {
  int64_t value = 1 + term * 1000003;
  for (int64_t i : index)
    value = value * 31 + i;
  return value;
}

/// What the target box must hold: the sum over the terms of every element.
std::vector<int64_t> expected(const Case &c, const Residence &target) {
  std::vector<int64_t> values(target.box.elements(), 0);
  forEachIndex(target.box, [&](const std::vector<int64_t> &index, int64_t flat) {
    std::map<uint32_t, int64_t> terms;
    for (uint32_t i = 0; i < c.from.size(); ++i)
      if (holds(c.from[i].box, index))
        terms[termOf(c, i)] = valueAt(index, termOf(c, i));
    for (auto [term, value] : terms)
      values[flat] += value;
  });
  return values;
}

/// Copies through strided pieces of dense buffers, as an executor does.
std::vector<std::vector<int64_t>> execute(const Case &c, const std::vector<Message> &messages) {
  std::vector<std::vector<int64_t>> sources, targets;
  for (uint32_t i = 0; i < c.from.size(); ++i) {
    sources.emplace_back(c.from[i].box.elements());
    forEachIndex(c.from[i].box, [&](const std::vector<int64_t> &index, int64_t flat) {
      sources[i][flat] = valueAt(index, termOf(c, i));
    });
  }
  for (const Residence &target : c.to)
    targets.emplace_back(target.box.elements(), 0);
  for (const Message &m : messages) {
    REQUIRE(c.from[m.fromResidence].rank == m.from);
    REQUIRE(c.to[m.toResidence].rank == m.to);
    REQUIRE(contains(c.from[m.fromResidence].box, m.box));
    REQUIRE(contains(c.to[m.toResidence].box, m.box));
    std::vector<int64_t> wire;
    for (const StridedPiece &p : stridedPieces(c.from[m.fromResidence].box, m.box))
      for (int64_t row = 0; row < p.rows; ++row)
        for (int64_t i = 0; i < p.rowElements; ++i)
          wire.push_back(sources[m.fromResidence][p.offset + row * p.rowStride + i]);
    size_t at = 0;
    for (const StridedPiece &p : stridedPieces(c.to[m.toResidence].box, m.box))
      for (int64_t row = 0; row < p.rows; ++row)
        for (int64_t i = 0; i < p.rowElements; ++i) {
          int64_t &element = targets[m.toResidence][p.offset + row * p.rowStride + i];
          element = m.add ? element + wire[at++] : wire[at++];
        }
  }
  return targets;
}

/// Least cost of filling the target from the given copies, over every tiling of its box.
TransferCost leastCost(const Case &c, const std::vector<uint32_t> &copies, const Residence &target,
                       std::vector<char> &done) {
  int64_t first = -1;
  std::vector<int64_t> corner;
  forEachIndex(target.box, [&](const std::vector<int64_t> &index, int64_t flat) {
    bool held = std::any_of(copies.begin(), copies.end(), [&](uint32_t i) { return holds(c.from[i].box, index); });
    if (first < 0 && held && !done[flat]) {
      first = flat;
      corner = index;
    }
  });
  if (first < 0)
    return {};
  TransferCost least{1 << 20, 0, 0};
  Box room;
  for (size_t k = 0; k < corner.size(); ++k) {
    room.start.push_back(1);
    room.size.push_back(target.box.start[k] + target.box.size[k] - corner[k]);
  }
  forEachIndex(room, [&](const std::vector<int64_t> &size, int64_t) {
    Box tile{corner, size};
    bool isFree = true;
    forEachIndex(tile, [&](const std::vector<int64_t> &index, int64_t) { isFree &= !done[offsetIn(target.box, index)]; });
    if (!isFree)
      return;
    for (uint32_t i : copies) {
      if (!contains(c.from[i].box, tile))
        continue;
      std::vector<char> next = done;
      forEachIndex(tile, [&](const std::vector<int64_t> &index, int64_t) { next[offsetIn(target.box, index)] = 1; });
      TransferCost cost = leastCost(c, copies, target, next);
      if (c.from[i].rank != target.rank) {
        cost.crossings += c.domainOf()(c.from[i].rank) != c.domainOf()(target.rank);
        cost.messages += 1;
        cost.elements += tile.elements();
      }
      least = std::min(least, cost);
    }
  });
  return least;
}

std::string refusal(const Case &c) {
  auto messages = compileTransfer(c.shape, c.from, c.to, c.domainOf());
  return messages ? "" : messages.error().message;
}

} // namespace

TEST_CASE("transfers fill every target") {
  for (bool pending : {false, true}) {
    std::mt19937 random(pending ? 11 : 10);
    int targets = 0;
    for (int round = 0; round < 3000; ++round) {
      Case c = randomCase(random, 3, 7, pending);
      auto messages = compileTransfer(c.shape, c.from, c.to, c.domainOf());
      REQUIRE(messages);
      std::vector<std::vector<int64_t>> result = execute(c, *messages);
      for (size_t i = 0; i < c.to.size(); ++i)
        REQUIRE(result[i] == expected(c, c.to[i]));
      targets += static_cast<int>(c.to.size());
      auto again = compileTransfer(c.shape, c.from, c.to, c.domainOf());
      REQUIRE(*again == *messages);
    }
    REQUIRE(targets > 2000);
  }
}

TEST_CASE("crossings, messages and elements are least") {
  for (bool pending : {false, true}) {
    std::mt19937 random(pending ? 21 : 20);
    int nontrivial = 0;
    for (int round = 0; round < 400; ++round) {
      Case c = randomCase(random, 1, 6, pending);
      if (round % 3 == 0) { // 2 x 3 cells
        do
          c = randomCase(random, 2, 3, pending);
        while (c.shape.size() != 2 || c.shape[0] * c.shape[1] > 6);
      }
      auto messages = compileTransfer(c.shape, c.from, c.to, c.domainOf());
      REQUIRE(messages);
      TransferCost least;
      for (const Residence &target : c.to) {
        std::map<uint32_t, std::vector<uint32_t>> terms;
        for (uint32_t i = 0; i < c.from.size(); ++i)
          terms[termOf(c, i)].push_back(i);
        for (const auto &[term, copies] : terms) {
          std::vector<char> done(target.box.elements(), 0);
          TransferCost cost = leastCost(c, copies, target, done);
          least = {least.crossings + cost.crossings, least.messages + cost.messages, least.elements + cost.elements};
        }
      }
      REQUIRE(costOf(*messages, c.domainOf()) == least);
      nontrivial += least.messages > 1;
    }
    REQUIRE(nontrivial > 100);
  }
}

TEST_CASE("pending addends arrive in rank order") {
  Case c{{4}, {}, {{0, {{0}, {4}}}}};
  for (uint32_t rank : {5, 2, 0, 7})
    c.from.push_back({rank, {{0}, {4}}, true});
  auto messages = compileTransfer(c.shape, c.from, c.to, c.domainOf());
  std::vector<uint32_t> order;
  for (const Message &message : *messages) {
    REQUIRE(message.add);
    order.push_back(message.from);
  }
  REQUIRE(order == std::vector<uint32_t>{0, 2, 5, 7});
}

TEST_CASE("equal sources share the work") {
  Case c{{8}, {{0, {{0}, {8}}}, {1, {{0}, {8}}}}, {}};
  for (uint32_t rank = 2; rank < 6; ++rank)
    c.to.push_back({rank, {{0}, {8}}});
  auto messages = compileTransfer(c.shape, c.from, c.to, c.domainOf());
  std::vector<uint32_t> sources;
  for (const Message &message : *messages)
    sources.push_back(message.from);
  REQUIRE(sources == std::vector<uint32_t>{0, 1, 0, 1});
}

TEST_CASE("a tensor gathered from 1,000 ranks and from a 40 x 40 grid") {
  Case c{{3000}, {}, {{5, {{0}, {3000}}}}, 8};
  for (uint32_t rank = 0; rank < 1000; ++rank)
    c.from.push_back({rank, {{3 * int64_t(rank)}, {3}}});
  auto messages = compileTransfer(c.shape, c.from, c.to, c.domainOf());
  REQUIRE(costOf(*messages, c.domainOf()) == TransferCost{992, 999, 2997});
  Case grid{{40, 40}, {}, {{0, {{0, 0}, {40, 40}}}}, 2000};
  for (uint32_t rank = 0; rank < 1600; ++rank)
    grid.from.push_back({rank, {{rank / 40, rank % 40}, {1, 1}}});
  messages = compileTransfer(grid.shape, grid.from, grid.to, grid.domainOf());
  REQUIRE(costOf(*messages, grid.domainOf()) == TransferCost{0, 1599, 1599});
}

TEST_CASE("impossible transfers are refused by text") {
  REQUIRE(refusal({{4}, {{0, {{0}, {2}}}}, {{3, {{1}, {3}}}}}) == "rank 3 needs [2:4], which no rank holds");
  REQUIRE(refusal({{4}, {{0, {{0}, {5}}}}, {}}) == "rank 0 holds [0:5], which is not inside [0:4]");
  REQUIRE(refusal({{4}, {{0, {{0}, {4}}}, {1, {{0}, {4}}, true}}, {}}) ==
          "ranks 0 and 1: one holds a value and the other an addend of the same tensor");
  REQUIRE(refusal({{4}, {{0, {{0}, {4}}}}, {{1, {{0}, {4}}, true}}}) == "rank 1: the target of a transfer is pending");
}
