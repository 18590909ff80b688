#include "cost_model/workload/Work.h"
#include <catch2/catch.hpp>

using namespace plait;

static Work work(Kernel kernel, std::vector<std::vector<int64_t>> shapes, std::vector<int64_t> ints, int64_t ops = 0) {
  std::vector<WorkRef> refs;
  for (const auto &shape : shapes)
    refs.push_back({shape, DType::F32});
  return workOf(kernel, refs, ints, ops);
}

TEST_CASE("products count two operations per multiply-add") {
  Work forward = work(Kernel::Gemm, {{6, 2, 8}, {10, 8}, {6, 2, 10}}, {0, 1, 0});
  CHECK(forward.dims == std::vector<int64_t>{12, 10, 8});
  CHECK(forward.flops == 2.0 * 12 * 10 * 8);
  CHECK(forward.bytesRead == 4.0 * (12 * 8 + 10 * 8));
  Work weight = work(Kernel::Gemm, {{6, 2, 10}, {6, 2, 8}, {10, 8}}, {1, 0, 1});
  CHECK(weight.dims == std::vector<int64_t>{10, 8, 12});
  CHECK(weight.bytesRead == 4.0 * (12 * 10 + 12 * 8 + 10 * 8)); // accumulates: reads the old gradient
}

TEST_CASE("attention counts the pairs that the mask leaves") {
  auto attention = [](int64_t causal, int64_t window) {
    return work(Kernel::Attention, {{5, 2, 12}, {5, 2, 4}, {5, 2, 4}, {5, 2, 12}, {5, 2, 3}}, {4, 3, causal, window}).flops;
  };
  auto pairs = [](int64_t causal, int64_t window) {
    int64_t count = 0;
    for (int64_t s = 0; s < 5; ++s)
      for (int64_t t = 0; t < 5; ++t)
        count += (!causal || t <= s) && (!window || s - t < window);
    return count;
  };
  for (int64_t causal : {0, 1})
    for (int64_t window : {0, 2, 9})
      CHECK(attention(causal, window) == 2.0 * 2 * 2 * 3 * 4 * pairs(causal, window));
}

TEST_CASE("table kernels move only the rows that the ids name") {
  Work lookup = work(Kernel::Embedding, {{6, 2}, {50000, 8}, {6, 2, 8}}, {});
  CHECK(lookup.bytesRead == 4.0 * (12 + 12 * 8));
  CHECK(lookup.bytesWritten == 4.0 * 12 * 8);
}

TEST_CASE("pointwise work is instructions times elements") {
  Work add = work(Kernel::Pointwise, {{6, 2, 8}, {6, 2, 8}, {6, 2, 8}}, {}, 3);
  CHECK(add.flops == 3.0 * 96);
  CHECK(add.bytesRead == 4.0 * 2 * 96);
  CHECK(add.bytesWritten == 4.0 * 96);
}
