// Validation of a launch against the kernel catalogue (runtime/plan/Kernels.h), shared by every backend: after it
// succeeds a kernel may read shapes, strides, types and attributes without looking again.
#ifndef PLAIT_RUNTIME_BACKENDS_LAUNCHCHECK_H
#define PLAIT_RUNTIME_BACKENDS_LAUNCHCHECK_H

#include "runtime/backends/Backend.h"

namespace plait {

/// A tensor with its leading dimensions flattened: rows of `cols` contiguous elements, `stride` elements apart.
struct MatrixShape {
  int64_t rows = 0, cols = 0, stride = 0;
  bool dense() const { return rows <= 1 || stride == cols; }
  int64_t elements() const { return rows * cols; }
};

/// Row-major tensor without gaps.
TensorDesc denseTensor(std::vector<int64_t> shape, DType dtype);

/// desc must have passed checkLaunch. A tensor of rank 0 or 1 is one row.
MatrixShape matrixOf(const TensorDesc &desc);

/// Which types a floating-point operand may have. The reference backend also computes on f64 tensors (statistics and
/// parameter gradients are then f64 too), so that its gradients can be checked by finite differences.
enum class FloatTypes { F32AndBf16, WithF64 };

/// Checks the number, types, shapes and strides of operands, and the number and values of attributes. Leading
/// dimensions must flatten to rows of one stride; f32 statistics and parameter vectors must be dense.
/// Error (Usage): kernel, operand number and name, what it is and what was expected.
Status checkLaunch(const LaunchDesc &desc, FloatTypes types = FloatTypes::F32AndBf16);

} // namespace plait

#endif
