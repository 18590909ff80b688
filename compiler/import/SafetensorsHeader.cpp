#include "compiler/import/Checkpoint.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace plait {

using nlohmann::json;
namespace fs = std::filesystem;

static constexpr uint64_t kMaxHeaderBytes = 100'000'000; // the format's own limit

static Error damaged(const fs::path &file, const std::string &problem) {
  return usageError(file.string() + ": damaged safetensors file: " + problem);
}

/// Bytes of an element; 0 if the type is unknown.
static uint64_t elementBytes(const std::string &dtype) {
  static const std::map<std::string, uint64_t> bytes = {
      {"F64", 8}, {"I64", 8}, {"U64", 8}, {"F32", 4}, {"I32", 4},     {"U32", 4},     {"F16", 2}, {"BF16", 2},
      {"I16", 2}, {"U16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  auto entry = bytes.find(dtype);
  return entry == bytes.end() ? 0 : entry->second;
}

static bool readSizes(const json &list, std::vector<int64_t> &sizes) {
  if (!list.is_array() || list.size() > 16)
    return false;
  for (const json &size : list) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > uint64_t(INT64_MAX))
      return false;
    sizes.push_back(size.get<int64_t>());
  }
  return true;
}

/// Reads one entry of the header; empty if it is sound, else what is wrong.
static std::string readEntry(const json &entry, uint64_t dataBytes, CheckpointTensor &tensor) {
  std::vector<int64_t> offsets;
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() || !entry.contains("shape") ||
      !readSizes(entry["shape"], tensor.shape) || !entry.contains("data_offsets") ||
      !readSizes(entry["data_offsets"], offsets) || offsets.size() != 2)
    return "expected dtype, shape and two data_offsets";
  tensor.dtype = entry["dtype"].get<std::string>();
  uint64_t bytes = elementBytes(tensor.dtype);
  if (bytes == 0)
    return "unknown dtype '" + tensor.dtype.substr(0, 40) + "'";
  for (int64_t extent : tensor.shape)
    if (__builtin_mul_overflow(bytes, uint64_t(extent), &bytes))
      return "the shape overflows";
  if (offsets[0] > offsets[1] || uint64_t(offsets[1]) > dataBytes)
    return "data_offsets [" + std::to_string(offsets[0]) + ", " + std::to_string(offsets[1]) + "] leave the " +
           std::to_string(dataBytes) + " bytes of data";
  if (uint64_t(offsets[1] - offsets[0]) != bytes)
    return "data_offsets span " + std::to_string(offsets[1] - offsets[0]) + " bytes, the shape needs " +
           std::to_string(bytes);
  return "";
}

static Result<json> readHeader(const fs::path &file, uint64_t &dataBytes) {
  std::error_code problem;
  uint64_t fileBytes = fs::file_size(file, problem);
  std::ifstream stream(file, std::ios::binary);
  if (problem || !stream)
    return usageError(file.string() + ": cannot be read");
  unsigned char prefix[8] = {};
  if (fileBytes < 8 || !stream.read(reinterpret_cast<char *>(prefix), 8))
    return damaged(file, "shorter than the 8 bytes of its header's length");
  uint64_t length = 0;
  for (int byte = 7; byte >= 0; --byte)
    length = length << 8 | prefix[byte];
  if (length > kMaxHeaderBytes || length > fileBytes - 8)
    return damaged(file, "the header claims " + std::to_string(length) + " bytes, the file has " +
                             std::to_string(fileBytes));
  std::string text(length, '\0');
  if (!stream.read(text.data(), std::streamsize(length)))
    return damaged(file, "the header is cut off");
  dataBytes = fileBytes - 8 - length;
  json header = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object())
    return damaged(file, "the header is not a JSON object");
  return header;
}

static Status readFile(const fs::path &file, Checkpoint &checkpoint) {
  uint64_t dataBytes = 0;
  Result<json> header = readHeader(file, dataBytes);
  if (!header)
    return header.error();
  for (const auto &[name, entry] : header->items()) {
    if (name == "__metadata__")
      continue;
    CheckpointTensor tensor{file.filename().string(), true, "", {}};
    if (std::string problem = readEntry(entry, dataBytes, tensor); !problem.empty())
      return damaged(file, "tensor '" + name.substr(0, 128) + "': " + problem);
    auto [at, isNew] = checkpoint.emplace(name, std::move(tensor));
    if (!isNew)
      return usageError(file.string() + ": tensor '" + name + "' is also in " + at->second.file);
  }
  return success();
}

/// Names and shard files of the index, without shapes.
static Result<Checkpoint> readIndex(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  json index = json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
    return usageError(path.string() + ": expected a JSON object with 'weight_map'");
  Checkpoint checkpoint;
  for (const auto &[name, file] : index["weight_map"].items()) {
    std::string shard = file.is_string() ? file.get<std::string>() : "";
    if (shard.empty() || fs::path(shard).filename() != fs::path(shard) || shard == "..")
      return usageError(path.string() + ": 'weight_map' gives tensor '" + name.substr(0, 128) +
                        "' no file name; expected the name of a file in the same folder");
    checkpoint[name].file = shard;
  }
  return checkpoint;
}

/// The index's tensors must be exactly those of its shards.
static Status readShards(const fs::path &folder, const Checkpoint &index, Checkpoint &checkpoint) {
  for (const auto &[name, tensor] : index) {
    auto found = checkpoint.find(name);
    if (found == checkpoint.end() || found->second.file != tensor.file)
      return usageError((folder / tensor.file).string() + ": tensor '" + name +
                        "' is in the index but not in the file");
  }
  return success();
}

Result<Checkpoint> readCheckpointHeaders(const std::string &folder) {
  std::error_code problem;
  fs::path indexPath = fs::path(folder) / "model.safetensors.index.json";
  std::set<std::string> files;
  Checkpoint index;
  if (fs::exists(indexPath, problem)) {
    Result<Checkpoint> read = readIndex(indexPath);
    if (!read)
      return read.error();
    index = std::move(*read);
    for (const auto &[name, tensor] : index)
      files.insert(tensor.file);
  } else {
    for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem))
      if (entry->path().extension() == ".safetensors")
        files.insert(entry->path().filename().string());
  }
  if (files.empty())
    return usageError(folder + ": no safetensors checkpoint; expected model.safetensors.index.json or *.safetensors");

  std::vector<std::string> missing;
  for (const std::string &file : files)
    if (!fs::exists(fs::path(folder) / file, problem))
      missing.push_back(file);
  if (missing.size() == files.size())
    return index;
  if (!missing.empty())
    return usageError(folder + ": the index names " + missing.front() + ", which is not there");
  Checkpoint checkpoint;
  for (const std::string &file : files)
    if (Status status = readFile(fs::path(folder) / file, checkpoint); !status)
      return status.error();
  if (Status status = readShards(folder, index, checkpoint); !status)
    return status.error();
  return checkpoint;
}

} // namespace plait
