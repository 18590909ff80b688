#include "runtime/executor/InitialWeights.h"
#include "runtime/executor/Philox.h"
#include "runtime/executor/RunOptions.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace plait;

TEST_CASE("philox gives the published known answers") {
  // Random123's known-answer vectors of philox4x32-10.
  CHECK(philox(0, {0, 0, 0, 0}) == std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(~0ull, {~0u, ~0u, ~0u, ~0u}) ==
        std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox(0x299f31d0a4093822ull, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("portable functions agree with the platform's") {
  for (int i = 1; i < 20000; ++i) {
    const double x = i * 0x1p-12, turns = (i % 4097) / 4096.0;
    CHECK(std::abs(portableLog(x) - std::log(x)) <= 4e-16 * std::max(1.0, std::abs(std::log(x))));
    CHECK(std::abs(portableCosSin(turns).cos - std::cos(2 * M_PI * turns)) < 1e-15);
    CHECK(std::abs(portableCosSin(turns).sin - std::sin(2 * M_PI * turns)) < 1e-15);
  }
  CHECK(portableLog(0x1p-33) == Approx(-33 * M_LN2).epsilon(1e-15));
}

TEST_CASE("initial elements are normal, and any part can be drawn alone") {
  pb::Init init;
  init.set_kind(pb::Init::NORMAL);
  init.set_std(0.02);
  std::vector<float> all(200000);
  initialElements(init, 7, 3, 0, all);
  double sum = 0, squares = 0, fourth = 0, beyondTwo = 0;
  for (float value : all) {
    const double x = value / 0.02;
    sum += x, squares += x * x, fourth += x * x * x * x, beyondTwo += std::abs(x) > 2;
  }
  const double n = double(all.size());
  CHECK(std::abs(sum / n) < 4 / std::sqrt(n));
  CHECK(std::abs(squares / n - 1) < 4 * std::sqrt(2 / n));
  CHECK(std::abs(fourth / n - 3) < 4 * std::sqrt(96 / n));
  CHECK(std::abs(beyondTwo / n - 0.0455) < 0.002);
  for (uint64_t first : {0, 1, 2, 3, 4, 999})
    for (size_t count : {1, 2, 5, 64}) {
      std::vector<float> part(count);
      initialElements(init, 7, 3, first, part);
      CHECK(part == std::vector<float>(all.begin() + long(first), all.begin() + long(first + count)));
    }
  std::vector<float> other(64);
  initialElements(init, 7, 4, 0, other);
  CHECK(other != std::vector<float>(all.begin(), all.begin() + 64));
  initialElements(init, 8, 3, 0, other);
  CHECK(other != std::vector<float>(all.begin(), all.begin() + 64));
  init.set_kind(pb::Init::ONES);
  initialElements(init, 7, 3, 0, other);
  CHECK(other == std::vector<float>(64, 1.0f));
  init.set_kind(pb::Init::ZEROS);
  initialElements(init, 7, 3, 0, other);
  CHECK(other == std::vector<float>(64, 0.0f));
}

TEST_CASE("initial weights keep their bits") {
  pb::Init init;
  init.set_kind(pb::Init::NORMAL);
  init.set_std(1);
  std::vector<float> values(4);
  initialElements(init, 1234, 5, 40, values);
  // Computed from the same Philox block with the platform's log, cos and sin.
  const std::array<uint32_t, 4> bits = philox(1234, {10, 0, 5, 0});
  for (int pair = 0; pair < 2; ++pair) {
    const double radius = std::sqrt(-2 * std::log((bits[2 * pair] + 0.5) / 4294967296.0));
    const double angle = 2 * M_PI * (bits[2 * pair + 1] / 4294967296.0);
    CHECK(values[2 * pair] == float(radius * std::cos(angle)));
    CHECK(values[2 * pair + 1] == float(radius * std::sin(angle)));
  }
}

TEST_CASE("learning rate: warm-up, then constant or half a cosine") {
  const LearningRate constant{.peak = 0.1, .warmupSteps = 4};
  CHECK(constant.at(1) == Approx(0.025));
  CHECK(constant.at(4) == Approx(0.1));
  CHECK(constant.at(1000) == 0.1);
  CHECK(LearningRate{.peak = 0.3}.at(1) == 0.3);
  const LearningRate cosine{.peak = 1, .floor = 0.1, .warmupSteps = 10, .cosine = true, .totalSteps = 110};
  for (int64_t step = 10; step <= 110; ++step)
    CHECK(cosine.at(step) == Approx(0.1 + 0.45 * (1 + std::cos(M_PI * double(step - 10) / 100))));
  CHECK(cosine.at(500) == Approx(0.1));
}
