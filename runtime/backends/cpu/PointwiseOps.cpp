#include "runtime/backends/cpu/PointwiseOps.h"
#include "runtime/backends/cpu/VectorMath.h"

namespace plait::cpu {
namespace {

// The simd pragma states that elements are independent even where out is one of the operands.
#define PLAIT_POINTWISE(name, value)                                                                                   \
  PLAIT_CLONES void name(float *out, const float *a, const float *b, const float *c, float k0, float k1, int64_t n) {  \
    _Pragma("omp simd") for (int64_t i = 0; i < n; ++i) out[i] = value;                                                \
  }

PLAIT_POINTWISE(addBlock, a[i] + b[i])
PLAIT_POINTWISE(subBlock, a[i] - b[i])
PLAIT_POINTWISE(mulBlock, a[i] * b[i])
PLAIT_POINTWISE(divBlock, a[i] / b[i])
PLAIT_POINTWISE(negBlock, -a[i])
PLAIT_POINTWISE(axpbyBlock, k0 *a[i] + k1 * b[i])
PLAIT_POINTWISE(scaleAddBlock, k0 *a[i] + k1)
PLAIT_POINTWISE(fmaBlock, a[i] * b[i] + c[i])
PLAIT_POINTWISE(expBlock, vexp(a[i]))
PLAIT_POINTWISE(sigmoidBlock, vsigmoid(a[i]))
PLAIT_POINTWISE(tanhBlock, vtanh(a[i]))
PLAIT_POINTWISE(erfBlock, verf(a[i]))
PLAIT_POINTWISE(sqrtBlock, std::sqrt(a[i]))
PLAIT_POINTWISE(rsqrtBlock, 1.f / std::sqrt(a[i]))
PLAIT_POINTWISE(maxBlock, a[i] > b[i] || a[i] != a[i] ? a[i] : b[i])
PLAIT_POINTWISE(minBlock, a[i] < b[i] || a[i] != a[i] ? a[i] : b[i])
PLAIT_POINTWISE(copyBlock, a[i])

#undef PLAIT_POINTWISE

} // namespace

PointwiseFunction pointwiseFunction(PointwiseOp op) {
  switch (op) {
  case PointwiseOp::None: return nullptr;
  case PointwiseOp::Add: return addBlock;
  case PointwiseOp::Sub: return subBlock;
  case PointwiseOp::Mul: return mulBlock;
  case PointwiseOp::Div: return divBlock;
  case PointwiseOp::Neg: return negBlock;
  case PointwiseOp::Axpby: return axpbyBlock;
  case PointwiseOp::ScaleAdd: return scaleAddBlock;
  case PointwiseOp::Fma: return fmaBlock;
  case PointwiseOp::Exp: return expBlock;
  case PointwiseOp::Sigmoid: return sigmoidBlock;
  case PointwiseOp::Tanh: return tanhBlock;
  case PointwiseOp::Erf: return erfBlock;
  case PointwiseOp::Sqrt: return sqrtBlock;
  case PointwiseOp::Rsqrt: return rsqrtBlock;
  case PointwiseOp::Max: return maxBlock;
  case PointwiseOp::Min: return minBlock;
  }
  return nullptr;
}

PointwiseFunction copyFunction() { return copyBlock; }

} // namespace plait::cpu
