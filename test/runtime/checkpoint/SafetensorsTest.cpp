// The safetensors format: round trip, lies in the header, damaged bytes.
#include "TestPlans.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace plait;
using namespace plait::test;

namespace {

std::string withHeader(const std::string &json, size_t dataBytes = 0) {
  std::string file;
  for (int i = 0; i < 8; ++i)
    file += static_cast<char>(json.size() >> (8 * i));
  return file + json + std::string(dataBytes, '\0');
}

std::string refusal(const std::string &file) {
  Result<StoredTensors> tensors = parseSafetensors(file, "f");
  return tensors ? "" : tensors.error().message;
}

std::string entry(const std::string &dtype, const std::string &shape, const std::string &offsets) {
  return "{\"a\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
}

void writeBytes(const std::string &path, const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }

} // namespace

TEST_CASE("a planned file parses to what was planned") {
  StoredTensors tensors{{"b", {"F32", {2, 3}, 0, 0}}, {"a", {"BF16", {5}, 0, 0}}, {"scalar", {"F64", {}, 0, 0}},
                        {"empty", {"F32", {0, 4}, 0, 0}}};
  SafetensorsPlan plan = planSafetensors(tensors, {{"format", "pt"}});
  REQUIRE(plan.header.size() % 64 == 0);
  REQUIRE(plan.fileBytes == plan.header.size() + 10 + 24 + 8);
  std::string file = plan.header + std::string(plan.fileBytes - plan.header.size(), '\0');
  Result<StoredTensors> parsed = parseSafetensors(file, "f");
  REQUIRE(parsed);
  REQUIRE(parsed->size() == 4);
  for (const auto &[name, tensor] : plan.tensors) {
    REQUIRE(parsed->at(name).type == tensor.type);
    REQUIRE(parsed->at(name).shape == tensor.shape);
    REQUIRE(parsed->at(name).offset == tensor.offset);
    REQUIRE(parsed->at(name).bytes == tensor.bytes);
  }
  REQUIRE(parsed->at("b").elements() == 6);
}

TEST_CASE("elements of every floating-point type are read") {
  Folder folder("plait_safetensors");
  std::string data("\x00\x3c\x01\x00\x00\xfc\x00\xc0", 8); // F16: 1, 2^-24, -inf, -2
  data += std::string("\x80\x3f\x20\xc0", 4);              // BF16: 1, -2.5
  double d = 0.1;
  float f = -3.25f;
  data.append(reinterpret_cast<char *>(&d), 8).append(reinterpret_cast<char *>(&f), 4);
  writeBytes(folder.file("f"), withHeader(R"({"h":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},
      "b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]}, "d":{"dtype":"F64","shape":[],"data_offsets":[12,20]},
      "f":{"dtype":"F32","shape":[1],"data_offsets":[20,24]}})") + data);
  Result<SafetensorsFile> file = SafetensorsFile::open(folder.file("f"));
  REQUIRE(file);
  auto at = [&](const char *name, uint64_t i) { return file->element(file->tensors().at(name), i); };
  REQUIRE(at("h", 0) == 1.0f);
  REQUIRE(at("h", 1) == std::ldexp(1.0f, -24));
  REQUIRE(at("h", 2) == -INFINITY);
  REQUIRE(at("h", 3) == -2.0f);
  REQUIRE(at("b", 0) == 1.0f);
  REQUIRE(at("b", 1) == -2.5f);
  REQUIRE(at("d", 0) == 0.1f);
  REQUIRE(at("f", 0) == -3.25f);
}

TEST_CASE("headers that lie are refused by text") {
  REQUIRE(refusal("abc") == "f: 3 bytes are no safetensors file");
  REQUIRE(refusal(std::string(8, '\xff')).find("its header would have 18446744073709551615 bytes, the file has 8") !=
          std::string::npos);
  REQUIRE(refusal(withHeader("[]")) == "f: the header of 2 bytes is not a JSON object");
  REQUIRE(refusal(withHeader("{")) == "f: the header of 1 bytes is not a JSON object");
  REQUIRE(refusal(withHeader("{\"a\":1}")) == "f: tensor 'a': its entry needs \"dtype\", \"shape\" and \"data_offsets\"");
  REQUIRE(refusal(withHeader(entry("F33", "[1]", "[0,4]"), 4)) == "f: tensor 'a': unknown dtype 'F33'");
  REQUIRE(refusal(withHeader(entry("F32", "[-1]", "[0,4]"), 4)) == "f: tensor 'a': its shape is not a list of sizes");
  REQUIRE(refusal(withHeader(entry("F32", "[1.5]", "[0,4]"), 4)) == "f: tensor 'a': its shape is not a list of sizes");
  REQUIRE(refusal(withHeader(entry("F32", "[1]", "[0,8]"), 4)) ==
          "f: tensor 'a': its data_offsets leave the file's 4 bytes of data");
  REQUIRE(refusal(withHeader(entry("F32", "[1]", "[4,0]"), 4)) ==
          "f: tensor 'a': its data_offsets leave the file's 4 bytes of data");
  REQUIRE(refusal(withHeader(entry("F32", "[2]", "[0,4]"), 4)) ==
          "f: tensor 'a': its data_offsets hold 4 bytes, its dtype and shape ask for 8");
  REQUIRE(refusal(withHeader(entry("F32", "[9223372036854775807,9]", "[0,4]"), 4)) ==
          "f: tensor 'a': its data_offsets hold 4 bytes, its dtype and shape ask for more than 2^62");
  std::string both = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                     "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}";
  REQUIRE(refusal(withHeader(both, 8)) == "f: tensors 'a' and 'b' overlap");
}

TEST_CASE("damaged files never crash") {
  std::string file = withHeader(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},
                                    "b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]}})", 22);
  REQUIRE(refusal(file) == "");
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = file.substr(0, random() % 8 ? file.size() : random() % file.size());
    for (unsigned flips = 1 + random() % 3; flips > 0 && !damaged.empty(); --flips)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    Result<StoredTensors> tensors = parseSafetensors(damaged, "f");
    refused += !tensors;
    if (tensors)
      for (const auto &[name, tensor] : *tensors)
        REQUIRE(tensor.offset + tensor.bytes <= damaged.size());
  }
  REQUIRE(refused > 5000);
}
