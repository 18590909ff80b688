#include "runtime/executor/Spans.h"
#include <catch2/catch.hpp>
#include <random>

using namespace plait;

namespace {

/// A plan of one rank that holds one box of one tensor.
pb::Plan onePlan(const std::vector<int64_t> &shape, const std::vector<int64_t> &start, const std::vector<int64_t> &size,
                 uint64_t offset) {
  pb::Plan plan;
  plan.set_world_size(1);
  pb::Tensor &tensor = *plan.add_tensors();
  for (int64_t s : shape)
    tensor.add_shape(s);
  pb::Role &role = *plan.add_roles();
  pb::Residence &residence = *role.add_residences();
  residence.set_offset(offset);
  for (int64_t s : start)
    residence.add_start()->set_constant(s);
  for (int64_t s : size)
    residence.add_size(s);
  plan.add_schedules();
  plan.add_ranks()->mutable_ranks()->add_listed(0);
  return plan;
}

} // namespace

TEST_CASE("held spans map every element of a box, in the longest runs") {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> shape, start, size;
    for (int d = 0, dims = 1 + int(random() % 3); d < dims; ++d) {
      shape.push_back(1 + int64_t(random() % 5));
      size.push_back(1 + int64_t(random() % uint64_t(shape.back())));
      start.push_back(int64_t(random() % uint64_t(shape.back() - size.back() + 1)));
    }
    const pb::Plan plan = onePlan(shape, start, size, 10);
    // Element by element: arena position -> flat logical index.
    std::vector<uint64_t> expected;
    std::vector<int64_t> index(shape.size(), 0);
    for (bool more = true; more;) {
      uint64_t flat = 0;
      for (size_t d = 0; d < shape.size(); ++d)
        flat = flat * uint64_t(shape[d]) + uint64_t(start[d] + index[d]);
      expected.push_back(flat);
      size_t d = shape.size();
      while (d > 0 && ++index[d - 1] == size[d - 1])
        index[--d] = 0;
      more = d > 0;
    }
    std::vector<uint64_t> actual;
    uint64_t lastEnd = ~0ull;
    for (const Span &span : heldSpans(plan, *RankPlace::find(plan, 0))) {
      REQUIRE(span.local == 10 + actual.size());
      CHECK(span.logical != lastEnd); // else the two would be one
      lastEnd = span.logical + span.count;
      for (uint64_t i = 0; i < span.count; ++i)
        actual.push_back(span.logical + i);
    }
    CHECK(actual == expected);
  }
}

TEST_CASE("rows of pieces, cut to a flat range") {
  pb::SyncPart part;
  auto add = [&](uint64_t offset, uint64_t rows, uint64_t width, uint64_t stride, bool decay) {
    pb::Piece &piece = *part.add_pieces();
    piece.set_offset(offset), piece.set_rows(rows), piece.set_row_elements(width), piece.set_row_stride(stride);
    piece.set_decay(decay);
  };
  add(100, 3, 2, 5, true); // flat 0..6: 100 101 105 106 110 111
  add(0, 2, 4, 4, false);  // flat 6..14: 0..8
  const std::vector<uint64_t> places = {100, 101, 105, 106, 110, 111, 0, 1, 2, 3, 4, 5, 6, 7};
  for (uint64_t begin = 0; begin <= places.size(); ++begin)
    for (uint64_t end = begin; end <= places.size(); ++end) {
      uint64_t next = begin;
      forEachRow(part, begin, end, [&](const PieceRow &row) {
        CHECK(row.flat == next);
        CHECK(row.decay == (row.flat < 6));
        for (uint64_t i = 0; i < row.count; ++i)
          CHECK(row.local + i == places[next + i]);
        next += row.count;
      });
      CHECK(next == end);
    }
}

TEST_CASE("owned parts of spans") {
  const std::vector<Span> spans = {{0, 50, 0, 10}, {1, 0, 10, 4}, {1, 8, 14, 4}};
  const std::vector<OwnedRun> runs = {{0, 2, 100, 3, false, true}, {0, 8, 200, 9, true, false}};
  const std::vector<OwnedSpan> owned = intersect(spans, runs);
  REQUIRE(owned.size() == 4);
  CHECK(owned[0].span == Span{0, 52, 2, 3});
  CHECK(owned[0].state == 100);
  CHECK(owned[1].span == Span{0, 58, 8, 2});
  CHECK(owned[1].state == 200);
  CHECK(owned[2].span == Span{1, 0, 10, 4});
  CHECK(owned[2].state == 202);
  CHECK(owned[3].span == Span{1, 8, 14, 3});
  CHECK(owned[3].state == 206);
  CHECK(owned[3].run == 1);
}
