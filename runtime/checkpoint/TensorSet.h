// A set of values for every logical tensor of a plan (parameters, moments, gradients), stored in safetensors files under
// checkpoint names and shapes, written by many ranks at once: each rank writes the flat element ranges that it owns into
// the right bytes of files that were made in full size before. No rank ever holds a whole tensor.
//
// Order: one rank calls create(); after a barrier every rank opens a TensorSetWriter, writes and closes it; after another
// barrier one rank publishes the folder (Checkpoint.h) or reads it.
#ifndef PLAIT_RUNTIME_CHECKPOINT_TENSORSET_H
#define PLAIT_RUNTIME_CHECKPOINT_TENSORSET_H

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/plan/layout/CheckpointView.h"
#include <memory>
#include <span>

namespace plait {

/// One value per element. The tensor is stored in `file` as the checkpoint name followed by `suffix`.
struct Column {
  std::string file, suffix;
  DType type = DType::None; ///< None: the storage type that the plan gives the tensor
};

class TensorSetWriter {
public:
  /// Makes `folder` and its files in full size, zero filled. Error Usage: tensors of the plan that do not fit together;
  /// Runtime: the disk.
  static Status create(const std::string &folder, const pb::Plan &plan, const std::vector<Column> &columns);
  /// Error Runtime if the files are not as create() makes them.
  static Result<TensorSetWriter> open(const std::string &folder, const pb::Plan &plan,
                                      const std::vector<Column> &columns);
  TensorSetWriter(TensorSetWriter &&) noexcept;
  TensorSetWriter &operator=(TensorSetWriter &&) noexcept;
  ~TensorSetWriter();

  /// Flat row-major elements [first, first + values.size()) of logical tensor `tensor` (index into plan.tensors),
  /// rounded to the column's type. Error Internal for a range outside the tensor, Runtime from the disk.
  Status write(uint32_t column, uint32_t tensor, int64_t first, std::span<const float> values);
  /// Writes what is still buffered and syncs the files. Error Runtime.
  Status close();

private:
  struct Impl;
  explicit TensorSetWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

class TensorSetReader {
public:
  /// `path`: one safetensors file, or a folder with any number of them. Error Usage also if two files hold one name.
  static Result<TensorSetReader> open(const std::string &path, const pb::Plan &plan);

  /// True if every tensor of the plan is there with this suffix.
  bool has(const std::string &suffix) const;
  /// Error Usage where a tensor of the plan is missing (names the nearest), or has another shape or an unreadable type.
  Status check(const std::string &suffix) const;
  /// Flat row-major elements [first, first + out.size()) of a logical tensor. Errors as check(), for this tensor.
  Status read(const std::string &suffix, uint32_t tensor, int64_t first, std::span<float> out) const;
  /// The elements of a box of a logical tensor, dense and row-major.
  Status readBox(const std::string &suffix, uint32_t tensor, const Box &box, std::span<float> out) const;

private:
  struct Place {
    const SafetensorsFile *file;
    const StoredTensor *stored;
  };
  Result<Place> find(const std::string &suffix, uint32_t tensor) const;
  std::string path;
  std::vector<std::string> names;       ///< checkpoint names of the plan's tensors
  std::vector<CheckpointView> views;
  std::vector<std::unique_ptr<SafetensorsFile>> files;
  std::map<std::string, Place> stored;
};

/// Name of a tensor in a checkpoint: hf_name, or its own name if the plan gives none.
const std::string &checkpointName(const pb::Tensor &tensor);

} // namespace plait

#endif
