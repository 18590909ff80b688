#include "runtime/comm/Reduce.h"
#include <algorithm>
#include <bit>
#include <type_traits>

namespace plait {
namespace {

/// Storage of a bf16 element; arithmetic on it is f32.
struct Bf16 {
  uint16_t bits;
};

inline float widen(Bf16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }
inline float widen(float value) { return value; }
inline double widen(double value) { return value; }
inline int32_t widen(int32_t value) { return value; }

inline void narrow(float value, Bf16 &out) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  out.bits = static_cast<uint16_t>(value != value ? (bits >> 16) | 0x40 : rounded);
}
template <typename T> inline void narrow(T value, T &out) { out = value; }

struct Sum {
  template <typename T> static T apply(T a, T b) {
    if constexpr (std::is_same_v<T, int32_t>)
      return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
    else
      return a + b;
  }
};
struct Max {
  template <typename T> static T apply(T a, T b) { return b > a || b != b ? b : a; }
};

/// Pieces that stay in the first-level cache; the accumulator is separate because `out` may be an input.
template <typename T, typename Op> void reducePieces(std::span<const void *const> in, T *out, uint64_t elements) {
  using Wide = decltype(widen(T{}));
  constexpr uint64_t kPiece = 2048;
  alignas(64) Wide sum[kPiece];
  for (uint64_t begin = 0; begin < elements; begin += kPiece) {
    uint64_t size = std::min(kPiece, elements - begin);
    const T *first = static_cast<const T *>(in[0]) + begin;
    for (uint64_t e = 0; e < size; ++e)
      sum[e] = widen(first[e]);
    for (const void *member : in.subspan(1)) {
      const T *next = static_cast<const T *>(member) + begin;
      for (uint64_t e = 0; e < size; ++e)
        sum[e] = Op::apply(sum[e], widen(next[e]));
    }
    for (uint64_t e = 0; e < size; ++e)
      narrow(sum[e], out[begin + e]);
  }
}

template <typename T>
void reduceTyped(std::span<const void *const> in, void *out, uint64_t elements, pb::ReduceKind reduce) {
  if (reduce == pb::REDUCE_MAX)
    reducePieces<T, Max>(in, static_cast<T *>(out), elements);
  else
    reducePieces<T, Sum>(in, static_cast<T *>(out), elements);
}

} // namespace

void reduceInOrder(std::span<const void *const> in, void *out, uint64_t elements, DType dtype, pb::ReduceKind reduce) {
  switch (dtype) {
  case DType::F32: return reduceTyped<float>(in, out, elements, reduce);
  case DType::BF16: return reduceTyped<Bf16>(in, out, elements, reduce);
  case DType::F64: return reduceTyped<double>(in, out, elements, reduce);
  case DType::I32: return reduceTyped<int32_t>(in, out, elements, reduce);
  default: return;
  }
}

} // namespace plait
