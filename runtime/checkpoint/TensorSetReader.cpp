#include "runtime/checkpoint/TensorSet.h"
#include <algorithm>
#include <filesystem>

namespace plait {
namespace {

std::string toText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t k = 0; k < shape.size(); ++k) {
    if (k)
      text += ", ";
    text += std::to_string(shape[k]);
  }
  return text + "]";
}

/// Edits that turn one name into the other.
size_t distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

Result<std::vector<std::string>> filesOf(const std::string &path) {
  namespace fs = std::filesystem;
  std::error_code code;
  if (!fs::is_directory(path, code))
    return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::directory_iterator it(path, code), end; !code && it != end; it.increment(code))
    if (it->path().extension() == ".safetensors")
      files.push_back(it->path().string());
  if (files.empty())
    return usageError(path + ": no safetensors file in this folder");
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace

Result<TensorSetReader> TensorSetReader::open(const std::string &path, const pb::Plan &plan) {
  TensorSetReader reader;
  reader.path = path;
  for (const pb::Tensor &tensor : plan.tensors()) {
    Result<CheckpointView> view = CheckpointView::of(tensor);
    if (!view)
      return view.error();
    reader.names.push_back(checkpointName(tensor));
    reader.views.push_back(std::move(*view));
  }
  Result<std::vector<std::string>> paths = filesOf(path);
  if (!paths)
    return paths.error();
  for (const std::string &name : *paths) {
    Result<SafetensorsFile> file = SafetensorsFile::open(name);
    if (!file)
      return file.error();
    reader.files.push_back(std::make_unique<SafetensorsFile>(std::move(*file)));
    for (const auto &[tensor, stored] : reader.files.back()->tensors())
      if (!reader.stored.emplace(tensor, Place{reader.files.back().get(), &stored}).second)
        return usageError(name + ": tensor '" + tensor + "' is also in another file of " + path);
  }
  return reader;
}

Result<TensorSetReader::Place> TensorSetReader::find(const std::string &suffix, uint32_t tensor) const {
  std::string name = names[tensor] + suffix;
  auto found = stored.find(name);
  if (found == stored.end()) // checkpoints of a bare model lack the name of the model in front
    found = stored.find(name.substr(name.find('.') + 1));
  if (found == stored.end()) {
    auto nearest = std::min_element(stored.begin(), stored.end(), [&](const auto &a, const auto &b) {
      return distance(a.first, name) < distance(b.first, name);
    });
    return usageError(path + ": tensor '" + name + "' is missing" +
                      (nearest == stored.end() ? "" : "; the nearest name there is '" + nearest->first + "'"));
  }
  const StoredTensor &data = *found->second.stored;
  if (data.shape != views[tensor].fileShape())
    return usageError(path + ": tensor '" + name + "' has shape " + toText(data.shape) + ", the plan expects " +
                      toText(views[tensor].fileShape()));
  if (!SafetensorsFile::isReadable(data))
    return usageError(path + ": tensor '" + name + "' has type " + data.type + "; F64, F32, F16 and BF16 can be read");
  return found->second;
}

bool TensorSetReader::has(const std::string &suffix) const {
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string &name) { return stored.count(name + suffix) > 0; });
}

Status TensorSetReader::check(const std::string &suffix) const {
  for (uint32_t tensor = 0; tensor < names.size(); ++tensor)
    if (Result<Place> place = find(suffix, tensor); !place)
      return place.error();
  return success();
}

Status TensorSetReader::read(const std::string &suffix, uint32_t tensor, int64_t first, std::span<float> out) const {
  if (tensor >= names.size() || first < 0 ||
      static_cast<int64_t>(out.size()) > wholeBox(views[tensor].shape()).elements() - first)
    return Error{ExitCode::Internal, "checkpoint: elements from " + std::to_string(first) + " of tensor " +
                                         std::to_string(tensor) + " do not exist"};
  Result<Place> place = find(suffix, tensor);
  if (!place)
    return place.error();
  views[tensor].forEachRun(first, static_cast<int64_t>(out.size()), [&](const ViewRun &run) {
    for (int64_t i = 0; i < run.count; ++i)
      out[run.boxOffset + i] = place->file->element(*place->stored, run.fileOffset + i * run.fileStride);
  });
  return success();
}

Status TensorSetReader::readBox(const std::string &suffix, uint32_t tensor, const Box &box, std::span<float> out) const {
  if (tensor >= names.size() || !isInside(box, views[tensor].shape()) ||
      static_cast<int64_t>(out.size()) != box.elements())
    return Error{ExitCode::Internal, "checkpoint: box " + toString(box) + " of tensor " + std::to_string(tensor) +
                                         " does not exist"};
  Result<Place> place = find(suffix, tensor);
  if (!place)
    return place.error();
  views[tensor].forEachRun(box, [&](const ViewRun &run) {
    for (int64_t i = 0; i < run.count; ++i)
      out[run.boxOffset + i] = place->file->element(*place->stored, run.fileOffset + i * run.fileStride);
  });
  return success();
}

} // namespace plait
