// Builds launches with their tensors in ordinary memory, runs them on a backend and reads the results as doubles.
#ifndef PLAIT_TEST_RUNTIME_BACKENDS_KERNELHARNESS_H
#define PLAIT_TEST_RUNTIME_BACKENDS_KERNELHARNESS_H

#include "runtime/backends/Backend.h"
#include <functional>
#include <random>

namespace plait::test {

/// A tensor whose rows may be `gap` elements apart; the gaps hold a pattern that no kernel may change.
class Tensor {
public:
  Tensor(std::vector<int64_t> shape, DType dtype, int64_t gap = 0);
  /// A dense i32 vector.
  static Tensor ids(std::vector<int64_t> shape, const std::vector<int> &values);

  Tensor &fill(const std::vector<double> &values);
  Tensor &random(std::mt19937 &generator, double low = -1, double high = 1);
  std::vector<double> values() const;
  double get(int64_t i) const;
  void set(int64_t i, double value);
  int64_t elements() const { return rows * cols; }
  bool gapsUntouched() const;

  TensorDesc desc;
  std::vector<char> bytes;

private:
  int64_t position(int64_t i) const { return i / cols * stride + i % cols; }
  int64_t rows = 1, cols = 1, stride = 1;
};

/// One launch with its tensors, operands then results.
struct Call {
  Kernel kernel = Kernel::None;
  std::vector<Tensor> tensors = {};
  std::vector<int64_t> ints = {};
  std::vector<double> doubles = {};
  std::vector<int64_t> offsets = {};
  std::shared_ptr<pb::PointwiseProgram> program = {};

  LaunchDesc desc() const;
  /// Compiles and runs; fails the test if the launch is refused or a gap was written.
  void run(Backend &backend);
  std::vector<double> values(unsigned tensor) const { return tensors[tensor].values(); }
};

/// Largest |a - b|, relative to the largest |b| (absolute where b is all zero). Infinities must agree.
double relativeError(const std::vector<double> &a, const std::vector<double> &b);

/// What a result of `length` summed terms may be off: rounding errors of f32 that add up like a random walk, with a
/// safety factor of 8, and one unit in the last place of the type in which it is stored.
double tolerance(DType dtype, int64_t length);

/// Runs a copy of `call` on the cpu and one on the reference backend and compares the results from `firstResult` on.
void compareWithReference(const Call &call, unsigned firstResult, int64_t length);

/// d loss / d tensors[input] by central differences; `loss` runs forward kernels and sums the result.
std::vector<double> numericGradient(Tensor &input, const std::function<double()> &loss);

/// Program of one text line per instruction: "op operand... [immediates...]" with operands %0, %1, ...
std::shared_ptr<pb::PointwiseProgram> pointwiseProgram(const std::string &inputs,
                                                       const std::vector<std::string> &instrs,
                                                       const std::vector<unsigned> &outputs);

} // namespace plait::test

#endif
