// Every gradient kernel of the reference backend against central finite differences of its forward kernel, in f64.
#include "test/runtime/backends/KernelHarness.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace plait;
using namespace plait::test;

static std::unique_ptr<Backend> reference = makeReferenceBackend();
static constexpr double closeEnough = 1e-8;

static Tensor zeros(std::vector<int64_t> shape) { return Tensor(std::move(shape), DType::F64); }
static Tensor randoms(std::vector<int64_t> shape, std::mt19937 &generator) {
  return zeros(std::move(shape)).random(generator);
}

/// Loss sum(weights * result `output` of `forward`), differentiated by operand `input`.
static std::vector<double> expectedGradient(Call &forward, unsigned input, unsigned output, const Tensor &weights) {
  return numericGradient(forward.tensors[input], [&] {
    forward.run(*reference);
    double loss = 0;
    for (int64_t i = 0; i < weights.elements(); ++i)
      loss += weights.get(i) * forward.tensors[output].get(i);
    return loss;
  });
}

TEST_CASE("rms norm gradients") {
  std::mt19937 generator(1);
  for (int64_t width : {6, 3}) { // the whole row, and two runs in each row
    int64_t runs = 4 * 6 / width;
    Call forward{Kernel::RmsNorm,
                 {randoms({2, 2, 6}, generator), randoms({width}, generator), zeros({2, 2, 6}), zeros({runs})},
                 {},
                 {1e-3}};
    forward.run(*reference);
    Tensor dy = randoms({2, 2, 6}, generator);
    Call grad{Kernel::RmsNormGrad, {dy, forward.tensors[0], forward.tensors[1], forward.tensors[3], zeros({2, 2, 6})}};
    Call weight{Kernel::RmsNormGradWeight, {dy, forward.tensors[0], forward.tensors[3], zeros({width})}};
    grad.run(*reference);
    weight.run(*reference);
    CHECK(relativeError(grad.values(4), expectedGradient(forward, 0, 2, dy)) < closeEnough);
    CHECK(relativeError(weight.values(3), expectedGradient(forward, 1, 2, dy)) < closeEnough);
  }
}

TEST_CASE("layer norm gradients") {
  std::mt19937 generator(2);
  Call forward{Kernel::LayerNorm,
               {randoms({3, 1, 5}, generator), randoms({5}, generator), randoms({5}, generator), zeros({3, 1, 5}),
                zeros({3}), zeros({3})},
               {},
               {1e-3}};
  forward.run(*reference);
  Tensor dy = randoms({3, 1, 5}, generator);
  Call grad{Kernel::LayerNormGrad,
            {dy, forward.tensors[0], forward.tensors[1], forward.tensors[4], forward.tensors[5], zeros({3, 1, 5})}};
  Call weight{Kernel::LayerNormGradWeight,
              {dy, forward.tensors[0], forward.tensors[4], forward.tensors[5], zeros({5}), zeros({5})}};
  grad.run(*reference);
  weight.run(*reference);
  CHECK(relativeError(grad.values(5), expectedGradient(forward, 0, 3, dy)) < closeEnough);
  CHECK(relativeError(weight.values(4), expectedGradient(forward, 1, 3, dy)) < closeEnough);
  CHECK(relativeError(weight.values(5), expectedGradient(forward, 2, 3, dy)) < closeEnough);
}

TEST_CASE("rope backward is its inverse rotation") {
  std::mt19937 generator(3);
  for (int64_t interleaved : {0, 1}) {
    Call forward{Kernel::Rope,
                 {randoms({3, 2, 12}, generator), zeros({3, 2, 12})},
                 {6, 4, interleaved, 0},
                 {0.7, 0.1, 1.3},
                 {5}};
    Tensor dy = randoms({3, 2, 12}, generator);
    Call grad{Kernel::Rope, {dy, zeros({3, 2, 12})}, {6, 4, interleaved, 1}, forward.doubles, forward.offsets};
    grad.run(*reference);
    CHECK(relativeError(grad.values(1), expectedGradient(forward, 0, 1, dy)) < closeEnough);
  }
}

TEST_CASE("attention gradients") {
  std::mt19937 generator(4);
  struct Shape {
    int64_t queries, keys, heads, kvHeads, ratio, shift, causal, window;
  };
  for (Shape s : {Shape{4, 4, 2, 2, 1, 0, 1, 0}, Shape{4, 4, 4, 2, 2, 0, 1, 2}, Shape{3, 5, 2, 1, 2, 0, 0, 0},
                  Shape{4, 4, 2, 2, 3, 2, 1, 0}, Shape{5, 5, 3, 2, 2, 1, 0, 2}, Shape{4, 2, 1, 1, 1, 0, 1, 2}}) {
    INFO("queries " << s.queries << " keys " << s.keys << " heads " << s.heads << " shift " << s.shift << " window "
                    << s.window);
    int64_t batch = 2, dim = 2;
    std::vector<int64_t> query{s.queries, batch, s.heads * dim}, key{s.keys, batch, s.kvHeads * dim};
    Call forward{Kernel::Attention,
                 {randoms(query, generator), randoms(key, generator), randoms(key, generator), zeros(query),
                  zeros({s.queries, batch, s.heads})},
                 {dim, s.ratio, s.causal, s.window},
                 {0.8},
                 {s.shift}};
    forward.run(*reference);
    Tensor dO = randoms(query, generator);
    Call grad{Kernel::AttentionGrad,
              {dO, forward.tensors[0], forward.tensors[1], forward.tensors[2], forward.tensors[3], forward.tensors[4],
               zeros(query), zeros(key), zeros(key)},
              forward.ints,
              forward.doubles,
              forward.offsets};
    grad.run(*reference);
    for (unsigned i = 0; i < 3; ++i)
      CHECK(relativeError(grad.values(6 + i), expectedGradient(forward, i, 3, dO)) < closeEnough);
  }
}

TEST_CASE("embedding, position and bias gradients") {
  std::mt19937 generator(5);
  Tensor dy = randoms({3, 2, 4}, generator);
  Call lookup{Kernel::Embedding,
              {Tensor::ids({3, 2}, {4, 5, 4, 9, 6, 4}), randoms({3, 4}, generator), zeros({3, 2, 4})},
              {},
              {},
              {4}};
  Call lookupGrad{Kernel::EmbeddingGrad, {dy, lookup.tensors[0], zeros({3, 4})}, {}, {}, {4}};
  lookupGrad.run(*reference);
  CHECK(relativeError(lookupGrad.values(2), expectedGradient(lookup, 1, 2, dy)) < closeEnough);

  Call position{Kernel::PositionEmbedding,
                {randoms({3, 2, 4}, generator), randoms({5, 4}, generator), zeros({3, 2, 4})},
                {},
                {},
                {1}};
  Call positionGrad{Kernel::PositionEmbeddingGrad, {dy, zeros({5, 4})}, {}, {}, {1}};
  positionGrad.run(*reference);
  CHECK(relativeError(positionGrad.values(1), expectedGradient(position, 1, 2, dy)) < closeEnough);

  Call bias{Kernel::Pointwise, {randoms({3, 2, 4}, generator), randoms({4}, generator), zeros({3, 2, 4})}};
  bias.program = pointwiseProgram("er", {"add %0 %1"}, {2});
  Call biasGrad{Kernel::BiasGrad, {dy, zeros({4})}};
  biasGrad.run(*reference);
  CHECK(relativeError(biasGrad.values(1), expectedGradient(bias, 1, 2, dy)) < closeEnough);
}

TEST_CASE("gemm gradients are gemms") {
  std::mt19937 generator(6);
  Call forward{Kernel::Gemm, {randoms({3, 4}, generator), randoms({4, 5}, generator), zeros({3, 5})}, {0, 0, 0}};
  Tensor dc = randoms({3, 5}, generator);
  Call da{Kernel::Gemm, {dc, forward.tensors[1], zeros({3, 4})}, {0, 1, 0}};
  Call db{Kernel::Gemm, {forward.tensors[0], dc, zeros({4, 5})}, {1, 0, 0}};
  da.run(*reference);
  db.run(*reference);
  CHECK(relativeError(da.values(2), expectedGradient(forward, 0, 2, dc)) < closeEnough);
  CHECK(relativeError(db.values(2), expectedGradient(forward, 1, 2, dc)) < closeEnough);
}

TEST_CASE("cross entropy gradient") {
  std::mt19937 generator(7);
  Tensor logits = zeros({2, 2, 5}).random(generator, -3, 3), labels = Tensor::ids({2, 2}, {0, 4, -100, 2});
  double scale = 0.25;
  Tensor lse = zeros({4});
  auto loss = [&] {
    Call top{Kernel::RowMax, {logits, zeros({4})}};
    top.run(*reference);
    Call sum{Kernel::RowSumExp, {logits, top.tensors[1], zeros({4})}};
    sum.run(*reference);
    Call pick{Kernel::RowPick, {logits, labels, zeros({4})}, {}, {}, {0}};
    pick.run(*reference);
    Call total{Kernel::CrossEntropy, {top.tensors[1], sum.tensors[2], pick.tensors[2], labels, zeros({4}), zeros({1})}};
    total.run(*reference);
    lse = total.tensors[4];
    return scale * total.values(5)[0];
  };
  std::vector<double> expected = numericGradient(logits, loss);
  loss();
  Call grad{Kernel::CrossEntropyGrad, {logits, lse, labels, zeros({1}).fill({scale}), zeros({2, 2, 5})}, {}, {}, {0}};
  grad.run(*reference);
  CHECK(relativeError(grad.values(4), expected) < closeEnough);
}
