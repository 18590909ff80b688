// Element types of stored tensors; values equal pb::DType.
#ifndef PLAIT_RUNTIME_PLAN_DTYPE_H
#define PLAIT_RUNTIME_PLAN_DTYPE_H

#include <cstdint>
#include <string_view>

namespace plait {

enum class DType : uint32_t { None = 0, F32 = 1, BF16 = 2, I32 = 3, F64 = 4, F16 = 5 };

constexpr int64_t bytesOf(DType type) {
  switch (type) {
  case DType::None: return 0;
  case DType::BF16:
  case DType::F16: return 2;
  case DType::F32:
  case DType::I32: return 4;
  case DType::F64: return 8;
  }
  return 0;
}

constexpr std::string_view nameOf(DType type) {
  switch (type) {
  case DType::None: return "none";
  case DType::F32: return "f32";
  case DType::BF16: return "bf16";
  case DType::I32: return "i32";
  case DType::F64: return "f64";
  case DType::F16: return "f16";
  }
  return "none";
}

} // namespace plait

#endif
