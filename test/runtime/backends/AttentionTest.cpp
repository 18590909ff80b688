// Attention of the cpu backend against the reference: tiles, grouped heads, shards of heads, masks, storage.
#include "test/runtime/backends/KernelHarness.h"
#include <catch2/catch.hpp>

using namespace plait;
using namespace plait::test;

static std::mt19937 generator(13);

namespace {
struct Shape {
  int64_t queries, keys, batch, headDim, heads, kvHeads, ratio, shift, causal, window;
};
} // namespace

static Call forwardCall(const Shape &s, DType dtype, int64_t gap, double scale) {
  std::vector<int64_t> query{s.queries, s.batch, s.heads * s.headDim}, key{s.keys, s.batch, s.kvHeads * s.headDim};
  auto random = [&](const std::vector<int64_t> &shape) { return Tensor(shape, dtype, gap).random(generator, -2, 2); };
  return {Kernel::Attention,
          {random(query), random(key), random(key), random(query), Tensor({s.queries, s.batch, s.heads}, DType::F32)},
          {s.headDim, s.ratio, s.causal, s.window},
          {scale},
          {s.shift}};
}

/// The gradient launch that follows a forward launch which has run.
static Call gradCall(const Call &forward, int64_t gap) {
  const Tensor &q = forward.tensors[0], &k = forward.tensors[1];
  DType dtype = q.desc.dtype;
  Tensor dO = Tensor(q.desc.shape, dtype, gap).random(generator);
  Tensor dq(q.desc.shape, dtype, gap), dk(k.desc.shape, dtype, gap);
  return {Kernel::AttentionGrad,
          {dO, q, k, forward.tensors[2], forward.tensors[3], forward.tensors[4], dq, dk, dk},
          forward.ints,
          forward.doubles,
          forward.offsets};
}

static void check(const Shape &s, double scale = 0.3) {
  auto reference = makeReferenceBackend();
  for (DType dtype : {DType::F32, DType::BF16})
    for (int64_t gap : {0, 7}) {
      INFO("queries " << s.queries << " keys " << s.keys << " batch " << s.batch << " head dim " << s.headDim
                      << " heads " << s.heads << " KV heads " << s.kvHeads << " ratio " << s.ratio << " shift "
                      << s.shift << " causal " << s.causal << " window " << s.window << " gap " << gap);
      Call forward = forwardCall(s, dtype, gap, scale);
      compareWithReference(forward, 3, s.keys);
      forward.run(*reference);
      compareWithReference(gradCall(forward, gap), 6, s.keys * s.ratio);
    }
}

TEST_CASE("attention over tiles of rows") {
  for (int64_t length : {1, 63, 64, 65, 150}) {
    check({length, length, 2, 8, 2, 2, 1, 0, 1, 0});
    check({length, length, 1, 5, 1, 1, 1, 0, 0, 0});
  }
}

TEST_CASE("attention with unlike numbers of queries and keys") {
  check({70, 33, 2, 4, 2, 1, 2, 0, 0, 0});
  check({33, 70, 2, 4, 2, 1, 2, 0, 1, 0});
  check({70, 33, 1, 4, 1, 1, 1, 0, 1, 0});
}

TEST_CASE("attention windows") {
  for (int64_t causal : {0, 1})
    for (int64_t window : {1, 7, 64, 100, 1000})
      check({140, 140, 1, 8, 1, 1, 1, 0, causal, window});
  check({140, 30, 1, 8, 1, 1, 1, 0, 1, 20}); // rows from 50 on see no key
}

TEST_CASE("attention with grouped heads") {
  check({40, 40, 2, 8, 6, 2, 3, 0, 1, 0});
  check({40, 40, 2, 8, 2, 2, 3, 2, 1, 0}); // heads 2 and 3 of 6, on both KV heads
  check({40, 40, 1, 8, 3, 2, 3, 1, 1, 9});
  check({40, 40, 1, 8, 1, 3, 3, 4, 1, 0}); // KV heads 0 and 2 are held but not read
}

TEST_CASE("attention with large, zero and negative scores") {
  check({65, 65, 1, 8, 1, 1, 1, 0, 1, 0}, 0);
  check({65, 65, 1, 8, 1, 1, 1, 0, 1, 0}, -0.4);
  Shape s{65, 65, 1, 8, 1, 1, 1, 0, 1, 0};
  Call forward = forwardCall(s, DType::F32, 0, 100);
  compareWithReference(forward, 3, 65 * 100);
}

TEST_CASE("attention shards of heads add up to the whole") {
  // Six query heads on two KV heads, split as heads 0..1, 2..3, 4..5; every shard holds both KV heads.
  auto cpu = makeCpuBackend();
  int64_t dim = 4, length = 20;
  Call whole = forwardCall({length, length, 1, dim, 6, 2, 3, 0, 1, 0}, DType::F32, 0, 0.5);
  whole.run(*cpu);
  Call wholeGrad = gradCall(whole, 0);
  wholeGrad.run(*cpu);
  std::vector<double> dk(length * 2 * dim, 0), dv = dk;
  for (int64_t shard = 0; shard < 3; ++shard) {
    auto slice = [&](const Tensor &from, int64_t width) {
      Tensor part({length, 1, 2 * width}, DType::F32);
      for (int64_t t = 0; t < length; ++t)
        for (int64_t j = 0; j < 2 * width; ++j)
          part.set(t * 2 * width + j, from.get(t * 6 * width + shard * 2 * width + j));
      return part;
    };
    Call part{Kernel::Attention,
              {slice(whole.tensors[0], dim), whole.tensors[1], whole.tensors[2],
               Tensor({length, 1, 2 * dim}, DType::F32), Tensor({length, 1, 2}, DType::F32)},
              whole.ints,
              whole.doubles,
              {shard * 2}};
    part.run(*cpu);
    CHECK(part.values(3) == slice(whole.tensors[3], dim).values());
    CHECK(part.values(4) == slice(whole.tensors[4], 1).values());
    Call partGrad = gradCall(part, 0);
    partGrad.tensors[0] = slice(wholeGrad.tensors[0], dim);
    partGrad.run(*cpu);
    CHECK(relativeError(partGrad.values(6), slice(wholeGrad.tensors[6], dim).values()) <=
          tolerance(DType::F32, length));
    for (size_t i = 0; i < dk.size(); ++i) {
      dk[i] += partGrad.tensors[7].get(i);
      dv[i] += partGrad.tensors[8].get(i);
    }
  }
  CHECK(relativeError(dk, wholeGrad.values(7)) <= tolerance(DType::F32, length * 3));
  CHECK(relativeError(dv, wholeGrad.values(8)) <= tolerance(DType::F32, length * 3));
}
