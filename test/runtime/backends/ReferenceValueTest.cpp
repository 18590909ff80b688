// The reference kernels against values that follow from the definitions.
#include "test/runtime/backends/KernelHarness.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace plait;
using namespace plait::test;

static std::unique_ptr<Backend> reference = makeReferenceBackend();

static Tensor f64(std::vector<int64_t> shape, const std::vector<double> &values) {
  return Tensor(std::move(shape), DType::F64).fill(values);
}

static void checkValues(const Call &call, unsigned tensor, const std::vector<double> &expected) {
  CHECK(relativeError(call.values(tensor), expected) < 1e-12);
}

TEST_CASE("reference gemm multiplies, transposes and accumulates") {
  Call call{Kernel::Gemm,
            {f64({2, 3}, {1, 2, 3, 4, 5, 6}), f64({3, 2}, {7, 8, 9, 10, 11, 12}), f64({2, 2}, {1, 1, 1, 1})},
            {0, 0, 0}};
  call.run(*reference);
  checkValues(call, 2, {58, 64, 139, 154});
  call.ints[2] = 1;
  call.run(*reference);
  checkValues(call, 2, {116, 128, 278, 308});

  Call transposed{Kernel::Gemm,
                  {f64({3, 2}, {1, 4, 2, 5, 3, 6}), f64({2, 3}, {7, 9, 11, 8, 10, 12}), f64({2, 2}, {0, 0, 0, 0})},
                  {1, 1, 0}};
  transposed.run(*reference);
  checkValues(transposed, 2, {58, 64, 139, 154});
}

TEST_CASE("reference norms") {
  Call rms{Kernel::RmsNorm,
           {f64({1, 4}, {3, 4, 6, 8}), f64({2}, {1, 2}), f64({1, 4}, {0, 0, 0, 0}), f64({2}, {0, 0})},
           {},
           {0}};
  rms.run(*reference);
  double a = std::sqrt(12.5), b = std::sqrt(50);
  checkValues(rms, 2, {3 / a, 8 / a, 6 / b, 16 / b});
  checkValues(rms, 3, {1 / a, 1 / b});

  Call layer{Kernel::LayerNorm,
             {f64({2, 2}, {1, 3, -4, 4}), f64({2}, {2, 3}), f64({2}, {10, 20}), f64({2, 2}, {0, 0, 0, 0}),
              f64({2}, {0, 0}), f64({2}, {0, 0})},
             {},
             {0}};
  layer.run(*reference);
  checkValues(layer, 3, {8, 23, 8, 23});
  checkValues(layer, 4, {2, 0});
  checkValues(layer, 5, {1, 0.25});
}

TEST_CASE("reference rope turns pairs by position times frequency") {
  double quarter = std::acos(-1.0) / 2;
  // Two positions from 1 on, one sample, one head of 5 elements of which 4 turn; the second pair does not move.
  Call call{Kernel::Rope,
            {f64({2, 1, 5}, {1, 2, 3, 4, 5, 1, 2, 3, 4, 5}), f64({2, 1, 5}, std::vector<double>(10))},
            {5, 4, 0, 0},
            {quarter, 0, 1},
            {1}};
  call.run(*reference);
  checkValues(call, 1, {-3, 2, 1, 4, 5, -1, 2, -3, 4, 5});
  call.ints[2] = 1; // interleaved
  call.run(*reference);
  checkValues(call, 1, {-2, 1, 3, 4, 5, -1, -2, 3, 4, 5});
  call.ints[3] = 1; // inverse
  call.doubles[2] = 2;
  call.run(*reference);
  checkValues(call, 1, {4, -2, 6, 8, 5, -2, -4, 6, 8, 5});
}

TEST_CASE("reference attention averages what a query sees") {
  // Zero queries weigh all seen keys alike. Three positions, one sample, two query heads on one KV head.
  auto call = [](int64_t causal, int64_t window) {
    Call call{Kernel::Attention,
              {f64({3, 1, 2}, std::vector<double>(6)), f64({3, 1, 1}, {5, 6, 7}), f64({3, 1, 1}, {3, 6, 12}),
               f64({3, 1, 2}, std::vector<double>(6)), f64({3, 1, 2}, std::vector<double>(6))},
              {1, 2, causal, window},
              {0.5},
              {0}};
    call.run(*reference);
    return call;
  };
  checkValues(call(0, 0), 3, {7, 7, 7, 7, 7, 7});
  checkValues(call(1, 0), 3, {3, 3, 4.5, 4.5, 7, 7});
  checkValues(call(1, 2), 3, {3, 3, 4.5, 4.5, 9, 9});
  checkValues(call(0, 2), 3, {7, 7, 7, 7, 9, 9});
  checkValues(call(1, 0), 4, {0, 0, std::log(2), std::log(2), std::log(3), std::log(3)});
}

TEST_CASE("reference attention selects the KV head of each query head") {
  // Heads 2 and 3 of 6 with three query heads on a KV head: the first reads KV head 0, the second KV head 1.
  Call call{Kernel::Attention,
            {f64({1, 1, 2}, {1, 1}), f64({1, 1, 2}, {1, 1}), f64({1, 1, 2}, {10, 20}), f64({1, 1, 2}, {0, 0}),
             f64({1, 1, 2}, {0, 0})},
            {1, 3, 1, 0},
            {1},
            {2}};
  call.run(*reference);
  checkValues(call, 3, {10, 20});
}

TEST_CASE("reference attention gives zeros where a query sees no key") {
  Call call{Kernel::Attention,
            {f64({4, 1, 1}, {1, 1, 1, 1}), f64({1, 1, 1}, {1}), f64({1, 1, 1}, {5}), f64({4, 1, 1}, {9, 9, 9, 9}),
             f64({4, 1, 1}, {0, 0, 0, 0})},
            {1, 1, 1, 2},
            {1},
            {0}};
  call.run(*reference);
  checkValues(call, 3, {5, 5, 0, 0});
  CHECK(call.values(4)[3] == -std::numeric_limits<double>::infinity());
}

TEST_CASE("reference embeddings read and add rows") {
  Call lookup{Kernel::Embedding,
              {Tensor::ids({3, 1}, {11, 10, 7}), f64({2, 2}, {1, 2, 3, 4}), f64({3, 1, 2}, std::vector<double>(6, 9))},
              {},
              {},
              {10}};
  lookup.run(*reference);
  checkValues(lookup, 2, {3, 4, 1, 2, 0, 0});

  Call grad{Kernel::EmbeddingGrad,
            {f64({3, 1, 2}, {1, 2, 3, 4, 5, 6}), Tensor::ids({3, 1}, {11, 11, 7}), f64({2, 2}, {1, 1, 1, 1})},
            {},
            {},
            {10}};
  grad.run(*reference);
  checkValues(grad, 2, {1, 1, 5, 7});

  Call position{Kernel::PositionEmbedding,
                {f64({2, 2, 1}, {1, 2, 3, 4}), f64({4, 1}, {10, 20, 30, 40}), f64({2, 2, 1}, {0, 0, 0, 0})},
                {},
                {},
                {1}};
  position.run(*reference);
  checkValues(position, 2, {21, 22, 33, 34});

  Call positionGrad{
      Kernel::PositionEmbeddingGrad, {f64({2, 2, 1}, {1, 2, 3, 4}), f64({4, 1}, {1, 1, 1, 1})}, {}, {}, {1}};
  positionGrad.run(*reference);
  checkValues(positionGrad, 1, {1, 4, 8, 1});
}

TEST_CASE("reference pointwise evaluates every operation") {
  auto result = [](const std::string &instr) {
    Call call{Kernel::Pointwise, {f64({1, 2}, {0.5, 2}), f64({1, 2}, {3, -4}), f64({2}, {7, 9}), f64({1, 2}, {0, 0})}};
    call.program = pointwiseProgram("eer", {instr}, {3});
    call.run(*reference);
    return call.values(3);
  };
  using Values = std::vector<double>;
  CHECK(result("add %0 %1") == Values{3.5, -2});
  CHECK(result("sub %0 %1") == Values{-2.5, 6});
  CHECK(result("mul %0 %1") == Values{1.5, -8});
  CHECK(result("div %1 %0") == Values{6, -2});
  CHECK(result("neg %0") == Values{-0.5, -2});
  CHECK(result("axpby %0 %1 2 10") == Values{31, -36});
  CHECK(result("scale_add %0 2 10") == Values{11, 14});
  CHECK(result("fma %0 %1 %2") == Values{8.5, 1});
  CHECK(result("exp %0") == Values{std::exp(0.5), std::exp(2)});
  CHECK(result("sigmoid %0") == Values{1 / (1 + std::exp(-0.5)), 1 / (1 + std::exp(-2))});
  CHECK(result("tanh %0") == Values{std::tanh(0.5), std::tanh(2)});
  CHECK(result("erf %1") == Values{std::erf(3), std::erf(-4)});
  CHECK(result("sqrt %2") == Values{std::sqrt(7), 3});
  CHECK(relativeError(result("rsqrt %2"), {1 / std::sqrt(7), 1.0 / 3}) < 1e-15);
  CHECK(result("max %0 %1") == Values{3, 2});
  CHECK(result("min %0 %1") == Values{0.5, -4});
}
