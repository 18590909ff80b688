#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/plan/Sha256.h"
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

namespace plait {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int64_t kManifestFormat = 1;
constexpr uint64_t kMaxManifestBytes = 1 << 20;

std::string folderOf(const std::string &directory, int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "/step-%08lld", static_cast<long long>(step));
  return directory + name;
}

Error diskError(const std::string &path, const std::string &what, const std::error_code &code) {
  return {ExitCode::Runtime, path + ": " + what + ": " + code.message()};
}

std::set<std::string> filesOf(const std::vector<Column> &columns) {
  std::set<std::string> files;
  for (const Column &column : columns)
    files.insert(column.file);
  return files;
}

bool isWhole(const Json &object, const char *key) { return object.contains(key) && object[key].is_number_integer(); }

Status checkFiles(const std::string &folder, const Json &files) {
  for (const Json &file : files) {
    if (!file.is_object() || !file.contains("name") || !file["name"].is_string() || !isWhole(file, "bytes"))
      return usageError(folder + "/manifest.json: an entry of \"files\" needs \"name\" and \"bytes\"");
    std::string path = folder + "/" + file["name"].get<std::string>();
    std::error_code code;
    uintmax_t bytes = fs::file_size(path, code);
    if (code)
      return usageError(path + ": the manifest names this file: " + code.message());
    if (file["bytes"] != bytes)
      return usageError(path + ": it has " + std::to_string(bytes) + " bytes, the manifest says " + file["bytes"].dump());
  }
  return success();
}

} // namespace

std::vector<Column> checkpointColumns(const pb::Plan &plan) {
  std::vector<Column> columns{{"model.safetensors", "", DType::None}};
  if (plan.job().optimizer() != "sgd") {
    columns.push_back({"optimizer.safetensors", kExpAvg, DType::F32});
    columns.push_back({"optimizer.safetensors", kExpAvgSq, DType::F32});
  }
  bool anyNarrow = std::any_of(plan.tensors().begin(), plan.tensors().end(),
                               [](const pb::Tensor &tensor) { return tensor.dtype() != pb::DTYPE_F32; });
  if (anyNarrow)
    columns.push_back({"optimizer.safetensors", kMaster, DType::F32});
  return columns;
}

std::optional<uint32_t> columnOf(const std::vector<Column> &columns, const std::string &suffix) {
  for (uint32_t i = 0; i < columns.size(); ++i)
    if (columns[i].suffix == suffix)
      return i;
  return std::nullopt;
}

std::string unfinishedCheckpoint(const std::string &directory, int64_t step) { return folderOf(directory, step) + ".tmp"; }

Result<std::string> beginCheckpoint(const std::string &directory, const pb::Plan &plan, int64_t step) {
  std::string folder = unfinishedCheckpoint(directory, step);
  std::error_code code;
  fs::remove_all(folder, code);
  if (code)
    return diskError(folder, "cannot remove an unfinished checkpoint", code);
  if (Status made = TensorSetWriter::create(folder, plan, checkpointColumns(plan)); !made)
    return made.error();
  return folder;
}

Result<std::string> finishCheckpoint(const std::string &directory, const pb::Plan &plan, const CheckpointInfo &info) {
  std::string unfinished = unfinishedCheckpoint(directory, info.step), folder = folderOf(directory, info.step);
  Json manifest{{"format", kManifestFormat},
                {"step", info.step},
                {"updates", info.updates},
                {"plan_digest", info.planDigest},
                {"files", Json::array()}};
  std::error_code code;
  for (const std::string &file : filesOf(checkpointColumns(plan))) {
    uintmax_t bytes = fs::file_size(unfinished + "/" + file, code);
    if (code)
      return diskError(unfinished + "/" + file, "cannot finish the checkpoint", code);
    manifest["files"].push_back({{"name", file}, {"bytes", bytes}});
  }
  if (fs::exists(folder, code)) {
    // The same step again, after a resume. Without its manifest the old folder is no checkpoint any more.
    fs::remove(folder + "/manifest.json", code);
    fs::remove_all(folder, code);
    if (code)
      return diskError(folder, "cannot replace the checkpoint", code);
  }
  if (Status moved = publishFile(unfinished, folder); !moved)
    return moved.error();
  std::string text = manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (Status written = writeFileAtomically(folder + "/manifest.json", text); !written)
    return written.error();
  return folder;
}

std::string latestCheckpoint(const std::string &directory) {
  std::string latest;
  std::error_code code;
  for (fs::directory_iterator it(directory, code), end; !code && it != end; it.increment(code)) {
    std::string name = it->path().filename().string();
    bool isComplete = name.rfind("step-", 0) == 0 && fs::exists(it->path() / "manifest.json", code);
    // Numbers have eight digits or more, so a longer name is a later step.
    if (isComplete && (latest.empty() || std::pair(name.size(), name) > std::pair(latest.size(), latest)))
      latest = name;
  }
  return latest.empty() ? "" : directory + "/" + latest;
}

Result<CheckpointInfo> readManifest(const std::string &folder) {
  std::string path = folder + "/manifest.json";
  Result<std::string> text = readFile(path, kMaxManifestBytes);
  if (!text)
    return usageError(text.error().message + "; a folder without a manifest is no complete checkpoint");
  Json manifest = Json::parse(*text, nullptr, false);
  if (!manifest.is_object() || !isWhole(manifest, "format") || !isWhole(manifest, "step") ||
      !isWhole(manifest, "updates") || !manifest.contains("plan_digest") || !manifest["plan_digest"].is_string() ||
      !manifest.contains("files") || !manifest["files"].is_array())
    return usageError(path + ": it needs \"format\", \"step\", \"updates\", \"plan_digest\" and \"files\"");
  if (manifest["format"] != kManifestFormat)
    return usageError(path + ": checkpoint format " + manifest["format"].dump() + ", this build reads format 1");
  if (Status checked = checkFiles(folder, manifest["files"]); !checked)
    return checked.error();
  return CheckpointInfo{manifest["step"].get<int64_t>(), manifest["updates"].get<int64_t>(),
                        manifest["plan_digest"].get<std::string>()};
}

} // namespace plait
