#include "runtime/conformance/Elements.h"
#include <bit>
#include <cstring>

namespace plait {

int64_t sampleValue(uint32_t member, uint64_t element, uint32_t salt) {
  return static_cast<int64_t>((element * 7 + member * 5 + element / 11 * member + salt) % 13) - 6;
}

template <typename T> static void storeAt(void *data, uint64_t element, T value) {
  std::memcpy(static_cast<char *>(data) + element * sizeof(T), &value, sizeof(T));
}

template <typename T> static T loadAt(const void *data, uint64_t element) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + element * sizeof(T), sizeof(T));
  return value;
}

void setElement(void *data, uint64_t element, DType dtype, int64_t value) {
  float asFloat = static_cast<float>(value);
  switch (dtype) {
  case DType::F32: return storeAt(data, element, asFloat);
  case DType::BF16: return storeAt(data, element, static_cast<uint16_t>(std::bit_cast<uint32_t>(asFloat) >> 16));
  case DType::F64: return storeAt(data, element, static_cast<double>(value));
  case DType::I32: return storeAt(data, element, static_cast<int32_t>(value));
  default: return;
  }
}

double getElement(const void *data, uint64_t element, DType dtype) {
  switch (dtype) {
  case DType::F32: return loadAt<float>(data, element);
  case DType::BF16: return std::bit_cast<float>(uint32_t{loadAt<uint16_t>(data, element)} << 16);
  case DType::F64: return loadAt<double>(data, element);
  case DType::I32: return loadAt<int32_t>(data, element);
  default: return 0;
  }
}

Buffer::Buffer(Communicator &communicator, uint64_t bytes, bool fromArena)
    : memory(fromArena ? static_cast<char *>(communicator.arena(bytes)) : nullptr) {
  if (memory)
    return;
  own.resize(bytes / sizeof(double) + 1);
  memory = reinterpret_cast<char *>(own.data());
}

} // namespace plait
