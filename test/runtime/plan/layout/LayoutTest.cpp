// Boxes, strided pieces, atoms and checkpoint views against element-by-element definitions.
#include "RandomLayouts.h"
#include "runtime/plan/layout/CheckpointView.h"
#include <catch2/catch.hpp>

using namespace plait;
using namespace plait::test;

TEST_CASE("strided pieces address the elements of a part in order") {
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    std::vector<int64_t> shape = randomShape(random, 4, 5);
    Box outer = randomBox(random, shape);
    Box inner = randomBox(random, outer.size);
    for (size_t k = 0; k < shape.size(); ++k)
      inner.start[k] += outer.start[k];
    REQUIRE(contains(outer, inner));
    std::vector<int64_t> expected, found;
    forEachIndex(inner, [&](const std::vector<int64_t> &index, int64_t) { expected.push_back(offsetIn(outer, index)); });
    std::vector<StridedPiece> pieces = stridedPieces(outer, inner);
    for (const StridedPiece &piece : pieces) {
      if (piece.rows > 1)
        REQUIRE(piece.rowStride > piece.rowElements);
      for (int64_t row = 0; row < piece.rows; ++row)
        for (int64_t i = 0; i < piece.rowElements; ++i)
          found.push_back(piece.offset + row * piece.rowStride + i);
    }
    REQUIRE(found == expected);
    if (shape.size() <= 2)
      REQUIRE(pieces.size() == 1);
    if (expected.back() - expected.front() + 1 == int64_t(expected.size()))
      REQUIRE(pieces == std::vector<StridedPiece>{{expected.front(), 1, inner.elements(), inner.elements()}});
  }
}

TEST_CASE("intersections hold the common elements") {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int64_t> shape = randomShape(random, 3, 5);
    Box a = randomBox(random, shape), b = randomBox(random, shape);
    std::optional<Box> common = intersect(a, b);
    int64_t count = 0;
    forEachIndex(wholeBox(shape), [&](const std::vector<int64_t> &index, int64_t) {
      bool both = holds(a, index) && holds(b, index);
      count += both;
      REQUIRE(both == (common && holds(*common, index)));
    });
    REQUIRE(count == (common ? common->elements() : 0));
    REQUIRE(isInside(a, shape));
  }
  REQUIRE_FALSE(isInside({{1}, {3}}, {3}));
  REQUIRE_FALSE(isInside({{0}, {0}}, {3}));
  REQUIRE_FALSE(isInside({{-1}, {2}}, {3}));
  REQUIRE_FALSE(isInside({{INT64_MAX}, {INT64_MAX}}, {3}));
  REQUIRE_FALSE(isInside({{0, 0}, {1, 1}}, {3}));
  REQUIRE(toString(Box{{0, 8}, {4, 8}}) == "[0:4, 8:16]");
}

TEST_CASE("atoms partition the tensor by holders") {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    std::vector<int64_t> shape = randomShape(random, 3, 6);
    std::vector<Residence> residences(pick(random, 0, 6));
    for (size_t i = 0; i < residences.size(); ++i)
      residences[i] = {uint32_t(i), randomBox(random, shape)};
    std::vector<Atom> parts = atoms(shape, residences);
    int64_t changes = 0;
    std::vector<uint32_t> previous;
    forEachIndex(wholeBox(shape), [&](const std::vector<int64_t> &index, int64_t flat) {
      std::vector<uint32_t> holders;
      for (uint32_t i = 0; i < residences.size(); ++i)
        if (holds(residences[i].box, index))
          holders.push_back(i);
      int owners = 0;
      for (const Atom &atom : parts)
        if (holds(atom.box, index)) {
          ++owners;
          REQUIRE(atom.holders == holders);
        }
      REQUIRE(owners == 1);
      changes += flat == 0 || holders != previous;
      previous = holders;
    });
    if (shape.size() == 1)
      REQUIRE(int64_t(parts.size()) == changes);
    for (size_t i = 1; i < parts.size(); ++i)
      REQUIRE(parts[i - 1].box.start < parts[i].box.start);
  }
}

TEST_CASE("shared KV heads: three ranks over two heads give three atoms") {
  // Heads of 16 rows; ranks 0..2 serve query heads 0-1, 2-3, 4-5 of 6 with ratio 3.
  std::vector<Residence> residences{{0, {{0, 0}, {16, 96}}}, {1, {{0, 0}, {32, 96}}}, {2, {{16, 0}, {16, 96}}}};
  std::vector<Atom> parts = atoms({32, 96}, residences);
  REQUIRE(parts == std::vector<Atom>{{{{0, 0}, {16, 96}}, {0, 1}}, {{{16, 0}, {16, 96}}, {1, 2}}});
}

TEST_CASE("residences outside the tensor are named") {
  REQUIRE(checkResidences({4, 4}, {{0, {{0, 0}, {4, 4}}}}));
  REQUIRE(checkResidences({4, 4}, {{7, {{0, 2}, {4, 4}}}}).error().message ==
          "rank 7 holds [0:4, 2:6], which is not inside [0:4, 0:4]");
  REQUIRE(checkResidences({4, 0}, {}).error().message == "a tensor of shape [0:4, 0:0] has no elements");
}

namespace {

pb::Tensor viewOf(std::vector<int64_t> shape, std::vector<int64_t> hfShape, int64_t base, std::vector<int64_t> sizes,
                  std::vector<int64_t> strides) {
  pb::Tensor tensor;
  tensor.set_name("w");
  tensor.set_hf_name("hf.w");
  tensor.set_hf_base(base);
  *tensor.mutable_shape() = {shape.begin(), shape.end()};
  *tensor.mutable_hf_shape() = {hfShape.begin(), hfShape.end()};
  *tensor.mutable_hf_sizes() = {sizes.begin(), sizes.end()};
  *tensor.mutable_hf_strides() = {strides.begin(), strides.end()};
  return tensor;
}

/// Checkpoint offset of every element of the box, by the definition in plan.proto.
std::vector<int64_t> offsetsByDefinition(const pb::Tensor &tensor, const Box &box) {
  std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end()), offsets;
  forEachIndex(box, [&](const std::vector<int64_t> &index, int64_t) {
    int64_t flat = offsetIn(wholeBox(shape), index), offset = tensor.hf_base();
    for (int k = tensor.hf_sizes_size() - 1; k >= 0; flat /= tensor.hf_sizes(k), --k)
      offset += flat % tensor.hf_sizes(k) * tensor.hf_strides(k);
    offsets.push_back(tensor.hf_sizes_size() ? offset : flat);
  });
  return offsets;
}

std::vector<int64_t> offsetsByRuns(const CheckpointView &view, const Box &box) {
  std::vector<int64_t> offsets;
  view.forEachRun(box, [&](const ViewRun &run) {
    REQUIRE(run.boxOffset == int64_t(offsets.size()));
    for (int64_t i = 0; i < run.count; ++i)
      offsets.push_back(run.fileOffset + i * run.fileStride);
  });
  return offsets;
}

std::string refusal(const pb::Tensor &tensor) {
  Result<CheckpointView> view = CheckpointView::of(tensor);
  return view ? "" : view.error().message;
}

} // namespace

TEST_CASE("checkpoint views follow their definition") {
  std::vector<pb::Tensor> tensors{
      viewOf({6, 4}, {6, 4}, 0, {}, {}),
      viewOf({6, 4}, {6, 4}, 0, {6, 4}, {4, 1}),
      viewOf({6, 4}, {4, 18}, 6, {6, 4}, {1, 18}),        // the middle third of a transposed, fused tensor
      viewOf({6, 4}, {18, 4}, 8, {3, 2, 4}, {24, 4, 1}),  // interleaved by head: [3 heads, 3, 2 rows, 4]
      viewOf({6}, {18}, 2, {3, 2}, {6, 1}),
      viewOf({1, 1}, {5}, 4, {1, 1}, {7, 9}),
  };
  std::mt19937 random(4);
  for (const pb::Tensor &tensor : tensors) {
    Result<CheckpointView> view = CheckpointView::of(tensor);
    REQUIRE(view);
    for (int round = 0; round < 200; ++round) {
      Box box = randomBox(random, view->shape());
      REQUIRE(offsetsByRuns(*view, box) == offsetsByDefinition(tensor, box));
    }
  }
  int runs = 0;
  CheckpointView::of(tensors[1])->forEachRun(wholeBox({6, 4}), [&](const ViewRun &) { ++runs; });
  REQUIRE(runs == 1);
}

TEST_CASE("impossible checkpoint views are refused by text") {
  REQUIRE(refusal(viewOf({6, 4}, {6, 4}, 0, {6, 5}, {4, 1})) ==
          "tensor 'w': checkpoint sizes [6, 5] with 2 strides do not factor shape [6, 4]");
  REQUIRE(refusal(viewOf({6, 4}, {6, 4}, 0, {6, 4}, {4})) ==
          "tensor 'w': checkpoint sizes [6, 4] with 1 strides do not factor shape [6, 4]");
  REQUIRE(refusal(viewOf({6, 4}, {6, 4}, 1, {6, 4}, {4, 1})) ==
          "tensor 'w': its view leaves checkpoint tensor 'hf.w' of shape [6, 4]");
  REQUIRE(refusal(viewOf({6, 4}, {6, 4}, 0, {6, 4}, {INT64_MAX, 1})).find("its view leaves") != std::string::npos);
  REQUIRE(refusal(viewOf({6, 4}, {60, 4}, 0, {6, 4}, {2, 1})) ==
          "tensor 'w': checkpoint strides [2, 1] address an element twice");
  REQUIRE(refusal(viewOf({6, 4}, {60, 4}, 0, {6, 4}, {-4, 1})).find("its view leaves") != std::string::npos);
  REQUIRE(refusal(viewOf({6, 0}, {6, 4}, 0, {}, {})) == "tensor 'w': shape [6, 0] is not possible");
  REQUIRE(refusal(viewOf({INT64_MAX, 3}, {6, 4}, 0, {}, {})).find("is not possible") != std::string::npos);
}
