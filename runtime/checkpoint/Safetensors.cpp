#include "runtime/checkpoint/Safetensors.h"
#include "runtime/backends/BFloat16.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

namespace plait {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxHeaderBytes = 100'000'000; // the format's own limit
constexpr uint64_t kDataAlignment = 64;

struct TypeWidth {
  const char *name;
  uint64_t bytes;
};
constexpr TypeWidth kTypes[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
                                {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
                                {"U32", 4},  {"F32", 4}, {"I64", 8}, {"U64", 8},     {"F64", 8}};

uint64_t widthOf(const std::string &type) {
  for (const TypeWidth &known : kTypes)
    if (type == known.name)
      return known.bytes;
  return 0;
}

/// The non-negative integer of a JSON value.
std::optional<uint64_t> unsignedOf(const Json &value) {
  if (!value.is_number_unsigned())
    return std::nullopt;
  return value.get<uint64_t>();
}

/// Bytes that type and shape ask for; nothing if they overflow.
std::optional<uint64_t> bytesOf(const StoredTensor &tensor) {
  uint64_t bytes = widthOf(tensor.type);
  for (int64_t extent : tensor.shape) {
    if (extent != 0 && bytes > (uint64_t(1) << 62) / extent)
      return std::nullopt;
    bytes *= extent;
  }
  return bytes;
}

/// One entry of the header; `error` says what is wrong with it.
std::optional<StoredTensor> parseEntry(const Json &entry, uint64_t dataStart, uint64_t fileBytes, std::string &error) {
  error = "its entry needs \"dtype\", \"shape\" and \"data_offsets\"";
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() || !entry.contains("shape") ||
      !entry["shape"].is_array() || !entry.contains("data_offsets") || !entry["data_offsets"].is_array() ||
      entry["data_offsets"].size() != 2)
    return std::nullopt;
  StoredTensor tensor;
  tensor.type = entry["dtype"].get<std::string>();
  if (!widthOf(tensor.type)) {
    error = "unknown dtype '" + tensor.type + "'";
    return std::nullopt;
  }
  for (const Json &extent : entry["shape"]) {
    std::optional<uint64_t> value = unsignedOf(extent);
    if (!value || *value > uint64_t(INT64_MAX)) {
      error = "its shape is not a list of sizes";
      return std::nullopt;
    }
    tensor.shape.push_back(static_cast<int64_t>(*value));
  }
  std::optional<uint64_t> begin = unsignedOf(entry["data_offsets"][0]), end = unsignedOf(entry["data_offsets"][1]);
  if (!begin || !end || *begin > *end || *end > fileBytes - dataStart) {
    error = "its data_offsets leave the file's " + std::to_string(fileBytes - dataStart) + " bytes of data";
    return std::nullopt;
  }
  std::optional<uint64_t> bytes = bytesOf(tensor);
  if (bytes != *end - *begin) {
    error = "its data_offsets hold " + std::to_string(*end - *begin) + " bytes, its dtype and shape ask for " +
            (bytes ? std::to_string(*bytes) : "more than 2^62");
    return std::nullopt;
  }
  tensor.offset = dataStart + *begin;
  tensor.bytes = *bytes;
  return tensor;
}

/// Names of two tensors that share bytes.
std::optional<std::pair<std::string, std::string>> overlap(const StoredTensors &tensors) {
  std::vector<const StoredTensors::value_type *> order;
  for (const auto &entry : tensors)
    if (entry.second.bytes)
      order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](auto *a, auto *b) { return a->second.offset < b->second.offset; });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i]->second.offset < order[i - 1]->second.offset + order[i - 1]->second.bytes)
      return std::pair(order[i - 1]->first, order[i]->first);
  return std::nullopt;
}

float halfToFloat(uint16_t half) {
  uint32_t exponent = half >> 10 & 31, mantissa = half & 0x3ff;
  float magnitude = exponent == 31   ? (mantissa ? NAN : INFINITY)
                    : exponent == 0 ? std::ldexp(float(mantissa), -24)
                                    : std::ldexp(float(mantissa | 0x400), int(exponent) - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

template <typename T> T loadAs(const char *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

} // namespace

uint64_t StoredTensor::elements() const { return bytes / widthOf(type); }

std::string safetensorsType(DType type) {
  switch (type) {
  case DType::None: return "";
  case DType::F32: return "F32";
  case DType::BF16: return "BF16";
  case DType::I32: return "I32";
  case DType::F64: return "F64";
  case DType::F16: return "F16";
  }
  return "";
}

SafetensorsPlan planSafetensors(StoredTensors tensors, const std::map<std::string, std::string> &metadata) {
  Json header = Json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t next = 0;
  for (auto &[name, tensor] : tensors) {
    tensor.bytes = bytesOf(tensor).value_or(0);
    tensor.offset = next;
    next += tensor.bytes;
    header[name] = {{"dtype", tensor.type}, {"shape", tensor.shape}, {"data_offsets", {tensor.offset, next}}};
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 8 + kDataAlignment - 1) / kDataAlignment * kDataAlignment - 8, ' ');
  SafetensorsPlan plan;
  for (int i = 0; i < 8; ++i)
    plan.header += static_cast<char>(text.size() >> (8 * i));
  plan.header += text;
  for (auto &entry : tensors)
    entry.second.offset += plan.header.size();
  plan.tensors = std::move(tensors);
  plan.fileBytes = plan.header.size() + next;
  return plan;
}

Result<StoredTensors> parseSafetensors(std::string_view file, const std::string &name) {
  if (file.size() < 8)
    return usageError(name + ": " + std::to_string(file.size()) + " bytes are no safetensors file");
  uint64_t headerBytes = 0;
  for (int i = 0; i < 8; ++i)
    headerBytes |= uint64_t(static_cast<unsigned char>(file[i])) << (8 * i);
  if (headerBytes > kMaxHeaderBytes || headerBytes > file.size() - 8)
    return usageError(name + ": no safetensors file, or a truncated one: its header would have " +
                      std::to_string(headerBytes) + " bytes, the file has " + std::to_string(file.size()));
  Json header = Json::parse(file.begin() + 8, file.begin() + 8 + headerBytes, nullptr, false);
  if (!header.is_object())
    return usageError(name + ": the header of " + std::to_string(headerBytes) + " bytes is not a JSON object");
  StoredTensors tensors;
  for (const auto &[key, entry] : header.items()) {
    if (key == "__metadata__")
      continue;
    std::string error;
    std::optional<StoredTensor> tensor = parseEntry(entry, 8 + headerBytes, file.size(), error);
    if (!tensor)
      return usageError(name + ": tensor '" + key + "': " + error);
    tensors.emplace(key, std::move(*tensor));
  }
  if (auto both = overlap(tensors))
    return usageError(name + ": tensors '" + both->first + "' and '" + both->second + "' overlap");
  return tensors;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.error();
  Result<StoredTensors> tensors = parseSafetensors(file->bytes(), path);
  if (!tensors)
    return tensors.error();
  return SafetensorsFile(std::move(*file), std::move(*tensors));
}

bool SafetensorsFile::isReadable(const StoredTensor &tensor) {
  return tensor.type == "F32" || tensor.type == "BF16" || tensor.type == "F16" || tensor.type == "F64";
}

float SafetensorsFile::element(const StoredTensor &tensor, uint64_t index) const {
  const char *bytes = data(tensor);
  switch (tensor.type[0] == 'B' ? 'B' : tensor.type[1]) {
  case 'B': return widen(loadAs<uint16_t>(bytes + 2 * index));
  case '1': return halfToFloat(loadAs<uint16_t>(bytes + 2 * index));
  case '6': return static_cast<float>(loadAs<double>(bytes + 8 * index));
  default: return loadAs<float>(bytes + 4 * index);
  }
}

} // namespace plait
