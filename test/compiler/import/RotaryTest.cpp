// Frequencies against the definitions of each scaling, computed here the way its authors state it.
#include "compiler/import/Rotary.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace plait;

static Rotary rotaryOf(const std::string &text, RotaryDefaults defaults) {
  Result<ConfigReader> reader = ConfigReader::parse(text, "config.json");
  REQUIRE(reader);
  Rotary rotary = readRotary(*reader, defaults);
  Status status = reader->finish();
  INFO((status ? "" : status.error().message));
  REQUIRE(status);
  return rotary;
}

static std::string refusal(const std::string &text) {
  Result<ConfigReader> reader = ConfigReader::parse(text, "config.json");
  REQUIRE(reader);
  readRotary(*reader, {10000, 1, 128, 4096});
  Status status = reader->finish();
  REQUIRE_FALSE(status);
  return status.error().message;
}

static double plainFrequency(double theta, int pair, int dim) { return 1 / std::pow(theta, 2.0 * pair / dim); }

TEST_CASE("unscaled, partial and linear frequencies") {
  Rotary rotary = rotaryOf("{}", {10000, 1, 8, 2048});
  CHECK(rotary.dim == 8);
  CHECK(rotary.factor == 1);
  REQUIRE(rotary.invFreq.size() == 4);
  CHECK(rotary.invFreq[0] == 1);
  CHECK(rotary.invFreq[2] == Approx(0.01).epsilon(1e-14));
  CHECK(rotaryOf("{}", {10000, 0.25, 96, 2048}).dim == 24);
  rotary = rotaryOf(R"({"rope_scaling": {"type": "linear", "factor": 4.0}})", {10000, 1, 8, 2048});
  CHECK(rotary.invFreq[0] == 0.25);
  rotary = rotaryOf(R"({"rope_parameters": {"rope_type": "default", "rope_theta": 100, "partial_rotary_factor": 0.5}})",
                    {10000, 1, 8, 2048});
  CHECK(rotary.invFreq == std::vector<double>{1, 0.1});
}

TEST_CASE("llama3 blends by wavelength") {
  Rotary rotary = rotaryOf(R"({"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                               "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})",
                           {500000, 1, 128, 131072});
  int kept = 0, divided = 0, blended = 0;
  for (int pair = 0; pair < 64; ++pair) {
    double plain = plainFrequency(500000, pair, 128), wavelength = 2 * M_PI / plain, expected;
    if (wavelength < 8192 / 4.0) {
      expected = plain;
      ++kept;
    } else if (wavelength > 8192 / 1.0) {
      expected = plain / 8;
      ++divided;
    } else {
      double smooth = (8192 / wavelength - 1) / (4.0 - 1.0);
      expected = (1 - smooth) * plain / 8 + smooth * plain;
      ++blended;
    }
    CHECK(rotary.invFreq[size_t(pair)] == Approx(expected).epsilon(1e-12));
  }
  CHECK((kept > 0 && divided > 0 && blended > 0));
}

TEST_CASE("yarn keeps fast pairs, divides slow ones, and scales by its temperature") {
  Rotary rotary = rotaryOf(R"({"rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                               "original_max_position_embeddings": 32768}})",
                           {1000000, 1, 128, 131072});
  CHECK(rotary.factor == Approx(0.1 * std::log(4.0) + 1).epsilon(1e-14));
  for (int pair = 0; pair < 64; ++pair) {
    double plain = plainFrequency(1000000, pair, 128), turns = 32768 * plain / (2 * M_PI);
    double found = rotary.invFreq[size_t(pair)];
    if (turns > 40)
      CHECK(found == Approx(plain).epsilon(1e-12));
    else if (turns < 0.8)
      CHECK(found == Approx(plain / 4).epsilon(1e-12));
    else
      CHECK((found >= plain / 4 * (1 - 1e-12) && found <= plain * (1 + 1e-12)));
  }
  // Worked out by hand: the pairs with 32 and with 1 turn are floor(23.60) = 23 and ceil(39.65) = 40.
  CHECK(rotary.invFreq[23] == Approx(plainFrequency(1000000, 23, 128)).epsilon(1e-12));
  double half = 1 - (32 - 23) / 17.0;
  CHECK(rotary.invFreq[32] == Approx(plainFrequency(1000000, 32, 128) * (half + (1 - half) / 4)).epsilon(1e-12));
  Rotary fixed = rotaryOf(R"({"rope_scaling": {"type": "yarn", "factor": 4.0, "attention_factor": 1.25}})",
                          {1000000, 1, 128, 32768});
  CHECK(fixed.factor == 1.25);
}

TEST_CASE("scalings that cannot be held are refused") {
  using Catch::Contains;
  CHECK_THAT(refusal(R"({"rope_scaling": {"type": "dynamic", "factor": 2.0}})"),
             Contains("'type' is \"dynamic\": its frequencies depend on the length of each sequence"));
  CHECK_THAT(refusal(R"({"rope_scaling": {"rope_type": "spiral"}})"),
             Contains("unknown rope type; known: default, linear, llama3, yarn"));
  CHECK_THAT(refusal(R"({"rope_scaling": {"type": "linear"}})"), Contains("'factor' is missing and has no default"));
  CHECK_THAT(refusal(R"({"rope_scaling": {"type": "linear", "factor": 2},
                         "rope_parameters": {"rope_type": "default"}})"),
             Contains("two names of one setting; keep one"));
  CHECK_THAT(refusal(R"({"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 1,
                         "original_max_position_embeddings": 8192}})"),
             Contains("'high_freq_factor' is 1: must be greater than low_freq_factor"));
}
