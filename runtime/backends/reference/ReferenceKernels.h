// Kernels of the reference backend: one plain function per kernel of the catalogue, called with a checked launch.
// Values are read as double, all arithmetic is double, and a result is rounded once when it is stored.
#ifndef PLAIT_RUNTIME_BACKENDS_REFERENCE_REFERENCEKERNELS_H
#define PLAIT_RUNTIME_BACKENDS_REFERENCE_REFERENCEKERNELS_H

#include "runtime/backends/LaunchCheck.h"

namespace plait::reference {

/// One operand of a launch: a matrix of `rows` by `cols` elements of any storage type.
class Matrix {
public:
  Matrix(const TensorDesc &desc, void *data) : shape(matrixOf(desc)), dtype(desc.dtype), data(data) {}

  int64_t rows() const { return shape.rows; }
  int64_t cols() const { return shape.cols; }
  double get(int64_t row, int64_t col) const;
  void set(int64_t row, int64_t col, double value) const;
  void add(int64_t row, int64_t col, double value) const { set(row, col, get(row, col) + value); }

  /// All elements, row-major.
  std::vector<double> values() const;

  /// Element of a tensor without gaps, counted in row-major order.
  double get(int64_t i) const { return get(i / shape.cols, i % shape.cols); }
  void set(int64_t i, double value) const { set(i / shape.cols, i % shape.cols, value); }
  void add(int64_t i, double value) const { set(i, get(i) + value); }
  int64_t id(int64_t i) const { return static_cast<const int32_t *>(data)[i]; }

private:
  MatrixShape shape;
  DType dtype;
  void *data;
};

/// The operands of a launch with their addresses, and its attributes.
struct Launch {
  const LaunchDesc &desc;
  void *const *data;
  Matrix operator[](unsigned i) const { return {desc.refs[i], data[i]}; }
};

void gemm(const Launch &launch);
void biasGrad(const Launch &launch);
void rmsNorm(const Launch &launch);
void rmsNormGrad(const Launch &launch);
void rmsNormGradWeight(const Launch &launch);
void layerNorm(const Launch &launch);
void layerNormGrad(const Launch &launch);
void layerNormGradWeight(const Launch &launch);
void rope(const Launch &launch);
void attention(const Launch &launch);
void attentionGrad(const Launch &launch);
void embedding(const Launch &launch);
void embeddingGrad(const Launch &launch);
void positionEmbedding(const Launch &launch);
void positionEmbeddingGrad(const Launch &launch);
void pointwise(const Launch &launch);
void rowMax(const Launch &launch);
void rowSumExp(const Launch &launch);
void rowPick(const Launch &launch);
void crossEntropy(const Launch &launch);
void crossEntropyGrad(const Launch &launch);

} // namespace plait::reference

#endif
