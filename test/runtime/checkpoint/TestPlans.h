// Plans with tensors whose checkpoint views are plain, fused and transposed, and interleaved; and a folder that goes away.
#ifndef PLAIT_TEST_RUNTIME_CHECKPOINT_TESTPLANS_H
#define PLAIT_TEST_RUNTIME_CHECKPOINT_TESTPLANS_H

#include "runtime/checkpoint/Checkpoint.h"
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace plait::test {

struct Folder {
  std::filesystem::path path;
  explicit Folder(const std::string &name)
      : path(std::filesystem::temp_directory_path() / (name + "_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string &name) const { return (path / name).string(); }
};

inline pb::Tensor &addTensor(pb::Plan &plan, const std::string &name, std::vector<int64_t> shape,
                             const std::string &hfName = "", std::vector<int64_t> hfShape = {}, int64_t base = 0,
                             std::vector<int64_t> sizes = {}, std::vector<int64_t> strides = {}) {
  pb::Tensor &tensor = *plan.add_tensors();
  tensor.set_name(name);
  tensor.set_hf_name(hfName);
  tensor.set_hf_base(base);
  tensor.set_dtype(pb::DTYPE_F32);
  *tensor.mutable_shape() = {shape.begin(), shape.end()};
  *tensor.mutable_hf_shape() = {hfShape.begin(), hfShape.end()};
  *tensor.mutable_hf_sizes() = {sizes.begin(), sizes.end()};
  *tensor.mutable_hf_strides() = {strides.begin(), strides.end()};
  return tensor;
}

/// Every kind of view; "wide" is long enough to be written without collecting.
inline pb::Plan viewPlan() {
  pb::Plan plan;
  plan.mutable_job()->set_optimizer("adamw");
  addTensor(plan, "m.embed", {13, 6});
  for (int part = 0; part < 3; ++part) // q, k, v in one transposed tensor [6, 24]
    addTensor(plan, "m.attn#" + std::to_string(part), {8, 6}, "m.attn", {6, 24}, part * 8, {8, 6}, {1, 24});
  for (int part = 0; part < 3; ++part) // [2 heads, 3, 4, 6]
    addTensor(plan, "m.neox#" + std::to_string(part), {8, 6}, "m.neox", {24, 6}, part * 24, {2, 4, 6}, {72, 6, 1});
  addTensor(plan, "m.norm", {6}, "m.norm", {6}, 0, {6}, {1});
  addTensor(plan, "m.wide", {3, 5000});
  return plan;
}

inline int64_t elementsOf(const pb::Tensor &tensor) {
  int64_t count = 1;
  for (int64_t extent : tensor.shape())
    count *= extent;
  return count;
}

/// A value that names column, tensor and element, exact in f32.
inline float valueOf(uint32_t column, uint32_t tensor, int64_t element) {
  return static_cast<float>((column * 16 + tensor) * 32768 + element);
}

} // namespace plait::test

#endif
