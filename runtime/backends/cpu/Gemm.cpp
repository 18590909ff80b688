#include "runtime/backends/cpu/Gemm.h"
#include "runtime/backends/cpu/CpuKernels.h"
#include "runtime/backends/cpu/Rows.h"
#include <dnnl.hpp>
#include <optional>

namespace plait::cpu {

void gemm(const GemmShape &s, const float *a, const float *b, float *c) {
  if (s.m == 0 || s.n == 0)
    return;
  if (s.k == 0) {
    for (int64_t i = 0; i < s.m && !s.accumulate; ++i)
      std::fill_n(c + i * s.ldc, s.n, 0.f);
    return;
  }
  dnnl_sgemm(s.transA ? 'T' : 'N', s.transB ? 'T' : 'N', s.m, s.n, s.k, 1.f, a, s.lda, b, s.ldb,
             s.accumulate ? 1.f : 0.f, c, s.ldc);
}

namespace {

/// oneDNN's matmul primitive for one shape. It beats sgemm on products that reduce over many rows (A transposed), and
/// is the only one that takes bf16.
class Matmul {
public:
  /// Nothing if oneDNN has no implementation for these types on this CPU.
  static std::optional<Matmul> create(const GemmShape &shape, DType a, DType b, DType c) {
    try {
      return Matmul(shape, a, b, c);
    } catch (const dnnl::error &) {
      return std::nullopt;
    }
  }

  void run(const void *a, const void *b, void *c) {
    this->a.set_data_handle(const_cast<void *>(a));
    this->b.set_data_handle(const_cast<void *>(b));
    this->c.set_data_handle(c);
    primitive.execute(stream, {{DNNL_ARG_SRC, this->a}, {DNNL_ARG_WEIGHTS, this->b}, {DNNL_ARG_DST, this->c}});
    stream.wait();
  }

private:
  static dnnl::engine &engine() {
    static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
  }
  static dnnl::memory::desc matrix(int64_t rows, int64_t cols, bool transposed, int64_t stride, DType dtype) {
    auto type = dtype == DType::BF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
    return {{rows, cols}, type, transposed ? dnnl::memory::dims{1, stride} : dnnl::memory::dims{stride, 1}};
  }

  Matmul(const GemmShape &s, DType aType, DType bType, DType cType) : stream(engine()) {
    auto aDesc = matrix(s.m, s.k, s.transA, s.lda, aType), bDesc = matrix(s.k, s.n, s.transB, s.ldb, bType);
    auto cDesc = matrix(s.m, s.n, false, s.ldc, cType);
    dnnl::primitive_attr attributes;
    if (s.accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1.f);
      attributes.set_post_ops(sum);
    }
    primitive =
        dnnl::matmul(dnnl::matmul::primitive_desc(dnnl::matmul::desc(aDesc, bDesc, cDesc), attributes, engine()));
    a = dnnl::memory(aDesc, engine(), nullptr);
    b = dnnl::memory(bDesc, engine(), nullptr);
    c = dnnl::memory(cDesc, engine(), nullptr);
  }

  dnnl::stream stream;
  dnnl::matmul primitive;
  dnnl::memory a, b, c;
};

/// A bf16 operand copied to a dense f32 matrix.
class F32Copy {
public:
  explicit F32Copy(const TensorDesc &desc) : shape(matrixOf(desc)), isBf16(desc.dtype == DType::BF16) {
    values.resize(isBf16 ? shape.elements() : 0);
  }
  int64_t stride() const { return isBf16 ? shape.cols : shape.stride; }
  const float *load(const void *data) {
    if (!isBf16)
      return static_cast<const float *>(data);
    for (int64_t i = 0; i < shape.rows; ++i)
      widenRow(static_cast<const Bf16 *>(data) + i * shape.stride, values.data() + i * shape.cols, shape.cols);
    return values.data();
  }
  /// Where to compute a result that store() then rounds.
  float *target(void *data) { return isBf16 ? values.data() : static_cast<float *>(data); }
  void store(void *data) {
    for (int64_t i = 0; isBf16 && i < shape.rows; ++i)
      narrowRow(values.data() + i * shape.cols, static_cast<Bf16 *>(data) + i * shape.stride, shape.cols);
  }

private:
  MatrixShape shape;
  bool isBf16;
  std::vector<float> values;
};

bool hasFastBf16() {
  constexpr auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

LaunchPtr makeConvertingGemm(const LaunchDesc &desc, GemmShape shape) {
  F32Copy a(desc.refs[0]), b(desc.refs[1]), c(desc.refs[2]);
  shape.lda = a.stride();
  shape.ldb = b.stride();
  shape.ldc = c.stride();
  return makeLaunch([shape, a, b, c](void *const *data) mutable {
    float *target = c.target(data[2]);
    if (shape.accumulate)
      c.load(data[2]);
    gemm(shape, a.load(data[0]), b.load(data[1]), target);
    c.store(data[2]);
  });
}

} // namespace

LaunchPtr makeGemm(const LaunchDesc &desc) {
  MatrixShape a = matrixOf(desc.refs[0]), b = matrixOf(desc.refs[1]), c = matrixOf(desc.refs[2]);
  GemmShape shape{
      desc.ints[0] != 0, desc.ints[1] != 0, desc.ints[2] != 0, c.rows, c.cols, desc.ints[0] ? a.rows : a.cols,
      a.stride,          b.stride,          c.stride};
  DType types[3] = {desc.refs[0].dtype, desc.refs[1].dtype, desc.refs[2].dtype};
  bool empty = shape.m == 0 || shape.n == 0 || shape.k == 0;
  bool bf16 = types[0] == DType::BF16 && types[1] == DType::BF16 && hasFastBf16();
  bool f32 = types[0] == DType::F32 && types[1] == DType::F32 && types[2] == DType::F32;
  bool reducesRows = shape.transA && !shape.transB && shape.k > 64;
  if (!empty && (bf16 || (f32 && reducesRows)))
    if (std::optional<Matmul> matmul = Matmul::create(shape, types[0], types[1], types[2]))
      return makeLaunch(
          [matmul = std::move(*matmul)](void *const *data) mutable { matmul.run(data[0], data[1], data[2]); });
  return makeConvertingGemm(desc, shape);
}

} // namespace plait::cpu
