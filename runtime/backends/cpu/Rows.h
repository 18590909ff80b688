// Rows of an operand as f32, whatever its storage: f32 rows are used in place, bf16 rows pass through a buffer.
#ifndef PLAIT_RUNTIME_BACKENDS_CPU_ROWS_H
#define PLAIT_RUNTIME_BACKENDS_CPU_ROWS_H

#include "runtime/backends/BFloat16.h"
#include "runtime/backends/LaunchCheck.h"

namespace plait::cpu {

void widenRow(const Bf16 *from, float *to, int64_t elements);
void narrowRow(const float *from, Bf16 *to, int64_t elements);

class RowReader {
public:
  explicit RowReader(const TensorDesc &desc)
      : shape(matrixOf(desc)), isBf16(desc.dtype == DType::BF16), buffer(isBf16 ? shape.cols : 0) {}

  int64_t rows() const { return shape.rows; }
  int64_t cols() const { return shape.cols; }
  /// Row `i` of the tensor at `data`; valid until the next call.
  const float *row(const void *data, int64_t i) {
    if (!isBf16)
      return static_cast<const float *>(data) + i * shape.stride;
    widenRow(static_cast<const Bf16 *>(data) + i * shape.stride, buffer.data(), shape.cols);
    return buffer.data();
  }

private:
  MatrixShape shape;
  bool isBf16;
  std::vector<float> buffer;
};

class RowWriter {
public:
  explicit RowWriter(const TensorDesc &desc)
      : shape(matrixOf(desc)), isBf16(desc.dtype == DType::BF16), buffer(isBf16 ? shape.cols : 0) {}

  /// Where to write row `i`; call store() with the same arguments when it is complete.
  float *row(void *data, int64_t i) { return isBf16 ? buffer.data() : static_cast<float *>(data) + i * shape.stride; }
  void store(void *data, int64_t i) {
    if (isBf16)
      narrowRow(buffer.data(), static_cast<Bf16 *>(data) + i * shape.stride, shape.cols);
  }

private:
  MatrixShape shape;
  bool isBf16;
  std::vector<float> buffer;
};

} // namespace plait::cpu

#endif
