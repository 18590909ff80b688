#include "runtime/backends/LaunchCheck.h"
#include <array>

namespace plait {

TensorDesc denseTensor(std::vector<int64_t> shape, DType dtype) {
  std::vector<int64_t> stride(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    stride[d - 1] = stride[d] * shape[d];
  return {std::move(shape), std::move(stride), dtype};
}

MatrixShape matrixOf(const TensorDesc &desc) {
  MatrixShape matrix{1, 1, 1};
  if (desc.shape.empty())
    return matrix;
  matrix.cols = matrix.stride = desc.shape.back();
  bool strideKnown = false;
  for (size_t d = desc.shape.size() - 1; d-- > 0;) {
    matrix.rows *= desc.shape[d];
    if (desc.shape[d] > 1 && !strideKnown) {
      matrix.stride = desc.stride[d];
      strideKnown = true;
    }
  }
  return matrix;
}

namespace {

enum class Type : uint8_t {
  Float, ///< f32 or bf16
  Exact, ///< f32: statistics, losses, parameter gradients
  Ids,   ///< i32
};

/// Offsets are added to indices, and the KV ratio multiplies one: neither may overflow.
constexpr int64_t offsetLimit = int64_t(1) << 48, ratioLimit = int64_t(1) << 20;

struct OperandSpec {
  std::string_view name;
  Type type = Type::Float;
};

struct KernelSpec {
  std::vector<OperandSpec> operands;
  std::vector<std::string_view> ints, doubles, offsets;
};

/// Indexed by Kernel. Rope and pointwise have lists of variable length, which their own checks complete.
const std::vector<KernelSpec> &catalogue() {
  using enum Type;
  static const std::vector<KernelSpec> specs = {
      {},
      {{{"a"}, {"b"}, {"c"}}, {"trans_a", "trans_b", "accumulate"}, {}, {}},
      {{{"dy"}, {"db", Exact}}, {}, {}, {}},
      {{{"x"}, {"w"}, {"y"}, {"rstd", Exact}}, {}, {"eps"}, {}},
      {{{"dy"}, {"x"}, {"w"}, {"rstd", Exact}, {"dx"}}, {}, {}, {}},
      {{{"dy"}, {"x"}, {"rstd", Exact}, {"dw", Exact}}, {}, {}, {}},
      {{{"x"}, {"w"}, {"b"}, {"y"}, {"mean", Exact}, {"rstd", Exact}}, {}, {"eps"}, {}},
      {{{"dy"}, {"x"}, {"w"}, {"mean", Exact}, {"rstd", Exact}, {"dx"}}, {}, {}, {}},
      {{{"dy"}, {"x"}, {"mean", Exact}, {"rstd", Exact}, {"dw", Exact}, {"db", Exact}}, {}, {}, {}},
      {{{"x"}, {"y"}}, {"head_dim", "rotary_dim", "interleaved", "inverse"}, {}, {"first position"}},
      {{{"q"}, {"k"}, {"v"}, {"o"}, {"lse", Exact}},
       {"head_dim", "ratio", "causal", "window"},
       {"scale"},
       {"head_shift"}},
      {{{"do"}, {"q"}, {"k"}, {"v"}, {"o"}, {"lse", Exact}, {"dq"}, {"dk"}, {"dv"}},
       {"head_dim", "ratio", "causal", "window"},
       {"scale"},
       {"head_shift"}},
      {{{"tokens", Ids}, {"w"}, {"y"}}, {}, {}, {"first id"}},
      {{{"dy"}, {"tokens", Ids}, {"dw", Exact}}, {}, {}, {"first id"}},
      {{{"x"}, {"w"}, {"y"}}, {}, {}, {"first position"}},
      {{{"dy"}, {"dw", Exact}}, {}, {}, {"first position"}},
      {},
      {{{"logits"}, {"m", Exact}}, {}, {}, {}},
      {{{"logits"}, {"m", Exact}, {"z", Exact}}, {}, {}, {}},
      {{{"logits"}, {"labels", Ids}, {"t", Exact}}, {}, {}, {"first id"}},
      {{{"m", Exact}, {"z", Exact}, {"t", Exact}, {"labels", Ids}, {"lse", Exact}, {"loss", Exact}}, {}, {}, {}},
      {{{"logits"}, {"lse", Exact}, {"labels", Ids}, {"scale", Exact}, {"dlogits"}}, {}, {}, {"first id"}},
  };
  return specs;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); ++d)
    text += (d ? ", " : "") + std::to_string(shape[d]);
  return text + "]";
}

/// Runs the checks in order and keeps the first message; every check returns whether it held.
class Checker {
public:
  Checker(const LaunchDesc &desc, FloatTypes types) : desc(desc), types(types) {}

  Status run() {
    if (checkKernel() && checkOperandCount() && checkAttributeCounts() && checkTensors())
      checkShapes();
    if (message.empty())
      return success();
    return usageError(std::string(kernelName(desc.kernel)) + ": " + message);
  }

private:
  bool fail(std::string text) {
    message = std::move(text);
    return false;
  }
  std::string operandName(unsigned i) const {
    std::string name = "operand " + std::to_string(i);
    return i < spec.operands.size() ? name + " '" + std::string(spec.operands[i].name) + "'" : name;
  }
  std::string tensorText(unsigned i) const {
    return std::string(nameOf(desc.refs[i].dtype)) + shapeText(desc.refs[i].shape);
  }
  bool failOperand(unsigned i, const std::string &expected) {
    return fail(operandName(i) + " is " + tensorText(i) + "; expected " + expected);
  }
  bool expectMatrix(unsigned i, int64_t rows, int64_t cols, const std::string &why) {
    MatrixShape m = matrixOf(desc.refs[i]);
    return (m.rows == rows && m.cols == cols) ||
           failOperand(i, std::to_string(rows) + " rows of " + std::to_string(cols) + ", " + why);
  }
  bool expectLike(unsigned i, unsigned other) {
    MatrixShape m = matrixOf(desc.refs[other]);
    return expectMatrix(i, m.rows, m.cols, "as " + operandName(other));
  }
  bool expectDense(unsigned i, int64_t elements, const std::string &why) {
    MatrixShape m = matrixOf(desc.refs[i]);
    return (m.elements() == elements && m.dense()) ||
           failOperand(i, std::to_string(elements) + " elements without gaps, " + why);
  }
  bool expectPerRow(unsigned i, unsigned of) {
    return expectDense(i, matrixOf(desc.refs[of]).rows, "one for each row of " + operandName(of));
  }
  bool expectRank3(unsigned i) {
    return desc.refs[i].shape.size() == 3 || failOperand(i, "three dimensions [s, b, width]");
  }
  bool expectInt(unsigned i, bool holds, const std::string &expected) {
    return holds || fail("integer " + std::to_string(i) + " '" + std::string(spec.ints[i]) + "' is " +
                         std::to_string(desc.ints[i]) + "; expected " + expected);
  }
  bool expectFlag(unsigned i) { return expectInt(i, desc.ints[i] == 0 || desc.ints[i] == 1, "0 or 1"); }

  bool checkKernel();
  bool checkOperandCount();
  bool checkCount(const char *kind, size_t given, const std::vector<std::string_view> &names);
  bool checkAttributeCounts();
  bool checkOffsets();
  bool checkTensors();
  bool checkType(unsigned i, Type type);
  bool checkStrides(unsigned i);
  bool checkShapes();
  bool checkGemm();
  bool checkNorm(unsigned x, int64_t width, const std::vector<unsigned> &like, const std::vector<unsigned> &vectors,
                 const std::vector<unsigned> &statistics);
  bool checkRmsNorm(unsigned x, unsigned w, const std::vector<unsigned> &like, unsigned rstd);
  bool checkRope();
  bool checkAttention(unsigned q, unsigned o, unsigned lse);
  bool checkEmbedding(unsigned tokens, unsigned table, unsigned y);
  bool checkPosition(unsigned x, unsigned table);
  bool checkPointwise();
  bool checkPointwiseProgram(const pb::PointwiseProgram &program);

  const LaunchDesc &desc;
  FloatTypes types;
  KernelSpec spec;
  std::string message;
};

bool Checker::checkKernel() {
  auto index = static_cast<size_t>(desc.kernel);
  if (index == 0 || index >= catalogue().size())
    return fail("kernel number " + std::to_string(index) + " is not in the catalogue; kernels are 1 to " +
                std::to_string(catalogue().size() - 1));
  spec = catalogue()[index];
  if (desc.kernel != Kernel::Pointwise)
    return true;
  if (!desc.pointwise)
    return fail("the launch names no pointwise program");
  for (int i = 0; i < desc.pointwise->inputs_size(); ++i)
    spec.operands.push_back({"input"});
  for (int i = 0; i < desc.pointwise->outputs_size(); ++i)
    spec.operands.push_back({"output"});
  return true;
}

bool Checker::checkOperandCount() {
  if (desc.refs.size() == spec.operands.size())
    return true;
  std::string names;
  for (const OperandSpec &operand : spec.operands)
    names += (names.empty() ? ": " : ", ") + std::string(operand.name);
  return fail(std::to_string(desc.refs.size()) + " operands given; expected " + std::to_string(spec.operands.size()) +
              names);
}

bool Checker::checkCount(const char *kind, size_t given, const std::vector<std::string_view> &names) {
  if (given == names.size())
    return true;
  std::string list;
  for (std::string_view name : names)
    list += (list.empty() ? ": " : ", ") + std::string(name);
  return fail(std::to_string(given) + " " + kind + " given; expected " + std::to_string(names.size()) + list);
}

bool Checker::checkAttributeCounts() {
  return checkCount("integers", desc.ints.size(), spec.ints) &&
         (desc.kernel == Kernel::Rope || checkCount("doubles", desc.doubles.size(), spec.doubles)) &&
         checkCount("offsets", desc.offsets.size(), spec.offsets) && checkOffsets();
}

bool Checker::checkOffsets() {
  for (size_t i = 0; i < desc.offsets.size(); ++i)
    if (desc.offsets[i] > offsetLimit || desc.offsets[i] < -offsetLimit)
      return fail("offset '" + std::string(spec.offsets[i]) + "' is " + std::to_string(desc.offsets[i]) +
                  "; expected a magnitude of at most " + std::to_string(offsetLimit));
  return true;
}

bool Checker::checkTensors() {
  for (unsigned i = 0; i < desc.refs.size(); ++i)
    if (!checkType(i, spec.operands[i].type) || !checkStrides(i))
      return false;
  return true;
}

bool Checker::checkType(unsigned i, Type type) {
  DType given = desc.refs[i].dtype;
  if (type == Type::Ids)
    return given == DType::I32 || failOperand(i, "type i32");
  if (given == DType::F32 || (given == DType::F64 && types == FloatTypes::WithF64))
    return true;
  if (type == Type::Exact)
    return failOperand(i, "type f32");
  return given == DType::BF16 || failOperand(i, "type f32 or bf16");
}

bool Checker::checkStrides(unsigned i) {
  const std::vector<int64_t> &shape = desc.refs[i].shape, &stride = desc.refs[i].stride;
  if (shape.size() != stride.size())
    return failOperand(i, "one stride for each dimension, not " + std::to_string(stride.size()));
  int64_t elements = 1;
  for (int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(elements, size, &elements))
      return failOperand(i, "a shape without negative or overflowing dimensions");
  if (elements == 0 || shape.empty())
    return true;
  if (shape.back() > 1 && stride.back() != 1)
    return failOperand(i, "the last dimension contiguous, not of stride " + std::to_string(stride.back()));
  // Each outer stride continues the rows of the dimensions inside it.
  int64_t expected = -1, span = 0;
  for (size_t d = shape.size() - 1; d-- > 0;) {
    if (shape[d] == 1)
      continue;
    if (expected < 0 ? stride[d] < shape.back() : stride[d] != expected)
      return failOperand(i, "leading dimensions that flatten to rows of one stride; strides are " + shapeText(stride));
    if (__builtin_mul_overflow(stride[d], shape[d], &expected) || __builtin_mul_overflow(expected, 8, &span))
      return failOperand(i, "strides that do not overflow, not " + shapeText(stride));
  }
  return true;
}

bool Checker::checkGemm() {
  MatrixShape a = matrixOf(desc.refs[0]), b = matrixOf(desc.refs[1]);
  for (unsigned i = 0; i < 3; ++i)
    if (!expectFlag(i))
      return false;
  int64_t m = desc.ints[0] ? a.cols : a.rows, k = desc.ints[0] ? a.rows : a.cols;
  int64_t n = desc.ints[1] ? b.rows : b.cols;
  if ((desc.ints[1] ? b.cols : b.rows) != k)
    return failOperand(1, std::to_string(k) + (desc.ints[1] ? " columns" : " rows") +
                              ", the inner dimension of operand 0 'a' = " + tensorText(0) + " with trans_a " +
                              std::to_string(desc.ints[0]) + ", trans_b " + std::to_string(desc.ints[1]));
  return expectMatrix(2, m, n, "the product of " + tensorText(0) + " and " + tensorText(1));
}

bool Checker::checkNorm(unsigned x, int64_t width, const std::vector<unsigned> &like,
                        const std::vector<unsigned> &vectors, const std::vector<unsigned> &statistics) {
  MatrixShape shape = matrixOf(desc.refs[x]);
  if (width <= 0 || shape.cols % width != 0)
    return failOperand(x, "a last dimension that is a multiple of the run of " + std::to_string(width) + " elements");
  for (unsigned i : like)
    if (!expectLike(i, x))
      return false;
  for (unsigned i : vectors)
    if (!expectDense(i, width, "the length of a normalised run"))
      return false;
  for (unsigned i : statistics)
    if (!expectDense(i, shape.elements() / width, "one for each run of " + std::to_string(width)))
      return false;
  return true;
}

bool Checker::checkRmsNorm(unsigned x, unsigned w, const std::vector<unsigned> &like, unsigned rstd) {
  return checkNorm(x, matrixOf(desc.refs[w]).elements(), like, {w}, {rstd});
}

bool Checker::checkRope() {
  int64_t headDim = desc.ints[0], rotary = desc.ints[1];
  int64_t width = matrixOf(desc.refs[0]).cols;
  if (!expectRank3(0) || !expectLike(1, 0) ||
      !expectInt(0, headDim > 0 && width % headDim == 0, "a divisor of the width " + std::to_string(width)) ||
      !expectInt(1, rotary >= 0 && rotary % 2 == 0 && rotary <= headDim,
                 "an even number up to head_dim " + std::to_string(headDim)) ||
      !expectFlag(2) || !expectFlag(3))
    return false;
  size_t expected = rotary / 2 + 1;
  return desc.doubles.size() == expected ||
         fail(std::to_string(desc.doubles.size()) + " doubles given; expected " + std::to_string(expected) +
              ": rotary_dim / 2 inverse frequencies and the factor");
}

bool Checker::checkAttention(unsigned q, unsigned o, unsigned lse) {
  unsigned k = q + 1, v = q + 2;
  if (!expectRank3(q) || !expectRank3(k) || !expectRank3(v) || !expectLike(v, k) || !expectLike(o, q))
    return false;
  const std::vector<int64_t> &query = desc.refs[q].shape, &key = desc.refs[k].shape;
  int64_t headDim = desc.ints[0], ratio = desc.ints[1], shift = desc.offsets[0];
  if (!expectInt(0, headDim > 0 && query[2] % headDim == 0 && key[2] % headDim == 0,
                 "a divisor of the widths " + std::to_string(query[2]) + " and " + std::to_string(key[2])) ||
      !expectInt(1, ratio > 0 && ratio <= ratioLimit, "a number from 1 to " + std::to_string(ratioLimit)) ||
      !expectFlag(2) || !expectInt(3, desc.ints[3] >= 0, "0 (none) or a positive number of keys"))
    return false;
  if (query[1] != key[1])
    return failOperand(k, "a batch of " + std::to_string(query[1]) + ", as " + operandName(q));
  int64_t heads = query[2] / headDim, kvHeads = key[2] / headDim;
  if (shift < 0 || (heads > 0 && (heads - 1 + shift) / ratio >= kvHeads))
    return fail("query heads 0 to " + std::to_string(heads - 1) + " shifted by " + std::to_string(shift) +
                " with ratio " + std::to_string(ratio) + " need KV heads up to " +
                std::to_string((heads - 1 + shift) / ratio) +
                "; expected a head_shift of at least 0 that stays below the " + std::to_string(kvHeads) +
                " KV heads of " + operandName(k));
  return expectDense(lse, query[0] * query[1] * heads, "one for each query row and head");
}

bool Checker::checkEmbedding(unsigned tokens, unsigned table, unsigned y) {
  return expectPerRow(tokens, y) && (matrixOf(desc.refs[table]).cols == matrixOf(desc.refs[y]).cols ||
                                     failOperand(table, "rows of " + std::to_string(matrixOf(desc.refs[y]).cols) +
                                                            ", the width of " + operandName(y)));
}

bool Checker::checkPosition(unsigned x, unsigned table) {
  if (!expectRank3(x))
    return false;
  MatrixShape rows = matrixOf(desc.refs[table]);
  int64_t first = desc.offsets[0], end = 0;
  if (rows.cols != matrixOf(desc.refs[x]).cols)
    return failOperand(table,
                       "rows of " + std::to_string(matrixOf(desc.refs[x]).cols) + ", the width of " + operandName(x));
  if (first < 0 || __builtin_add_overflow(first, desc.refs[x].shape[0], &end) || end > rows.rows)
    return fail("positions start at " + std::to_string(first) + " and there are " +
                std::to_string(desc.refs[x].shape[0]) + "; expected all of them among the " +
                std::to_string(rows.rows) + " rows of " + operandName(table));
  return true;
}

bool Checker::checkPointwise() {
  const pb::PointwiseProgram &program = *desc.pointwise;
  if (program.outputs_size() == 0)
    return fail("program '" + program.name() + "' has no output");
  unsigned inputs = program.inputs_size(), first = inputs; // an output: program has at least one
  MatrixShape shape = matrixOf(desc.refs[first]);
  for (unsigned i = 0; i < desc.refs.size(); ++i) {
    bool row = i < inputs && program.inputs(i).kind() == pb::PointwiseInput::ROW;
    if (row ? !expectDense(i, shape.cols, "the last dimension of " + operandName(first)) : !expectLike(i, first))
      return false;
  }
  return checkPointwiseProgram(program);
}

bool Checker::checkPointwiseProgram(const pb::PointwiseProgram &program) {
  uint32_t known = program.inputs_size();
  std::string where = "program '" + program.name() + "', ";
  for (const pb::PointwiseInstr &instr : program.instrs()) {
    std::string at = where + "instruction " + std::to_string(known - program.inputs_size()) + " ";
    auto op = static_cast<PointwiseOp>(instr.op());
    unsigned arity = pointwiseArity(op);
    if (arity == 0)
      return fail(at + "has the unknown operation " + std::to_string(instr.op()));
    at += "'" + std::string(pointwiseOpName(op)) + "' ";
    if (instr.operands_size() != static_cast<int>(arity))
      return fail(at + "has " + std::to_string(instr.operands_size()) + " operands; expected " + std::to_string(arity));
    int immediates = op == PointwiseOp::Axpby || op == PointwiseOp::ScaleAdd ? 2 : 0;
    if (instr.immediates_size() != immediates)
      return fail(at + "has " + std::to_string(instr.immediates_size()) + " immediates; expected " +
                  std::to_string(immediates));
    for (uint32_t operand : instr.operands())
      if (operand >= known)
        return fail(at + "reads value " + std::to_string(operand) + "; only values 0 to " +
                    std::to_string(int64_t(known) - 1) + " are known there");
    ++known;
  }
  for (uint32_t output : program.outputs())
    if (output >= known)
      return fail(where + "output value " + std::to_string(output) + " does not exist; there are " +
                  std::to_string(known));
  return true;
}

bool Checker::checkShapes() {
  switch (desc.kernel) {
  case Kernel::None: return false;
  case Kernel::Gemm: return checkGemm();
  case Kernel::BiasGrad: return expectDense(1, matrixOf(desc.refs[0]).cols, "the last dimension of operand 0 'dy'");
  case Kernel::RmsNorm: return checkRmsNorm(0, 1, {2}, 3);
  case Kernel::RmsNormGrad: return checkRmsNorm(1, 2, {0, 4}, 3);
  case Kernel::RmsNormGradWeight: return checkRmsNorm(1, 3, {0}, 2);
  case Kernel::LayerNorm: return checkNorm(0, matrixOf(desc.refs[0]).cols, {3}, {1, 2}, {4, 5});
  case Kernel::LayerNormGrad: return checkNorm(1, matrixOf(desc.refs[1]).cols, {0, 5}, {2}, {3, 4});
  case Kernel::LayerNormGradWeight: return checkNorm(1, matrixOf(desc.refs[1]).cols, {0}, {4, 5}, {2, 3});
  case Kernel::Rope: return checkRope();
  case Kernel::Attention: return checkAttention(0, 3, 4);
  case Kernel::AttentionGrad:
    return checkAttention(1, 4, 5) && expectLike(0, 1) && expectLike(6, 1) && expectLike(7, 2) && expectLike(8, 3);
  case Kernel::Embedding: return checkEmbedding(0, 1, 2);
  case Kernel::EmbeddingGrad: return checkEmbedding(1, 2, 0);
  case Kernel::PositionEmbedding: return expectLike(2, 0) && checkPosition(0, 1);
  case Kernel::PositionEmbeddingGrad: return checkPosition(0, 1);
  case Kernel::Pointwise: return checkPointwise();
  case Kernel::RowMax: return expectPerRow(1, 0);
  case Kernel::RowSumExp: return expectPerRow(1, 0) && expectPerRow(2, 0);
  case Kernel::RowPick: return expectPerRow(1, 0) && expectPerRow(2, 0);
  case Kernel::CrossEntropy: {
    int64_t rows = matrixOf(desc.refs[0]).elements();
    for (unsigned i = 0; i < 5; ++i)
      if (!expectDense(i, rows, "as operand 0 'm'"))
        return false;
    return expectDense(5, 1, "the sum of losses");
  }
  case Kernel::CrossEntropyGrad:
    return expectPerRow(1, 0) && expectPerRow(2, 0) && expectDense(3, 1, "the factor of all gradients") &&
           expectLike(4, 0);
  }
  return false;
}

} // namespace

Status checkLaunch(const LaunchDesc &desc, FloatTypes types) { return Checker(desc, types).run(); }

} // namespace plait
