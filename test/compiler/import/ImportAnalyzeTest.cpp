// From config.json through differentiation to plain data: nothing of the parameters is lost on the way through the IR,
// and two independent counts of model FLOPs agree.
#include "compiler/import/ImportConfig.h"
#include "compiler/import/ModelFacts.h"
#include "cost_model/workload/ModelFlops.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/analyze/Analyze.h"
#include "passes/differentiate/Passes.h"
#include <catch2/catch.hpp>

using namespace plait;

static std::string modelPath(const std::string &name) {
  return std::string(PLAIT_TEST_DATA) + "/models/" + name + ".json";
}

static Model analysed(const std::string &name) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Result<mlir::OwningOpRef<mlir::ModuleOp>> module = importConfig(context, modelPath(name));
  REQUIRE(module);
  REQUIRE(mlir::succeeded(differentiateModule(**module)));
  REQUIRE(mlir::succeeded(verifyDifferentiated(**module)));
  mlir::FailureOr<Model> model = analyzeModule(**module);
  REQUIRE(mlir::succeeded(model));
  return *model;
}

static int64_t factorSize(const BlockSummary &block, const std::string &name) {
  Id factor = indexOfName(block.factors, name);
  return factor == kNone ? -1 : block.factors[factor].size;
}

TEST_CASE("parameters, factors and FLOPs survive the way to plain data") {
  auto name = GENERATE(as<std::string>{}, "tiny-llama", "tiny-llama-untied", "tiny-qwen3", "tiny-gpt2", "tiny-neox",
                       "byte-llama", "llama-3.2-1b", "mistral-7b-v0.1", "gpt-neox-20b");
  INFO(name);
  Model model = analysed(name);
  Result<ModelSpec> spec = readModelSpec(modelPath(name));
  Result<ModelParameters> parameters = modelParameters(*spec);
  CHECK((model.name == name && model.family == spec->family && model.vocabSize == spec->vocab));
  CHECK(model.parameterCount() == parameters->elements);
  REQUIRE(model.params.size() == parameters->params.size());
  for (size_t index = 0; index < model.params.size(); ++index) {
    const ParamTensor &found = model.params[index], &expected = parameters->params[index];
    INFO(expected.name);
    CHECK((found.name == expected.name && found.shape == expected.shape && found.hfName == expected.hfName));
    CHECK((found.hfShape == expected.hfShape && found.hfBase == expected.hfBase));
    CHECK((found.hfSizes == expected.hfSizes && found.hfStrides == expected.hfStrides));
    CHECK((found.init == expected.init && found.decay == expected.decay));
    CHECK(found.initStd == expected.initStd);
  }
  REQUIRE(model.chain.size() == parameters->chain.size());
  const BlockSummary &decoder = model.kinds[model.chain[1].kind];
  CHECK(factorSize(decoder, "h") == spec->heads);
  CHECK(factorSize(decoder, "i") == spec->ffn);
  CHECK(factorSize(model.kinds[model.chain.back().kind], "v") == spec->vocab);

  int64_t sequence = 64;
  Result<double> counted = modelFlopsPerToken(model, sequence);
  REQUIRE(counted);
  // The definition takes half the sequence as the mean; a count of pairs gives half a key more.
  double halfKeys = 3 * 4.0 * double(spec->layers * spec->heads * spec->headDim) * 0.5;
  CHECK(*counted == Approx(modelFacts(*spec, *parameters, sequence).flopsPerToken + halfKeys).epsilon(1e-9));
}
