// Messages of launches that do not fit the catalogue; both backends refuse them with the same text.
#include "runtime/backends/LaunchCheck.h"
#include "test/runtime/backends/KernelHarness.h"
#include <catch2/catch.hpp>

using namespace plait;
using namespace plait::test;

static Tensor f32(std::vector<int64_t> shape, int64_t gap = 0) { return Tensor(std::move(shape), DType::F32, gap); }
static Tensor i32(std::vector<int64_t> shape) { return Tensor(std::move(shape), DType::I32); }

/// The message with which both backends refuse the launch.
static std::string refusal(const LaunchDesc &desc) {
  std::string messages[2];
  int i = 0;
  for (auto make : {makeCpuBackend, makeReferenceBackend}) {
    auto compiled = make()->compile(desc);
    if (compiled)
      return "accepted";
    CHECK(compiled.error().code == ExitCode::Usage);
    messages[i++] = compiled.error().message;
  }
  CHECK(messages[0] == messages[1]);
  return messages[0];
}
static std::string refusal(const Call &call) { return refusal(call.desc()); }

TEST_CASE("unknown kernels and wrong numbers of operands and attributes are refused") {
  CHECK(refusal(LaunchDesc{}) == "none: kernel number 0 is not in the catalogue; kernels are 1 to 21");
  LaunchDesc unknown;
  unknown.kernel = static_cast<Kernel>(99);
  CHECK(refusal(unknown) == "?: kernel number 99 is not in the catalogue; kernels are 1 to 21");
  CHECK(refusal(Call{Kernel::Gemm, {f32({2, 2}), f32({2, 2})}, {0, 0, 0}}) ==
        "gemm: 2 operands given; expected 3: a, b, c");
  CHECK(refusal(Call{Kernel::Gemm, {f32({2, 2}), f32({2, 2}), f32({2, 2})}, {0}}) ==
        "gemm: 1 integers given; expected 3: trans_a, trans_b, accumulate");
  CHECK(refusal(Call{Kernel::RmsNorm, {f32({2, 4}), f32({4}), f32({2, 4}), f32({2})}}) ==
        "rms_norm: 0 doubles given; expected 1: eps");
  CHECK(refusal(Call{Kernel::RowPick, {f32({2, 4}), i32({2}), f32({2})}}) ==
        "row_pick: 0 offsets given; expected 1: first id");
  for (int64_t offset : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()})
    CHECK(refusal(Call{Kernel::RowPick, {f32({2, 4}), i32({2}), f32({2})}, {}, {}, {offset}}) ==
          "row_pick: offset 'first id' is " + std::to_string(offset) +
              "; expected a magnitude of at most 281474976710656");
}

TEST_CASE("wrong types and strides are refused") {
  CHECK(refusal(Call{Kernel::Gemm, {i32({2, 2}), f32({2, 2}), f32({2, 2})}, {0, 0, 0}}) ==
        "gemm: operand 0 'a' is i32[2, 2]; expected type f32 or bf16");
  CHECK(refusal(Call{Kernel::BiasGrad, {f32({2, 4}), Tensor({4}, DType::BF16)}}) ==
        "bias_grad: operand 1 'db' is bf16[4]; expected type f32");
  CHECK(refusal(Call{Kernel::RowPick, {f32({2, 4}), f32({2}), f32({2})}, {}, {}, {0}}) ==
        "row_pick: operand 1 'labels' is f32[2]; expected type i32");
  Call call{Kernel::RowMax, {f32({2, 3, 4}), f32({6})}};
  call.tensors[0].desc.stride = {12, 4};
  CHECK(refusal(call) == "row_max: operand 0 'logits' is f32[2, 3, 4]; expected one stride for each dimension, not 2");
  call.tensors[0].desc.stride = {12, 4, 2};
  CHECK(refusal(call) ==
        "row_max: operand 0 'logits' is f32[2, 3, 4]; expected the last dimension contiguous, not of stride 2");
  for (std::vector<int64_t> stride : {std::vector<int64_t>{20, 4, 1}, {12, 3, 1}, {9, 3, 1}, {0, 4, 1}}) {
    call.tensors[0].desc.stride = stride;
    std::string text = "[" + std::to_string(stride[0]) + ", " + std::to_string(stride[1]) + ", 1]";
    CHECK(refusal(call) ==
          "row_max: operand 0 'logits' is f32[2, 3, 4]; expected leading dimensions that flatten to rows of one "
          "stride; strides are " +
              text);
  }
  call.tensors[0].desc.stride = {int64_t(3) << 61, int64_t(1) << 61, 1};
  CHECK(refusal(call) == "row_max: operand 0 'logits' is f32[2, 3, 4]; expected strides that do not overflow, not "
                         "[6917529027641081856, 2305843009213693952, 1]");
  call.tensors[0].desc.shape = {int64_t(1) << 40, int64_t(1) << 40, 4};
  CHECK(refusal(call) ==
        "row_max: operand 0 'logits' is f32[1099511627776, 1099511627776, 4]; expected a shape without negative or "
        "overflowing dimensions");
  call.tensors[0].desc.shape = {-2, 3, 4};
  CHECK(refusal(call) ==
        "row_max: operand 0 'logits' is f32[-2, 3, 4]; expected a shape without negative or overflowing dimensions");
}

TEST_CASE("only the reference backend takes f64") {
  Call call{Kernel::RowMax, {Tensor({2, 4}, DType::F64), Tensor({2}, DType::F64)}};
  CHECK(bool(makeReferenceBackend()->compile(call.desc())));
  auto compiled = makeCpuBackend()->compile(call.desc());
  REQUIRE(!compiled);
  CHECK(compiled.error().message == "row_max: operand 0 'logits' is f64[2, 4]; expected type f32 or bf16");
}

TEST_CASE("gemm shapes that do not fit are refused") {
  CHECK(refusal(Call{Kernel::Gemm, {f32({3, 4}), f32({5, 6}), f32({3, 6})}, {0, 0, 0}}) ==
        "gemm: operand 1 'b' is f32[5, 6]; expected 4 rows, the inner dimension of operand 0 'a' = f32[3, 4] with "
        "trans_a 0, trans_b 0");
  CHECK(refusal(Call{Kernel::Gemm, {f32({4, 3}), f32({6, 5}), f32({3, 6})}, {1, 1, 0}}) ==
        "gemm: operand 1 'b' is f32[6, 5]; expected 4 columns, the inner dimension of operand 0 'a' = f32[4, 3] with "
        "trans_a 1, trans_b 1");
  CHECK(refusal(Call{Kernel::Gemm, {f32({3, 4}), f32({4, 6}), f32({6, 3})}, {0, 0, 0}}) ==
        "gemm: operand 2 'c' is f32[6, 3]; expected 3 rows of 6, the product of f32[3, 4] and f32[4, 6]");
  CHECK(refusal(Call{Kernel::Gemm, {f32({3, 4}), f32({4, 6}), f32({3, 6})}, {0, 0, 2}}) ==
        "gemm: integer 2 'accumulate' is 2; expected 0 or 1");
}

TEST_CASE("norm shapes that do not fit are refused") {
  CHECK(refusal(Call{Kernel::RmsNorm, {f32({2, 8}), f32({3}), f32({2, 8}), f32({2})}, {}, {1e-5}}) ==
        "rms_norm: operand 0 'x' is f32[2, 8]; expected a last dimension that is a multiple of the run of 3 elements");
  CHECK(refusal(Call{Kernel::RmsNorm, {f32({2, 8}), f32({4}), f32({2, 8}), f32({2})}, {}, {1e-5}}) ==
        "rms_norm: operand 3 'rstd' is f32[2]; expected 4 elements without gaps, one for each run of 4");
  CHECK(refusal(
            Call{Kernel::LayerNorm, {f32({2, 8}), f32({8}), f32({4}), f32({2, 8}), f32({2}), f32({2})}, {}, {1e-5}}) ==
        "layer_norm: operand 2 'b' is f32[4]; expected 8 elements without gaps, the length of a normalised run");
  CHECK(refusal(Call{Kernel::RmsNormGrad, {f32({2, 7}), f32({2, 8}), f32({8}), f32({2}), f32({2, 8})}}) ==
        "rms_norm_grad: operand 0 'dy' is f32[2, 7]; expected 2 rows of 8, as operand 1 'x'");
  CHECK(refusal(Call{Kernel::RmsNormGradWeight, {f32({2, 8}), f32({2, 8}), f32({2, 1}, 1), f32({8})}}) ==
        "rms_norm_grad_weight: operand 2 'rstd' is f32[2, 1]; expected 2 elements without gaps, one for each run of 8");
  CHECK(refusal(Call{Kernel::RmsNorm, {f32({2, 0}), f32({0}), f32({2, 0}), f32({0})}, {}, {1e-5}}) ==
        "rms_norm: operand 0 'x' is f32[2, 0]; expected a last dimension that is a multiple of the run of 0 elements");
}

TEST_CASE("rope attributes that do not fit are refused") {
  auto rope = [](std::vector<int64_t> ints, std::vector<double> doubles) {
    return refusal(Call{Kernel::Rope, {f32({3, 2, 8}), f32({3, 2, 8})}, ints, doubles, {0}});
  };
  CHECK(rope({4, 4, 0, 0}, {1, 1, 1}) == "accepted");
  CHECK(rope({3, 2, 0, 0}, {1, 1}) == "rope: integer 0 'head_dim' is 3; expected a divisor of the width 8");
  CHECK(rope({0, 0, 0, 0}, {1}) == "rope: integer 0 'head_dim' is 0; expected a divisor of the width 8");
  CHECK(rope({4, 3, 0, 0}, {1, 1}) == "rope: integer 1 'rotary_dim' is 3; expected an even number up to head_dim 4");
  CHECK(rope({4, 6, 0, 0}, {1, 1}) == "rope: integer 1 'rotary_dim' is 6; expected an even number up to head_dim 4");
  CHECK(rope({4, 4, 0, 0}, {1, 1}) ==
        "rope: 2 doubles given; expected 3: rotary_dim / 2 inverse frequencies and the factor");
  CHECK(refusal(Call{Kernel::Rope, {f32({6, 8}), f32({6, 8})}, {4, 0, 0, 0}, {1}, {0}}) ==
        "rope: operand 0 'x' is f32[6, 8]; expected three dimensions [s, b, width]");
}

TEST_CASE("attention heads that do not fit are refused") {
  auto attention = [](std::vector<int64_t> ints, int64_t shift, std::vector<int64_t> key = {3, 2, 8}) {
    return refusal(Call{
        Kernel::Attention, {f32({3, 2, 16}), f32(key), f32(key), f32({3, 2, 16}), f32({3, 2, 4})}, ints, {1}, {shift}});
  };
  CHECK(attention({4, 2, 1, 0}, 0) == "accepted");
  CHECK(attention({5, 2, 1, 0}, 0) ==
        "attention: integer 0 'head_dim' is 5; expected a divisor of the widths 16 and 8");
  CHECK(attention({4, 0, 1, 0}, 0) == "attention: integer 1 'ratio' is 0; expected a number from 1 to 1048576");
  CHECK(attention({4, 2, 3, 0}, 0) == "attention: integer 2 'causal' is 3; expected 0 or 1");
  CHECK(attention({4, 2, 1, -1}, 0) ==
        "attention: integer 3 'window' is -1; expected 0 (none) or a positive number of keys");
  CHECK(attention({4, 2, 1, 0}, 1) == "attention: query heads 0 to 3 shifted by 1 with ratio 2 need KV heads up to 2; "
                                      "expected a head_shift of at least 0 that stays "
                                      "below the 2 KV heads of operand 1 'k'");
  CHECK(attention({4, 2, 1, 0}, 0, {3, 1, 8}) ==
        "attention: operand 1 'k' is f32[3, 1, 8]; expected a batch of 2, as operand 0 'q'");
  CHECK(
      attention({8, 2, 1, 0}, 0, {3, 2, 8}) ==
      "attention: operand 4 'lse' is f32[3, 2, 4]; expected 12 elements without gaps, one for each query row and head");
  CHECK(refusal(Call{Kernel::AttentionGrad,
                     {f32({3, 2, 8}), f32({3, 2, 8}), f32({3, 2, 8}), f32({3, 2, 8}), f32({3, 2, 8}), f32({3, 2, 2}),
                      f32({3, 2, 8}), f32({3, 2, 4}), f32({3, 2, 8})},
                     {4, 1, 1, 0},
                     {1},
                     {0}}) == "attention_grad: operand 7 'dk' is f32[3, 2, 4]; expected 6 rows of 8, as operand 2 'k'");
}

TEST_CASE("embeddings and cross entropy that do not fit are refused") {
  CHECK(refusal(Call{Kernel::Embedding, {i32({2, 2}), f32({5, 3}), f32({2, 2, 4})}, {}, {}, {0}}) ==
        "embedding: operand 1 'w' is f32[5, 3]; expected rows of 4, the width of operand 2 'y'");
  CHECK(refusal(Call{Kernel::EmbeddingGrad, {f32({2, 2, 4}), i32({3}), f32({5, 4})}, {}, {}, {0}}) ==
        "embedding_grad: operand 1 'tokens' is i32[3]; expected 4 elements without gaps, one for each row of operand 0 "
        "'dy'");
  for (int64_t first : {-1, 4})
    CHECK(refusal(Call{Kernel::PositionEmbedding, {f32({2, 2, 4}), f32({5, 4}), f32({2, 2, 4})}, {}, {}, {first}}) ==
          "position_embedding: positions start at " + std::to_string(first) +
              " and there are 2; expected all of them among the 5 rows of operand 1 'w'");
  CHECK(
      refusal(Call{Kernel::RowSumExp, {f32({2, 3, 4}), f32({2, 3}), f32({5})}}) ==
      "row_sum_exp: operand 2 'z' is f32[5]; expected 6 elements without gaps, one for each row of operand 0 'logits'");
  CHECK(refusal(Call{Kernel::CrossEntropy, {f32({4}), f32({4}), f32({4}), i32({4}), f32({4}), f32({2})}}) ==
        "cross_entropy: operand 5 'loss' is f32[2]; expected 1 elements without gaps, the sum of losses");
}

TEST_CASE("pointwise programs that do not fit are refused") {
  auto program = [](const std::string &inputs, const std::vector<std::string> &instrs,
                    const std::vector<unsigned> &outputs,
                    std::vector<Tensor> tensors = {f32({2, 4}), f32({2, 4}), f32({2, 4})}) {
    Call call{Kernel::Pointwise, std::move(tensors)};
    call.program = pointwiseProgram(inputs, instrs, outputs);
    return refusal(call);
  };
  CHECK(program("ee", {"add %0 %1"}, {2}) == "accepted");
  CHECK(program("ee", {"nope %0 %1"}, {2}) ==
        "pointwise: program 'program', instruction 0 has the unknown operation 0");
  CHECK(program("ee", {"add %0 %1 %1"}, {2}) ==
        "pointwise: program 'program', instruction 0 'add' has 3 operands; expected 2");
  CHECK(program("ee", {"add %0 %1 5"}, {2}) ==
        "pointwise: program 'program', instruction 0 'add' has 1 immediates; expected 0");
  CHECK(program("ee", {"axpby %0 %1 5"}, {2}) ==
        "pointwise: program 'program', instruction 0 'axpby' has 1 immediates; expected 2");
  CHECK(program("ee", {"neg %0", "add %0 %3"}, {2}) ==
        "pointwise: program 'program', instruction 1 'add' reads value 3; only values 0 to 2 are known there");
  CHECK(program("ee", {"add %0 %1"}, {3}) ==
        "pointwise: program 'program', output value 3 does not exist; there are 3");
  CHECK(program("eee", {}, {}) == "pointwise: program 'program' has no output");
  CHECK(program("ee", {}, {0}, {f32({2, 4}), f32({2, 4})}) ==
        "pointwise: 2 operands given; expected 3: input, input, output");
  CHECK(program("ee", {}, {0}, {f32({2, 4}), f32({2, 5}), f32({2, 4})}) ==
        "pointwise: operand 1 'input' is f32[2, 5]; expected 2 rows of 4, as operand 2 'output'");
  CHECK(program("er", {}, {0}, {f32({2, 4}), f32({2, 4}), f32({2, 4})}) ==
        "pointwise: operand 1 'input' is f32[2, 4]; expected 4 elements without gaps, the last dimension of operand 2 "
        "'output'");
  CHECK(refusal(Call{Kernel::Pointwise, {f32({2, 4}), f32({2, 4})}}) ==
        "pointwise: the launch names no pointwise program");
}
