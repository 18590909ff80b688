// Parameter counts as published with the models, and the structure behind them.
#include "compiler/import/ModelFacts.h"
#include <catch2/catch.hpp>
#include <set>

using namespace plait;

static ModelSpec specOf(const std::string &name) {
  Result<ModelSpec> spec = readModelSpec(std::string(PLAIT_TEST_DATA) + "/models/" + name + ".json");
  INFO((spec ? "" : spec.error().message));
  REQUIRE(spec);
  return *spec;
}

static ModelParameters parametersOf(const ModelSpec &spec) {
  Result<ModelParameters> parameters = modelParameters(spec);
  REQUIRE(parameters);
  return *parameters;
}

static const ParamTensor &tensor(const ModelParameters &parameters, const std::string &name) {
  for (const ParamTensor &param : parameters.params)
    if (param.name == name)
      return param;
  FAIL("no tensor " << name);
  return parameters.params.front();
}

TEST_CASE("published parameter counts") {
  auto [name, count] = GENERATE(table<std::string, int64_t>({{"llama-2-7b", 6'738'415'616},
                                                             {"llama-3.2-1b", 1'235'814'400},
                                                             {"llama-3.1-8b", 8'030'261'248},
                                                             {"llama-3.1-70b", 70'553'706'496},
                                                             {"llama-3.1-405b", 405'853'388'800},
                                                             {"mistral-7b-v0.1", 7'241'732'096},
                                                             {"qwen2-7b", 7'615'616'512},
                                                             {"qwen2.5-72b", 72'706'203'648},
                                                             {"qwen3-8b", 8'190'735'360},
                                                             {"gpt2", 124'439'808},
                                                             {"gpt2-xl", 1'557'611'200},
                                                             {"gpt-neox-20b", 20'554'567'680}}));
  INFO(name);
  CHECK(parametersOf(specOf(name)).elements == count);
}

TEST_CASE("names are unique and views stay inside the checkpoint tensor and never overlap") {
  auto name = GENERATE(as<std::string>{}, "tiny-llama", "tiny-llama-untied", "tiny-qwen3", "tiny-gpt2", "tiny-neox",
                       "byte-llama");
  INFO(name);
  ModelParameters parameters = parametersOf(specOf(name));
  std::set<std::string> names;
  std::map<std::string, std::vector<int>> uses; // elements of each checkpoint tensor
  for (const ParamTensor &param : parameters.params) {
    CHECK(names.insert(param.name).second);
    int64_t total = 1, viewed = 1, shaped = 1;
    for (int64_t extent : param.hfShape)
      total *= extent;
    for (int64_t extent : param.hfSizes)
      viewed *= extent;
    for (int64_t extent : param.shape)
      shaped *= extent;
    REQUIRE(viewed == shaped);
    std::vector<int> &counts = uses[param.hfName];
    counts.resize(size_t(total));
    for (int64_t element = 0; element < viewed; ++element) {
      int64_t rest = element, at = param.hfBase;
      for (size_t dim = param.hfSizes.size(); dim-- > 0; rest /= param.hfSizes[dim])
        at += rest % param.hfSizes[dim] * param.hfStrides[dim];
      REQUIRE(at < total);
      ++counts[size_t(at)];
    }
  }
  for (const auto &[hfName, counts] : uses)
    for (int count : counts)
      REQUIRE(count == 1);
}

TEST_CASE("fused projections are cut by part") {
  ModelParameters gpt2 = parametersOf(specOf("gpt2"));
  const ParamTensor &k = tensor(gpt2, "transformer.h.3.attn.c_attn.weight#k");
  CHECK(k.shape == std::vector<int64_t>{768, 768});
  CHECK(k.hfShape == std::vector<int64_t>{768, 2304});
  CHECK(k.hfBase == 768);
  CHECK(k.hfStrides == std::vector<int64_t>{1, 2304});
  CHECK(tensor(gpt2, "transformer.h.0.mlp.c_fc.weight").shape == std::vector<int64_t>{3072, 768});
  CHECK(tensor(gpt2, "transformer.h.0.mlp.c_fc.weight").hfShape == std::vector<int64_t>{768, 3072});
  CHECK(tensor(gpt2, "transformer.h.0.mlp.c_proj.weight").initStd == Approx(0.02 / std::sqrt(24.0)));

  ModelParameters neox = parametersOf(specOf("gpt-neox-20b"));
  const ParamTensor &v = tensor(neox, "gpt_neox.layers.43.attention.query_key_value.bias#v");
  CHECK(v.hfBase == 192);
  CHECK(v.hfSizes == std::vector<int64_t>{64, 96});
  CHECK(v.hfStrides == std::vector<int64_t>{288, 1});
}

TEST_CASE("a tied head uses the embedding's tensor and an untied one its own") {
  ModelParameters tied = parametersOf(specOf("tiny-llama")), untied = parametersOf(specOf("tiny-neox"));
  CHECK(tied.chain.back().params.back().param == tied.chain.front().params.front().param);
  CHECK(untied.params[untied.chain.back().params.back().param].name == "embed_out.weight");
  CHECK(tied.chain.size() == 8);
}

TEST_CASE("decay, initial values and order of roles") {
  ModelParameters model = parametersOf(specOf("qwen2-7b"));
  CHECK(tensor(model, "model.layers.0.self_attn.q_proj.weight").decay);
  CHECK_FALSE(tensor(model, "model.layers.0.self_attn.q_proj.bias").decay);
  CHECK(tensor(model, "model.layers.0.self_attn.q_proj.bias").init == ParamTensor::Init::Zeros);
  CHECK(tensor(model, "model.norm.weight").init == ParamTensor::Init::Ones);
  std::vector<std::string> roles;
  for (const RoleParam &param : model.chain[1].params)
    roles.push_back(param.role);
  CHECK(roles == std::vector<std::string>{"norm1.weight", "q.weight", "q.bias", "k.weight", "k.bias", "v.weight",
                                          "v.bias", "o.weight", "norm2.weight", "gate.weight", "up.weight",
                                          "down.weight"});
}

TEST_CASE("facts of Llama 3.1 8B") {
  ModelSpec spec = specOf("llama-3.1-8b");
  ModelFacts facts = modelFacts(spec, parametersOf(spec), 8192);
  // By hand: weights of linear layers 7,504,658,432 (all but embedding and norms), 6 FLOPs each; attention
  // 32 layers x 4096 wide x 4096 keys x 4 x 3.
  CHECK(facts.flopsPerToken == 6.0 * 7'504'658'432.0 + 32.0 * 4096 * 4096 * 12);
  CHECK(facts.blocks == 34);
  CHECK(facts.maxTensorParallel == 32);
  CHECK(facts.evenTensorParallel == std::vector<int64_t>{1, 2, 4, 8, 16, 32});
}

TEST_CASE("a window shortens the attention of long sequences only") {
  ModelSpec spec = specOf("mistral-7b-v0.1"), full = spec;
  full.windows.assign(full.windows.size(), 0);
  ModelParameters parameters = parametersOf(spec);
  auto flops = [&](const ModelSpec &of, int64_t sequence) {
    return modelFacts(of, parameters, sequence).flopsPerToken;
  };
  CHECK(flops(spec, 4096) == flops(full, 4096));
  // 16,384 tokens: 4096 - 4096^2 / 32768 = 3584 keys instead of 8192.
  CHECK(flops(full, 16384) - flops(spec, 16384) == 32.0 * 4096 * 12 * (8192 - 3584));
}

TEST_CASE("legal degrees of odd sizes") {
  ModelSpec spec = specOf("tiny-llama");
  ModelFacts facts = modelFacts(spec, parametersOf(spec), 64);
  CHECK(facts.maxTensorParallel == 6);
  CHECK(facts.evenTensorParallel == std::vector<int64_t>{1}); // a vocabulary of 509 is prime
}
