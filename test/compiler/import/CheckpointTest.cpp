// The cross-check of a configuration with its checkpoint, on files written here, true and lying.
#include "compiler/import/Checkpoint.h"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

using namespace plait;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

struct TemporaryFolder {
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "plait-checkpoint-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()));
    path = pattern;
  }
  ~TemporaryFolder() { fs::remove_all(path); }
  void write(const std::string &name, const std::string &bytes) const {
    std::ofstream(fs::path(path) / name, std::ios::binary) << bytes;
  }
  std::string path;
};

using Shapes = std::map<std::string, std::vector<int64_t>>;

} // namespace

static std::string littleEndian(uint64_t value) {
  std::string bytes;
  for (int byte = 0; byte < 8; ++byte)
    bytes += char(value >> 8 * byte & 255);
  return bytes;
}

static std::string withLength(const std::string &header) { return littleEndian(header.size()) + header; }

/// A file of BF16 tensors. The data is a hole: only its size matters.
static void writeTensors(const TemporaryFolder &folder, const std::string &file, const Shapes &shapes,
                         const std::string &dtype = "BF16") {
  std::string header = R"({"__metadata__": {"format": "pt"})";
  int64_t at = 0;
  for (const auto &[name, shape] : shapes) {
    int64_t bytes = 2;
    std::string list;
    for (int64_t extent : shape) {
      bytes *= extent;
      list += (list.empty() ? "" : ",") + std::to_string(extent);
    }
    header += ",\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + list + "],\"data_offsets\":[" +
              std::to_string(at) + "," + std::to_string(at + bytes) + "]}";
    at += bytes;
  }
  header += "}";
  folder.write(file, withLength(header));
  fs::resize_file(fs::path(folder.path) / file, 8 + header.size() + uint64_t(at));
}

static ModelParameters tinyModel(const std::string &name) {
  Result<ModelSpec> spec = readModelSpec(std::string(PLAIT_TEST_DATA) + "/models/" + name + ".json");
  REQUIRE(spec);
  Result<ModelParameters> parameters = modelParameters(*spec);
  REQUIRE(parameters);
  return *parameters;
}

static Shapes shapesOf(const ModelParameters &parameters) {
  Shapes shapes;
  for (const ParamTensor &param : parameters.params)
    shapes[param.hfName] = param.hfShape;
  return shapes;
}

/// The message of reading and matching; empty if all is well.
static std::string problem(const TemporaryFolder &folder, ModelParameters parameters) {
  Result<Checkpoint> checkpoint = readCheckpointHeaders(folder.path);
  if (!checkpoint)
    return checkpoint.error().message;
  Status status = matchCheckpoint(*checkpoint, folder.path, parameters);
  return status ? "" : status.error().message;
}

TEST_CASE("a checkpoint that agrees, whole and in shards") {
  auto name = GENERATE(as<std::string>{}, "tiny-llama", "tiny-gpt2", "tiny-neox", "tiny-qwen3");
  ModelParameters parameters = tinyModel(name);
  Shapes shapes = shapesOf(parameters);
  TemporaryFolder whole;
  writeTensors(whole, "model.safetensors", shapes);
  CHECK(problem(whole, parameters) == "");

  TemporaryFolder sharded;
  Shapes halves[2];
  std::string map;
  int count = 0;
  for (const auto &[tensor, shape] : shapes) {
    halves[count % 2][tensor] = shape;
    map += (map.empty() ? "" : ",") + ("\"" + tensor + "\":\"part-" + std::to_string(count++ % 2) + ".safetensors\"");
  }
  sharded.write("model.safetensors.index.json", "{\"metadata\":{\"total_size\":1},\"weight_map\":{" + map + "}}");
  CHECK(problem(sharded, parameters) == ""); // names only
  writeTensors(sharded, "part-0.safetensors", halves[0]);
  CHECK_THAT(problem(sharded, parameters), Contains("the index names part-1.safetensors, which is not there"));
  writeTensors(sharded, "part-1.safetensors", halves[1]);
  CHECK(problem(sharded, parameters) == "");
  writeTensors(sharded, "part-1.safetensors", shapes);
  CHECK_THAT(problem(sharded, parameters), Contains("is also in part-0.safetensors"));
}

TEST_CASE("buffers, a copy of the tied head and names of the base model are accepted") {
  ModelParameters gpt2 = tinyModel("tiny-gpt2");
  Shapes shapes;
  for (const auto &[name, shape] : shapesOf(gpt2))
    shapes[name.substr(std::string("transformer.").size())] = shape;
  shapes["h.0.attn.bias"] = {1, 1, 128, 128};
  shapes["h.0.attn.masked_bias"] = {};
  shapes["lm_head.weight"] = {512, 64};
  TemporaryFolder folder;
  writeTensors(folder, "model.safetensors", shapes);
  Result<Checkpoint> checkpoint = readCheckpointHeaders(folder.path);
  REQUIRE(checkpoint);
  REQUIRE(matchCheckpoint(*checkpoint, folder.path, gpt2));
  CHECK(gpt2.params[0].hfName == "wte.weight");
  CHECK(gpt2.params[0].name == "transformer.wte.weight");
}

TEST_CASE("disagreement is refused with tensor, expected and found") {
  ModelParameters parameters = tinyModel("tiny-llama-untied");
  Shapes shapes = shapesOf(parameters);
  TemporaryFolder folder;
  auto problemAfter = [&](const std::function<void(Shapes &)> &change) {
    Shapes changed = shapes;
    change(changed);
    writeTensors(folder, "model.safetensors", changed);
    return problem(folder, parameters);
  };
  CHECK_THAT(problemAfter([](Shapes &s) { s["model.layers.1.mlp.up_proj.weight"] = {64, 192}; }),
             Contains("tensor 'model.layers.1.mlp.up_proj.weight': the configuration expects [192, 64], "
                      "model.safetensors has [64, 192]"));
  CHECK_THAT(problemAfter([](Shapes &s) { s.erase("lm_head.weight"); }),
             Contains("tensor 'lm_head.weight': the configuration expects [512, 64], the checkpoint has no such "
                      "tensor; the nearest names are "));
  CHECK_THAT(problemAfter([](Shapes &s) { s["model.layers.0.self_attn.q_proj.bias"] = {64}; }),
             Contains("tensor 'model.layers.0.self_attn.q_proj.bias' [64] in model.safetensors is no part of the model "
                      "that the configuration describes"));
  writeTensors(folder, "model.safetensors", shapes, "I16");
  CHECK_THAT(problem(folder, parameters), Contains("of a floating-point type, model.safetensors has I16"));
}

TEST_CASE("lying and truncated headers are errors") {
  TemporaryFolder folder;
  ModelParameters parameters = tinyModel("tiny-llama-untied");
  auto problemOf = [&](const std::string &bytes) {
    folder.write("model.safetensors", bytes);
    return problem(folder, parameters);
  };
  CHECK_THAT(problem(folder, parameters), Contains("no safetensors checkpoint; expected model.safetensors.index.json"));
  CHECK_THAT(problemOf(withLength("{}")), Contains("expects [512, 64], the checkpoint has no such tensor"));
  CHECK_THAT(problemOf("abc"), Contains("shorter than the 8 bytes of its header's length"));
  CHECK_THAT(problemOf(littleEndian(~uint64_t(0)) + "{}"),
             Contains("the header claims 18446744073709551615 bytes, the file has 10"));
  CHECK_THAT(problemOf(littleEndian(3) + "{}"), Contains("the header claims 3 bytes"));
  CHECK_THAT(problemOf(withLength("[]")), Contains("the header is not a JSON object"));
  CHECK_THAT(problemOf(withLength(std::string(50'000, '['))), Contains("the header is not a JSON object"));
  auto entry = [&](const std::string &fields) { return problemOf(withLength("{\"w\":{" + fields + "}}")); };
  CHECK_THAT(entry(R"("dtype":"F32")"), Contains("tensor 'w': expected dtype, shape and two data_offsets"));
  CHECK_THAT(entry(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), Contains("expected dtype, shape"));
  CHECK_THAT(entry(R"("dtype":"F99","shape":[1],"data_offsets":[0,4])"), Contains("unknown dtype 'F99'"));
  CHECK_THAT(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"),
             Contains("data_offsets [0, 4] leave the 0 bytes of data"));
  CHECK_THAT(entry(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), Contains("data_offsets [4, 0] leave"));
  CHECK_THAT(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,0])"),
             Contains("data_offsets span 0 bytes, the shape needs 8"));
  CHECK_THAT(entry(R"("dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,0])"),
             Contains("the shape overflows"));
}

TEST_CASE("damaged indexes are errors") {
  TemporaryFolder folder;
  ModelParameters parameters = tinyModel("tiny-llama-untied");
  auto problemOf = [&](const std::string &index) {
    folder.write("model.safetensors.index.json", index);
    return problem(folder, parameters);
  };
  CHECK_THAT(problemOf("{"), Contains("expected a JSON object with 'weight_map'"));
  CHECK_THAT(problemOf(R"({"weight_map": {"w": "../../secret"}})"),
             Contains("'weight_map' gives tensor 'w' no file name"));
  CHECK_THAT(problemOf(R"({"weight_map": {"w": 3}})"), Contains("'weight_map' gives tensor 'w' no file name"));
  folder.write("a.safetensors", withLength("{}"));
  CHECK_THAT(problemOf(R"({"weight_map": {"w": "a.safetensors"}})"),
             Contains("tensor 'w' is in the index but not in the file"));
}
