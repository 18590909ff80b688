// Where the elements of a logical tensor lie in its checkpoint tensor. A checkpoint may store a tensor transposed (GPT-2),
// fused (q|k|v) or interleaved by head (GPT-NeoX); pb::Tensor says so by hf_base, hf_sizes and hf_strides. Without
// hf_sizes the two are the same.
#ifndef PLAIT_RUNTIME_PLAN_LAYOUT_CHECKPOINTVIEW_H
#define PLAIT_RUNTIME_PLAN_LAYOUT_CHECKPOINTVIEW_H

#include "runtime/plan/Result.h"
#include "runtime/plan/layout/Box.h"
#include "runtime/plan/plan.pb.h"
#include <functional>

namespace plait {

/// `count` elements: element i is at fileOffset + i * fileStride of the checkpoint tensor and at boxOffset + i of the
/// dense row-major box.
struct ViewRun {
  int64_t fileOffset = 0, fileStride = 1, boxOffset = 0, count = 0;
  bool operator==(const ViewRun &) const = default;
};

class CheckpointView {
public:
  /// Error Usage: shapes without elements or beyond 2^62 elements, sizes that do not multiply to the tensor's elements, or
  /// a view that leaves the checkpoint tensor or reads one element of it twice.
  static Result<CheckpointView> of(const pb::Tensor &tensor);

  const std::vector<int64_t> &shape() const { return logicalShape; }
  const std::vector<int64_t> &fileShape() const { return storedShape; }
  int64_t fileElements() const;

  /// Calls visit for runs that together hold every element of the box once, in the box's order. Precondition: the box
  /// is inside shape().
  void forEachRun(const Box &box, const std::function<void(const ViewRun &)> &visit) const;
  /// The same for flat elements [first, first + count) of the tensor's row-major order; boxOffset counts from `first`.
  /// Precondition: the range is inside the tensor.
  void forEachRun(int64_t first, int64_t count, const std::function<void(const ViewRun &)> &visit) const;

private:
  std::vector<int64_t> logicalShape, storedShape;
  int64_t base = 0;
  std::vector<int64_t> sizes, strides; ///< of the checkpoint, neighbours merged where they are dense
};

} // namespace plait

#endif
