// The cpu backend against the reference: every kernel, f32 and bf16 storage, odd sizes, rows with gaps, accumulation.
#include "test/runtime/backends/KernelHarness.h"
#include <catch2/catch.hpp>
#include <omp.h>
#include <thread>

using namespace plait;
using namespace plait::test;

static std::mt19937 generator(11);

static Tensor randoms(std::vector<int64_t> shape, DType dtype, int64_t gap = 0) {
  return Tensor(std::move(shape), dtype, gap).random(generator);
}
static Tensor positives(std::vector<int64_t> shape) {
  return Tensor(std::move(shape), DType::F32).random(generator, 0.5, 2);
}

/// Calls function(dtype, gap) for both storage types, dense and with gaps between rows.
template <typename Function> static void forEachStorage(Function function) {
  for (DType dtype : {DType::F32, DType::BF16})
    for (int64_t gap : {0, 5})
      function(dtype, gap);
}

TEST_CASE("cpu gemm") {
  struct Shape {
    int64_t m, n, k;
  };
  for (Shape s :
       {Shape{1, 1, 1}, {7, 5, 3}, {33, 17, 65}, {64, 128, 96}, {40, 24, 200}, {3, 4, 0}, {0, 4, 3}, {130, 1, 77}})
    for (int64_t flags = 0; flags < 8; ++flags) {
      int64_t transA = flags & 1, transB = flags >> 1 & 1, accumulate = flags >> 2;
      auto check = [&](DType a, DType b, DType c, int64_t gap) {
        INFO("m " << s.m << " n " << s.n << " k " << s.k << " transA " << transA << " transB " << transB
                  << " accumulate " << accumulate << " gap " << gap << " types " << nameOf(a) << " " << nameOf(b) << " "
                  << nameOf(c));
        Call call{Kernel::Gemm,
                  {transA ? randoms({s.k, s.m}, a, gap) : randoms({s.m, s.k}, a, gap),
                   transB ? randoms({s.n, s.k}, b, gap) : randoms({s.k, s.n}, b, gap), randoms({s.m, s.n}, c, gap)},
                  {transA, transB, accumulate}};
        compareWithReference(call, 2, s.k);
      };
      for (int64_t gap : {0, 3}) {
        check(DType::F32, DType::F32, DType::F32, gap);
        check(DType::BF16, DType::BF16, DType::BF16, gap);
        check(DType::BF16, DType::BF16, DType::F32, gap);
        check(DType::F32, DType::BF16, DType::F32, gap);
        check(DType::BF16, DType::F32, DType::BF16, gap);
      }
    }
}

TEST_CASE("cpu gemm flattens leading dimensions") {
  Call call{Kernel::Gemm,
            {randoms({3, 2, 8}, DType::F32, 4), randoms({8, 6}, DType::F32), randoms({3, 2, 6}, DType::F32, 1)},
            {0, 0, 0}};
  compareWithReference(call, 2, 8);
}

TEST_CASE("cpu bias gradient") {
  forEachStorage([](DType dtype, int64_t gap) {
    compareWithReference({Kernel::BiasGrad, {randoms({37, 3, 29}, dtype, gap), randoms({29}, DType::F32)}}, 1, 111);
  });
}

TEST_CASE("cpu rms norm and its gradients") {
  forEachStorage([](DType dtype, int64_t gap) {
    for (int64_t width : {1, 33, 99}) {
      int64_t runs = 5 * 3 * (99 / width);
      std::vector<int64_t> shape{5, 3, 99};
      Tensor x = randoms(shape, dtype, gap), dy = randoms(shape, dtype, gap), w = randoms({width}, dtype);
      compareWithReference(
          {Kernel::RmsNorm, {x, w, randoms(shape, dtype, gap), Tensor({runs}, DType::F32)}, {}, {1e-3}}, 2, width);
      compareWithReference({Kernel::RmsNormGrad, {dy, x, w, positives({runs}), randoms(shape, dtype, gap)}}, 4, width);
      compareWithReference({Kernel::RmsNormGradWeight, {dy, x, positives({runs}), randoms({width}, DType::F32)}}, 3,
                           runs);
    }
  });
}

TEST_CASE("cpu layer norm and its gradients") {
  forEachStorage([](DType dtype, int64_t gap) {
    for (int64_t width : {1, 31, 400}) {
      std::vector<int64_t> shape{5, 3, width};
      Tensor x = randoms(shape, dtype, gap), dy = randoms(shape, dtype, gap), w = randoms({width}, dtype),
             b = randoms({width}, dtype);
      Tensor mean = randoms({15}, DType::F32), rstd = positives({15}), vector = randoms({width}, DType::F32);
      Tensor statistics({15}, DType::F32);
      compareWithReference(
          {Kernel::LayerNorm, {x, w, b, randoms(shape, dtype, gap), statistics, statistics}, {}, {1e-3}}, 3, width);
      compareWithReference({Kernel::LayerNormGrad, {dy, x, w, mean, rstd, randoms(shape, dtype, gap)}}, 5, width);
      compareWithReference({Kernel::LayerNormGradWeight, {dy, x, mean, rstd, vector, vector}}, 4, 15);
    }
  });
}

TEST_CASE("cpu rope") {
  forEachStorage([](DType dtype, int64_t gap) {
    for (int64_t interleaved : {0, 1})
      for (int64_t inverse : {0, 1})
        for (int64_t rotary : {0, 6, 10}) {
          std::vector<double> doubles;
          for (int64_t j = 0; j < rotary / 2; ++j)
            doubles.push_back(1 / std::pow(10000, 2.0 * j / 10));
          doubles.push_back(1.25);
          compareWithReference({Kernel::Rope,
                                {randoms({9, 2, 30}, dtype, gap), randoms({9, 2, 30}, dtype, gap)},
                                {10, rotary, interleaved, inverse},
                                doubles,
                                {100000}},
                               1, 2);
        }
  });
}

TEST_CASE("cpu rope in place equals rope into another tensor") {
  auto cpu = makeCpuBackend();
  for (DType dtype : {DType::F32, DType::BF16})
    for (int64_t interleaved : {0, 1}) {
      Call call{Kernel::Rope,
                {randoms({4, 2, 18}, dtype), randoms({4, 2, 18}, dtype)},
                {6, 4, interleaved, 0},
                {1, 0.1, 1},
                {3}};
      auto compiled = cpu->compile(call.desc());
      REQUIRE(bool(compiled));
      Call apart = call;
      apart.run(*cpu);
      void *data[2] = {call.tensors[0].bytes.data(), call.tensors[0].bytes.data()};
      (*compiled)->run(data);
      CHECK(call.tensors[0].bytes == apart.tensors[1].bytes);
    }
}

TEST_CASE("cpu embeddings and their gradients") {
  forEachStorage([](DType dtype, int64_t gap) {
    Tensor tokens = Tensor::ids({4, 2}, {10, 12, 12, 9, 14, 15, 10, -1});
    std::vector<int64_t> shape{4, 2, 19};
    compareWithReference(
        {Kernel::Embedding, {tokens, randoms({5, 19}, dtype, gap), randoms(shape, dtype, gap)}, {}, {}, {10}}, 2, 1);
    compareWithReference(
        {Kernel::EmbeddingGrad, {randoms(shape, dtype, gap), tokens, randoms({5, 19}, DType::F32, gap)}, {}, {}, {10}},
        2, 3);
    compareWithReference({Kernel::PositionEmbedding,
                          {randoms(shape, dtype, gap), randoms({9, 19}, dtype, gap), randoms(shape, dtype, gap)},
                          {},
                          {},
                          {5}},
                         2, 1);
    compareWithReference(
        {Kernel::PositionEmbeddingGrad, {randoms(shape, dtype, gap), randoms({9, 19}, DType::F32, gap)}, {}, {}, {5}},
        1, 2);
  });
}

TEST_CASE("cpu cross entropy kernels") {
  forEachStorage([](DType dtype, int64_t gap) {
    for (int64_t vocabulary : {1, 37, 2500}) {
      std::vector<int64_t> shape{3, 2, vocabulary};
      Tensor logits = Tensor(shape, dtype, gap).random(generator, -9, 9);
      Tensor labels = Tensor::ids({3, 2}, {100, 100 + static_cast<int>(vocabulary) - 1, 99, -100, 105, 5000});
      Tensor row({3, 2}, DType::F32), m = Tensor({3, 2}, DType::F32).fill({9, 9, 9, 9, 9, 9});
      compareWithReference({Kernel::RowMax, {logits, row}}, 1, 1);
      compareWithReference({Kernel::RowSumExp, {logits, m, row}}, 2, vocabulary);
      compareWithReference({Kernel::RowPick, {logits, labels, row}, {}, {}, {100}}, 2, 1);
      compareWithReference({Kernel::CrossEntropy,
                            {m, positives({3, 2}), randoms({3, 2}, DType::F32), labels, row, randoms({1}, DType::F32)}},
                           4, 6);
      compareWithReference(
          {Kernel::CrossEntropyGrad, {logits, m, labels, positives({1}), randoms(shape, dtype, gap)}, {}, {}, {100}}, 4,
          1);
    }
  });
}

TEST_CASE("cpu pointwise evaluates every operation") {
  for (const char *instr :
       {"add %0 %1", "sub %0 %1", "mul %0 %1", "div %0 %2", "neg %0", "axpby %0 %1 -0.5 3", "scale_add %0 2.5 -1",
        "fma %0 %1 %2", "exp %0", "sigmoid %0", "tanh %0", "erf %0", "sqrt %2", "rsqrt %2", "max %0 %1", "min %0 %1"}) {
    INFO(instr);
    forEachStorage([&](DType dtype, int64_t gap) {
      for (int64_t cols : {1, 7, 513, 1100}) {
        Call call{Kernel::Pointwise,
                  {Tensor({3, 2, cols}, dtype, gap).random(generator, -6, 6), randoms({3, 2, cols}, dtype, gap),
                   Tensor({cols}, dtype).random(generator, 0.1, 4), randoms({3, 2, cols}, dtype, gap)}};
        call.program = pointwiseProgram("eer", {instr}, {3});
        compareWithReference(call, 3, 1);
      }
    });
  }
}

TEST_CASE("cpu pointwise functions are accurate element by element") {
  auto cpu = makeCpuBackend(), reference = makeReferenceBackend();
  std::vector<double> points;
  for (int i = -4000; i <= 4000; ++i)
    points.push_back(i * 0.02171);
  for (double tiny : {0.0, 1e-30, 1e-7, -1e-4, 0.6249999, 0.6250001, 0.9999999, 1.0000001, 88.7, -87.0})
    points.push_back(tiny);
  for (const char *instr : {"exp %0", "sigmoid %0", "tanh %0", "erf %0"}) {
    INFO(instr);
    Call call{
        Kernel::Pointwise,
        {Tensor({int64_t(points.size())}, DType::F32).fill(points), Tensor({int64_t(points.size())}, DType::F32)}};
    call.program = pointwiseProgram("e", {instr}, {1});
    Call expected = call;
    call.run(*cpu);
    expected.run(*reference);
    double worst = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      double actual = call.tensors[1].get(i), wanted = expected.tensors[1].get(i);
      if (std::fabs(wanted) > 1e-34) // sigmoid saturates at e^-80 = 1.8e-35
        worst = std::max(worst, std::fabs(actual - wanted) / std::fabs(wanted));
    }
    CHECK(worst < 4 * std::ldexp(1, -23));
  }
}

TEST_CASE("cpu pointwise keeps infinities and NaN") {
  auto cpu = makeCpuBackend();
  double infinity = std::numeric_limits<double>::infinity();
  auto result = [&](const char *instr, double value) {
    Call call{Kernel::Pointwise, {Tensor({1}, DType::F32).fill({value}), Tensor({1}, DType::F32)}};
    call.program = pointwiseProgram("e", {instr}, {1});
    call.run(*cpu);
    return call.tensors[1].get(0);
  };
  CHECK(result("exp %0", 200) == infinity);
  CHECK(result("exp %0", -200) == 0);
  CHECK(result("tanh %0", infinity) == 1);
  CHECK(result("erf %0", -infinity) == -1);
  CHECK(result("sigmoid %0", infinity) == 1);
  for (const char *instr : {"exp %0", "sigmoid %0", "tanh %0", "erf %0", "max %0 %0", "sqrt %0"})
    CHECK(std::isnan(result(instr, std::nan(""))));
  CHECK(std::isnan(result("sqrt %0", -1)));
}

TEST_CASE("cpu pointwise runs programs with several outputs and reused registers") {
  // SwiGLU backward: inputs dh, gate, up; outputs dgate, dup; and the input `up` passed through.
  std::vector<std::string> instrs = {"sigmoid %1",        "mul %1 %3",    "mul %0 %4", "mul %0 %2",
                                     "scale_add %3 -1 1", "fma %4 %7 %3", "mul %6 %8", "scale_add %9 1 0"};
  forEachStorage([&](DType dtype, int64_t gap) {
    std::vector<int64_t> shape{5, 2, 300};
    Call call{Kernel::Pointwise};
    for (int i = 0; i < 6; ++i)
      call.tensors.push_back(randoms(shape, dtype, gap));
    call.program = pointwiseProgram("eee", instrs, {10, 5, 2});
    compareWithReference(call, 3, 8);
  });
}

TEST_CASE("cpu pointwise may write its output over an input") {
  auto cpu = makeCpuBackend(), reference = makeReferenceBackend();
  for (DType dtype : {DType::F32, DType::BF16})
    // The second program reads the input after the first result, and passes it through besides.
    for (bool readsLate : {false, true}) {
      Call call{Kernel::Pointwise};
      for (int i = 0; i < 4; ++i)
        call.tensors.push_back(randoms({4, 700}, dtype));
      std::vector<std::string> instrs = {"add %0 %1", "mul %2 %2"};
      if (readsLate)
        instrs.push_back("mul %3 %0");
      call.program = pointwiseProgram("ee", instrs, {3, readsLate ? 0u : 2u});
      Call expected = call;
      expected.run(*reference);
      auto compiled = cpu->compile(call.desc());
      REQUIRE(bool(compiled));
      void *data[4] = {call.tensors[0].bytes.data(), call.tensors[1].bytes.data(), call.tensors[0].bytes.data(),
                       call.tensors[3].bytes.data()};
      (*compiled)->run(data);
      CHECK(relativeError(call.values(0), expected.values(2)) <= tolerance(dtype, 2));
      CHECK(relativeError(call.values(3), expected.values(3)) <= tolerance(dtype, 2));
    }
}

TEST_CASE("cpu launches repeat bit for bit and hold no state between runs") {
  auto cpu = makeCpuBackend();
  for (DType dtype : {DType::F32, DType::BF16}) {
    Call first{Kernel::Gemm, {randoms({70, 30}, dtype), randoms({70, 20}, dtype), Tensor({30, 20}, dtype)}, {1, 0, 0}};
    Call second{Kernel::Gemm, {randoms({70, 30}, dtype), randoms({70, 20}, dtype), Tensor({30, 20}, dtype)}, {1, 0, 0}};
    Call alone = second;
    alone.run(*cpu);
    auto compiled = cpu->compile(first.desc());
    REQUIRE(bool(compiled));
    for (Call *call : {&first, &second}) {
      void *data[3] = {call->tensors[0].bytes.data(), call->tensors[1].bytes.data(), call->tensors[2].bytes.data()};
      (*compiled)->run(data);
    }
    CHECK(second.tensors[2].bytes == alone.tensors[2].bytes);
  }
}

TEST_CASE("cpu launches use one thread, whichever thread runs them") {
  Call call{Kernel::Gemm, {randoms({8, 8}, DType::F32), randoms({8, 8}, DType::F32), Tensor({8, 8}, DType::F32)}};
  call.ints = {0, 0, 0};
  auto compiled = makeCpuBackend()->compile(call.desc());
  REQUIRE(bool(compiled));
  void *data[3] = {call.tensors[0].bytes.data(), call.tensors[1].bytes.data(), call.tensors[2].bytes.data()};
  int threads = 0;
  std::thread worker([&] {
    omp_set_num_threads(4);
    (*compiled)->run(data);
    threads = omp_get_max_threads();
  });
  worker.join();
  CHECK(threads == 1);
}
