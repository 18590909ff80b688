#include "dialects/model/Pointwise.h"
#include <numbers>

namespace plait::model {

namespace {

/// Appends instructions; an operand is an input or the index that an earlier call returned.
class Writer {
public:
  using Operand = uint32_t;

  Writer(std::string name, std::vector<bool> rowInput) {
    program.name = std::move(name);
    program.rowInput = std::move(rowInput);
  }
  Operand emit(PointwiseOp op, std::vector<Operand> operands, std::vector<double> immediates = {}) {
    program.instrs.push_back({op, std::move(operands), std::move(immediates)});
    return static_cast<Operand>(program.rowInput.size() + program.instrs.size() - 1);
  }
  Operand add(Operand a, Operand b) { return emit(PointwiseOp::Add, {a, b}); }
  Operand mul(Operand a, Operand b) { return emit(PointwiseOp::Mul, {a, b}); }
  /// scale * a + offset
  Operand affine(Operand a, double scale, double offset) { return emit(PointwiseOp::ScaleAdd, {a}, {scale, offset}); }
  PointwiseTemplate finish(std::vector<uint32_t> outputs) {
    program.outputs = std::move(outputs);
    return std::move(program);
  }

private:
  PointwiseTemplate program;
};

using Operand = Writer::Operand;

/// An activation and its derivative at x; shared parts are computed once.
struct Evaluated {
  Operand value, derivative;
};

} // namespace

static Evaluated evaluateSilu(Writer &w, Operand x) {
  Operand sigmoid = w.emit(PointwiseOp::Sigmoid, {x});
  Operand value = w.mul(x, sigmoid);
  Operand rest = w.affine(w.mul(x, w.affine(sigmoid, -1, 1)), 1, 1); // 1 + x (1 - sigmoid)
  return {value, w.mul(sigmoid, rest)};
}

/// x phi(x), with phi the normal distribution function.
static Evaluated evaluateGelu(Writer &w, Operand x) {
  Operand erf = w.emit(PointwiseOp::Erf, {w.affine(x, std::numbers::sqrt2 / 2, 0)});
  Operand phi = w.affine(erf, 0.5, 0.5);
  Operand exponential = w.emit(PointwiseOp::Exp, {w.affine(w.mul(x, x), -0.5, 0)});
  Operand density = w.affine(exponential, std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2, 0);
  return {w.mul(x, phi), w.emit(PointwiseOp::Fma, {x, density, phi})};
}

/// x (1 + tanh u) / 2 with u = c (x + a x^3): x t' = x (1 - tanh^2 u) c (1 + 3 a x^2) / 2.
static Evaluated evaluateGeluTanh(Writer &w, Operand x) {
  const double c = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, a = 0.044715;
  Operand square = w.mul(x, x);
  Operand u = w.mul(x, w.affine(square, c * a, c));
  Operand tanh = w.emit(PointwiseOp::Tanh, {u});
  Operand half = w.affine(tanh, 0.5, 0.5);
  Operand slope = w.mul(w.affine(w.mul(tanh, tanh), -0.5, 0.5), w.affine(square, 3 * c * a, c));
  return {w.mul(x, half), w.emit(PointwiseOp::Fma, {x, slope, half})};
}

static Operand relu(Writer &w, Operand x) { return w.emit(PointwiseOp::Max, {x, w.affine(x, 0, 0)}); }

/// The derivative is 1 for positive normal numbers: relu(x) times a number beyond 1/x, limited to 1.
static Evaluated evaluateRelu(Writer &w, Operand x) {
  Operand value = relu(w, x);
  Operand one = w.affine(x, 0, 1);
  return {value, w.emit(PointwiseOp::Min, {w.affine(value, 0x1p127, 0), one})};
}

static Evaluated evaluateRelu2(Writer &w, Operand x) {
  Operand positive = relu(w, x);
  return {w.mul(positive, positive), w.affine(positive, 2, 0)};
}

static Evaluated evaluate(Writer &w, ActivationKind kind, Operand x) {
  switch (kind) {
  case ActivationKind::Silu: return evaluateSilu(w, x);
  case ActivationKind::Gelu: return evaluateGelu(w, x);
  case ActivationKind::GeluTanh: return evaluateGeluTanh(w, x);
  case ActivationKind::Relu: return evaluateRelu(w, x);
  case ActivationKind::Relu2: return evaluateRelu2(w, x);
  }
  llvm_unreachable("unknown activation");
}

static std::string nameOf(ActivationKind kind) { return stringifyActivationKind(kind).str(); }

/// Drops instructions that no output needs.
static PointwiseTemplate prune(PointwiseTemplate program) {
  const uint32_t inputs = program.rowInput.size();
  std::vector<bool> needed(inputs + program.instrs.size());
  for (uint32_t output : program.outputs)
    needed[output] = true;
  for (size_t i = program.instrs.size(); i-- > 0;)
    if (needed[inputs + i])
      for (uint32_t operand : program.instrs[i].operands)
        needed[operand] = true;
  std::vector<uint32_t> renumbered(needed.size());
  uint32_t next = 0;
  std::vector<PointwiseInstruction> kept;
  for (uint32_t i = 0; i < needed.size(); ++i) {
    if (i >= inputs && !needed[i])
      continue;
    renumbered[i] = next++;
    if (i >= inputs)
      kept.push_back(std::move(program.instrs[i - inputs]));
  }
  for (PointwiseInstruction &instr : kept)
    for (uint32_t &operand : instr.operands)
      operand = renumbered[operand];
  for (uint32_t &output : program.outputs)
    output = renumbered[output];
  program.instrs = std::move(kept);
  return program;
}

PointwiseTemplate addProgram() {
  Writer w("add", {false, false});
  return w.finish({w.add(0, 1)});
}

PointwiseTemplate mulProgram() {
  Writer w("mul", {false, false});
  return w.finish({w.mul(0, 1)});
}

PointwiseTemplate scaleProgram(double factor) {
  Writer w("scale", {false});
  return w.finish({w.affine(0, factor, 0)});
}

PointwiseTemplate biasAddProgram() {
  Writer w("bias_add", {false, true});
  return w.finish({w.add(0, 1)});
}

PointwiseTemplate activationProgram(ActivationKind kind) {
  Writer w(nameOf(kind), {false});
  return prune(w.finish({evaluate(w, kind, 0).value}));
}

PointwiseTemplate activationGradProgram(ActivationKind kind) {
  Writer w(nameOf(kind) + "_grad", {false, false});
  return prune(w.finish({w.mul(0, evaluate(w, kind, 1).derivative)}));
}

PointwiseTemplate gatedActivationProgram(ActivationKind kind) {
  Writer w(nameOf(kind) + "_gated", {false, false});
  return prune(w.finish({w.mul(evaluate(w, kind, 0).value, 1)}));
}

PointwiseTemplate gatedActivationGradProgram(ActivationKind kind) {
  Writer w(nameOf(kind) + "_gated_grad", {false, false, false});
  Evaluated gate = evaluate(w, kind, 1);
  Operand dgate = w.mul(w.mul(0, gate.derivative), 2);
  return prune(w.finish({dgate, w.mul(0, gate.value)}));
}

} // namespace plait::model
