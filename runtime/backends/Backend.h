// Compute backend: runs the kernels of the catalogue (runtime/plan/Kernels.h) on one device. The executor compiles each
// launch of a plan once and then runs it with new addresses; after compile() nothing allocates.
#ifndef PLAIT_RUNTIME_BACKENDS_BACKEND_H
#define PLAIT_RUNTIME_BACKENDS_BACKEND_H

#include "runtime/plan/DType.h"
#include "runtime/plan/Kernels.h"
#include "runtime/plan/Result.h"
#include "runtime/plan/plan.pb.h"
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace plait {

/// Shape of one operand. Strides are in elements, one per dimension; the last is 1.
struct TensorDesc {
  std::vector<int64_t> shape, stride;
  DType dtype = DType::F32;
};

struct LaunchDesc {
  Kernel kernel = Kernel::None;
  std::vector<TensorDesc> refs;          ///< operands, then results, as the catalogue orders them
  std::vector<int64_t> ints;
  std::vector<double> doubles;
  std::vector<int64_t> offsets;          ///< already evaluated for this rank
  const pb::PointwiseProgram *pointwise = nullptr; ///< outlives the compiled launch
};

/// A launch with fixed shapes; data[i] is the address of refs[i].
class CompiledLaunch {
public:
  virtual ~CompiledLaunch() = default;
  virtual void run(void *const *data) = 0;
};

/// Elementwise optimizer settings of one step.
struct OptimizerStep {
  enum Kind { Sgd, AdamW } kind = AdamW;
  double learningRate = 0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0;
  int64_t step = 1;        ///< 1-based, for bias correction
  double gradScale = 1;    ///< clipping factor
};

class Backend {
public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;

  /// Checks refs and attributes against the catalogue. Error: the kernel, the operand, and what was expected.
  virtual Result<std::unique_ptr<CompiledLaunch>> compile(const LaunchDesc &desc) = 0;

  /// Arena memory, zeroed and aligned to 64 bytes. Error Runtime when the device is out of memory.
  virtual Result<void *> allocate(uint64_t bytes) = 0;
  virtual void release(void *memory, uint64_t bytes) = 0;

  virtual void zero(void *memory, uint64_t bytes) = 0;
  /// Strided copy of equal shapes; types may differ (f32 <-> bf16, round to nearest even).
  virtual void copy(const TensorDesc &from, const void *source, const TensorDesc &to, void *target) = 0;
  /// Sum of squares of f32 elements in f64, in a fixed order; not finite if any element is not.
  virtual double sumOfSquares(const float *data, uint64_t elements) = 0;
  /// One update of `elements` elements. master and moments are f32; param is f32 (and is then the master: master is
  /// null) or bf16 (written from master). Sgd ignores the moments. decay: weight decay applies to these elements.
  virtual void optimizerUpdate(const OptimizerStep &step, bool decay, uint64_t elements, const float *grad, float *master,
                               float *moment1, float *moment2, void *param, DType paramType) = 0;
};

/// Flushes denormal results and operands to zero on the calling thread and on threads that it starts later. A worker
/// calls it first, before any library makes a thread, so that all ranks round alike and no kernel hits a slow path.
void setDenormalsToZero();

/// Vectorised kernels (oneDNN GEMM, blocked pointwise programs, tiled attention), one thread.
std::unique_ptr<Backend> makeCpuBackend();
/// Plain loops that accumulate in double and round once: the oracle of every other backend.
std::unique_ptr<Backend> makeReferenceBackend();

} // namespace plait

#endif
