// Cross entropy over vocabulary shards of unlike sizes equals cross entropy over the whole vocabulary, on both
// backends.
#include "test/runtime/backends/KernelHarness.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace plait;
using namespace plait::test;

namespace {
constexpr int64_t rows = 6, vocabulary = 23;
const std::vector<int> labelValues = {0, 7, 22, -100, 8, 15};

struct Outcome {
  double loss;
  std::vector<double> lse, gradient;
};
} // namespace

static Tensor columns(const Tensor &logits, int64_t from, int64_t to) {
  Tensor part({rows, 1, to - from}, DType::F32);
  for (int64_t t = 0; t < rows; ++t)
    for (int64_t j = from; j < to; ++j)
      part.set(t * (to - from) + j - from, logits.get(t * vocabulary + j));
  return part;
}

/// The partial form: a maximum over shards, then sums over shards, then one cross entropy.
static Outcome overShards(Backend &backend, const Tensor &logits, const std::vector<int64_t> &cuts, double scale) {
  Tensor labels = Tensor::ids({rows, 1}, labelValues), row({rows, 1}, DType::F32);
  Tensor m = row, z = row, picked = row;
  m.fill(std::vector<double>(rows, -std::numeric_limits<double>::infinity()));
  for (size_t shard = 0; shard + 1 < cuts.size(); ++shard) {
    Call top{Kernel::RowMax, {columns(logits, cuts[shard], cuts[shard + 1]), row}};
    top.run(backend);
    for (int64_t t = 0; t < rows; ++t)
      m.set(t, std::max(m.get(t), top.tensors[1].get(t)));
  }
  for (size_t shard = 0; shard + 1 < cuts.size(); ++shard) {
    Tensor part = columns(logits, cuts[shard], cuts[shard + 1]);
    Call sum{Kernel::RowSumExp, {part, m, row}}, pick{Kernel::RowPick, {part, labels, row}, {}, {}, {cuts[shard]}};
    sum.run(backend);
    pick.run(backend);
    for (int64_t t = 0; t < rows; ++t) {
      z.set(t, z.get(t) + sum.tensors[2].get(t));
      picked.set(t, picked.get(t) + pick.tensors[2].get(t));
    }
  }
  Call total{Kernel::CrossEntropy, {m, z, picked, labels, row, Tensor({1}, DType::F32)}};
  total.run(backend);
  Outcome outcome{total.tensors[5].get(0), total.values(4), std::vector<double>(rows * vocabulary)};
  for (size_t shard = 0; shard + 1 < cuts.size(); ++shard) {
    int64_t from = cuts[shard], width = cuts[shard + 1] - from;
    Tensor part = columns(logits, from, from + width);
    Call grad{Kernel::CrossEntropyGrad,
              {part, total.tensors[4], labels, Tensor({1}, DType::F32).fill({scale}), part},
              {},
              {},
              {from}};
    grad.run(backend);
    for (int64_t t = 0; t < rows; ++t)
      for (int64_t j = 0; j < width; ++j)
        outcome.gradient[t * vocabulary + from + j] = grad.tensors[4].get(t * width + j);
  }
  return outcome;
}

/// Softmax cross entropy from its definition, in double.
static Outcome byDefinition(const Tensor &logits, double scale) {
  Outcome outcome{0, {}, std::vector<double>(rows * vocabulary, 0)};
  for (int64_t t = 0; t < rows; ++t) {
    double sum = 0;
    for (int64_t j = 0; j < vocabulary; ++j)
      sum += std::exp(logits.get(t * vocabulary + j));
    outcome.lse.push_back(std::log(sum));
    int label = labelValues[t];
    if (label < 0)
      continue;
    outcome.loss += std::log(sum) - logits.get(t * vocabulary + label);
    for (int64_t j = 0; j < vocabulary; ++j)
      outcome.gradient[t * vocabulary + j] = (std::exp(logits.get(t * vocabulary + j)) / sum - (j == label)) * scale;
  }
  return outcome;
}

TEST_CASE("cross entropy over uneven vocabulary shards equals the whole") {
  std::mt19937 generator(17);
  Tensor logits = Tensor({rows, 1, vocabulary}, DType::F32).random(generator, -5, 5);
  double scale = 1.0 / 5;
  Outcome expected = byDefinition(logits, scale);
  for (auto make : {makeCpuBackend, makeReferenceBackend})
    for (std::vector<int64_t> cuts : {std::vector<int64_t>{0, 23}, {0, 8, 23}, {0, 1, 7, 7, 20, 23}}) {
      auto backend = make();
      INFO(backend->name() << " with " << cuts.size() - 1 << " shards");
      Outcome actual = overShards(*backend, logits, cuts, scale);
      CHECK(std::fabs(actual.loss - expected.loss) <= tolerance(DType::F32, vocabulary) * expected.loss);
      CHECK(relativeError(actual.lse, expected.lse) <= tolerance(DType::F32, vocabulary));
      CHECK(relativeError(actual.gradient, expected.gradient) <= tolerance(DType::F32, vocabulary));
    }
}

TEST_CASE("cross entropy adds to the loss") {
  for (auto make : {makeCpuBackend, makeReferenceBackend}) {
    auto backend = make();
    Call call{Kernel::CrossEntropy,
              {Tensor({2}, DType::F32).fill({1, 2}), Tensor({2}, DType::F32).fill({1, 1}),
               Tensor({2}, DType::F32).fill({0, 1.5}), Tensor::ids({2}, {0, 3}), Tensor({2}, DType::F32),
               Tensor({1}, DType::F32).fill({10})}};
    call.run(*backend);
    CHECK(call.tensors[5].get(0) == 11.5);
  }
}
