// Memory, copies, sums and the optimizer: both backends against direct computations.
#include "runtime/backends/BFloat16.h"
#include "runtime/backends/LaunchCheck.h"
#include "test/runtime/backends/KernelHarness.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

using namespace plait;
using namespace plait::test;

template <typename Function> static void forEachBackend(Function function) {
  for (auto make : {makeCpuBackend, makeReferenceBackend}) {
    auto backend = make();
    INFO(backend->name());
    function(*backend);
  }
}

TEST_CASE("backends have names") {
  CHECK(makeCpuBackend()->name() == "cpu");
  CHECK(makeReferenceBackend()->name() == "reference");
}

TEST_CASE("arena memory is zero and aligned") {
  forEachBackend([](Backend &backend) {
    for (uint64_t bytes : {0, 1, 100000}) {
      Result<void *> memory = backend.allocate(bytes);
      REQUIRE(bool(memory));
      CHECK(reinterpret_cast<uintptr_t>(*memory) % 64 == 0);
      auto *at = static_cast<unsigned char *>(*memory);
      CHECK(std::count(at, at + bytes, 0) == static_cast<int64_t>(bytes));
      std::memset(at, 7, bytes);
      backend.zero(at, bytes);
      CHECK(std::count(at, at + bytes, 0) == static_cast<int64_t>(bytes));
      backend.release(*memory, bytes);
    }
  });
}

TEST_CASE("an arena that does not fit is an error") {
  Result<void *> memory = makeCpuBackend()->allocate(uint64_t(1) << 60);
  REQUIRE(!memory);
  CHECK(memory.error().code == ExitCode::Runtime);
  CHECK(
      memory.error().message ==
      "cpu backend: out of memory: an arena of 1152921504606846976 bytes cannot be allocated: Cannot allocate memory");
}

TEST_CASE("bf16 rounds to nearest even, once") {
  CHECK(widen(narrow(1.0f)) == 1.0f);
  CHECK(narrow(std::bit_cast<float>(0x3f808000u)) == 0x3f80); // a tie goes to the even neighbour
  CHECK(narrow(std::bit_cast<float>(0x3f818000u)) == 0x3f82);
  CHECK(narrow(std::bit_cast<float>(0x3f808001u)) == 0x3f81);
  CHECK(narrow(std::numeric_limits<float>::max()) == 0x7f80); // rounds to infinity
  CHECK(std::isnan(widen(narrow(std::bit_cast<float>(0x7f800001u)))));
  CHECK(std::isnan(widen(narrow(std::nan("")))));
  // Just above and below a tie by less than an f32 can show.
  double tie = 1 + std::ldexp(1, -8);
  CHECK(narrow(tie) == 0x3f80);
  CHECK(narrow(tie + 1e-12) == 0x3f81);
  CHECK(narrow(-(tie + 1e-12)) == 0xbf81);
  CHECK(narrow(tie + std::ldexp(1, -7) - 1e-12) == 0x3f81);
}

TEST_CASE("copies follow strides and convert types") {
  std::mt19937 generator(19);
  forEachBackend([&](Backend &backend) {
    for (DType from : {DType::F32, DType::BF16})
      for (DType to : {DType::F32, DType::BF16})
        for (int64_t gapFrom : {0, 3})
          for (int64_t gapTo : {0, 2}) {
            Tensor source = Tensor({3, 4, 5}, from, gapFrom).random(generator), target({3, 4, 5}, to, gapTo);
            Tensor expected = target;
            expected.fill(source.values());
            backend.copy(source.desc, source.bytes.data(), target.desc, target.bytes.data());
            CHECK(target.bytes == expected.bytes);
          }
  });
}

TEST_CASE("copies take slices whose dimensions do not flatten") {
  forEachBackend([](Backend &backend) {
    // Samples 1 and 2 of 4: [s, b, w] = [3, 2, 2] inside [3, 4, 2], into a dense tensor and back.
    std::vector<int32_t> whole(24), part(12), back(24, -1);
    for (int i = 0; i < 24; ++i)
      whole[i] = i;
    TensorDesc slice{{3, 2, 2}, {8, 2, 1}, DType::I32}, dense = denseTensor({3, 2, 2}, DType::I32);
    backend.copy(slice, whole.data() + 2, dense, part.data());
    CHECK(part == std::vector<int32_t>{2, 3, 4, 5, 10, 11, 12, 13, 18, 19, 20, 21});
    backend.copy(dense, part.data(), slice, back.data() + 2);
    CHECK(back == std::vector<int32_t>{-1, -1, 2,  3,  4,  5,  -1, -1, -1, -1, 10, 11,
                                       12, 13, -1, -1, -1, -1, 18, 19, 20, 21, -1, -1});
    TensorDesc empty = denseTensor({3, 0, 2}, DType::I32);
    backend.copy(empty, nullptr, empty, nullptr);
  });
}

TEST_CASE("sums of squares are f64 sums and show what is not finite") {
  std::mt19937 generator(23);
  std::uniform_real_distribution<float> uniform(-3, 3);
  forEachBackend([&](Backend &backend) {
    for (uint64_t n : {0, 1, 7, 8, 9, 10007}) {
      std::vector<float> data(n);
      long double expected = 0;
      for (float &value : data) {
        value = uniform(generator);
        expected += static_cast<long double>(value) * value;
      }
      CHECK(std::fabs(backend.sumOfSquares(data.data(), n) - static_cast<double>(expected)) <=
            1e-12 * static_cast<double>(expected));
    }
    std::vector<float> bad(20, 1e30f);
    CHECK(std::isfinite(backend.sumOfSquares(bad.data(), 20))); // would overflow in f32
    for (float value : {std::nanf(""), std::numeric_limits<float>::infinity()})
      for (int at : {3, 19}) {
        std::vector<float> data(20, 1);
        data[at] = value;
        CHECK(!std::isfinite(backend.sumOfSquares(data.data(), 20)));
      }
  });
}

namespace {
/// The optimizer's own definition in double, over three steps.
struct Direct {
  std::vector<double> w, m, v;
  void update(const OptimizerStep &s, bool decay, const std::vector<double> &grad) {
    for (size_t i = 0; i < w.size(); ++i) {
      double g = grad[i] * s.gradScale, lambda = decay ? s.weightDecay : 0;
      if (s.kind == OptimizerStep::Sgd) {
        w[i] = w[i] - s.learningRate * (g + lambda * w[i]);
        continue;
      }
      m[i] = s.beta1 * m[i] + (1 - s.beta1) * g;
      v[i] = s.beta2 * v[i] + (1 - s.beta2) * g * g;
      double mHat = m[i] / (1 - std::pow(s.beta1, s.step)), vHat = v[i] / (1 - std::pow(s.beta2, s.step));
      w[i] = w[i] * (1 - s.learningRate * lambda) - s.learningRate * mHat / (std::sqrt(vHat) + s.epsilon);
    }
  }
};
} // namespace

TEST_CASE("optimizer steps follow their definitions") {
  forEachBackend([](Backend &backend) {
    for (auto kind : {OptimizerStep::Sgd, OptimizerStep::AdamW})
      for (bool decay : {false, true})
        for (DType paramType : {DType::F32, DType::BF16}) {
          INFO("kind " << kind << " decay " << decay << " parameters " << nameOf(paramType));
          std::mt19937 generator(29);
          constexpr int64_t n = 37;
          Tensor start = Tensor({n}, DType::F32).random(generator), m({n}, DType::F32), v({n}, DType::F32);
          Tensor master = start, param({n}, paramType);
          param.fill(start.values());
          Direct direct{start.values(), std::vector<double>(n, 0), std::vector<double>(n, 0)};
          for (int64_t step = 1; step <= 3; ++step) {
            OptimizerStep settings{kind, 0.1, 0.9, 0.95, 1e-6, 0.3, step, 0.5};
            Tensor grad = Tensor({n}, DType::F32).random(generator);
            auto f32 = [](Tensor &tensor) { return reinterpret_cast<float *>(tensor.bytes.data()); };
            backend.optimizerUpdate(settings, decay, n, f32(grad), paramType == DType::BF16 ? f32(master) : nullptr,
                                    f32(m), f32(v), param.bytes.data(), paramType);
            direct.update(settings, decay, grad.values());
          }
          const Tensor &weights = paramType == DType::BF16 ? master : param;
          CHECK(relativeError(weights.values(), direct.w) <= 3 * tolerance(DType::F32, 3));
          if (kind == OptimizerStep::AdamW) {
            CHECK(relativeError(m.values(), direct.m) <= 3 * tolerance(DType::F32, 3));
            CHECK(relativeError(v.values(), direct.v) <= 3 * tolerance(DType::F32, 3));
          }
          Tensor rounded({n}, paramType);
          rounded.fill(weights.values());
          CHECK(param.bytes == rounded.bytes);
        }
  });
}

TEST_CASE("denormals can be flushed to zero") {
  volatile float tiny = std::numeric_limits<float>::min(), half = 0.5f;
  CHECK(tiny * half != 0);
#if defined(__SSE__)
  unsigned before = __builtin_ia32_stmxcsr();
  setDenormalsToZero();
  float flushed = tiny * half;
  __builtin_ia32_ldmxcsr(before);
  CHECK(flushed == 0);
#endif
}
