// Pointwise programs of the activations against closed forms and central differences, in double.
#include "dialects/model/Pointwise.h"
#include <catch2/catch.hpp>
#include <cmath>

namespace plait::model {

static double evaluate(const PointwiseInstruction &instr, const std::vector<double> &v) {
  auto a = [&](size_t i) { return v.at(instr.operands.at(i)); };
  switch (instr.op) {
  case PointwiseOp::Add: return a(0) + a(1);
  case PointwiseOp::Mul: return a(0) * a(1);
  case PointwiseOp::ScaleAdd: return instr.immediates.at(0) * a(0) + instr.immediates.at(1);
  case PointwiseOp::Fma: return a(0) * a(1) + a(2);
  case PointwiseOp::Exp: return std::exp(a(0));
  case PointwiseOp::Sigmoid: return 1 / (1 + std::exp(-a(0)));
  case PointwiseOp::Tanh: return std::tanh(a(0));
  case PointwiseOp::Erf: return std::erf(a(0));
  case PointwiseOp::Max: return std::max(a(0), a(1));
  case PointwiseOp::Min: return std::min(a(0), a(1));
  default: break;
  }
  FAIL("instruction " << pointwiseOpName(instr.op) << " is not used by the model's programs");
  return 0;
}

/// Outputs of `program`. Every instruction must have the arity of its op and be needed by an output.
static std::vector<double> run(const PointwiseTemplate &program, std::vector<double> values) {
  REQUIRE(values.size() == program.rowInput.size());
  std::vector<bool> needed(values.size() + program.instrs.size());
  for (const PointwiseInstruction &instr : program.instrs) {
    CHECK(instr.operands.size() == pointwiseArity(instr.op));
    for (uint32_t operand : instr.operands)
      needed.at(operand) = true;
    values.push_back(evaluate(instr, values));
  }
  std::vector<double> outputs;
  for (uint32_t output : program.outputs) {
    needed.at(output) = true;
    outputs.push_back(values.at(output));
  }
  for (size_t i = program.rowInput.size(); i < needed.size(); ++i)
    CHECK(needed[i]);
  return outputs;
}

static double expected(ActivationKind kind, double x) {
  const double pi = std::acos(-1.0);
  switch (kind) {
  case ActivationKind::Silu: return x / (1 + std::exp(-x));
  case ActivationKind::Gelu: return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
  case ActivationKind::GeluTanh: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
  case ActivationKind::Relu: return x > 0 ? x : 0;
  case ActivationKind::Relu2: return x > 0 ? x * x : 0;
  }
  return 0;
}

static const double points[] = {-20, -3.5, -1, -0.25, -1e-3, 1e-3, 0.1, 0.75, 1.5, 4, 20};

TEST_CASE("activations are their closed forms") {
  auto kind = GENERATE(ActivationKind::Silu, ActivationKind::Gelu, ActivationKind::GeluTanh, ActivationKind::Relu,
                       ActivationKind::Relu2);
  CHECK(activationProgram(kind).name == stringifyActivationKind(kind).str());
  for (double x : points) {
    INFO(stringifyActivationKind(kind).str() << " at " << x);
    CHECK(run(activationProgram(kind), {x})[0] == Approx(expected(kind, x)).epsilon(1e-12).margin(1e-15));
    CHECK(run(gatedActivationProgram(kind), {x, -1.5})[0] == Approx(-1.5 * expected(kind, x)).epsilon(1e-12).margin(1e-15));
  }
}

TEST_CASE("gradients of activations are central differences") {
  auto kind = GENERATE(ActivationKind::Silu, ActivationKind::Gelu, ActivationKind::GeluTanh, ActivationKind::Relu,
                       ActivationKind::Relu2);
  for (double x : points) {
    const double h = 1e-6, dy = 0.5, up = -1.5;
    double slope = (expected(kind, x + h) - expected(kind, x - h)) / (2 * h);
    INFO(stringifyActivationKind(kind).str() << " at " << x);
    CHECK(run(activationGradProgram(kind), {dy, x})[0] == Approx(dy * slope).epsilon(1e-7).margin(1e-9));
    std::vector<double> gated = run(gatedActivationGradProgram(kind), {dy, x, up});
    CHECK(gated[0] == Approx(dy * up * slope).epsilon(1e-7).margin(1e-9));
    CHECK(gated[1] == Approx(dy * expected(kind, x)).epsilon(1e-12).margin(1e-15));
  }
}

TEST_CASE("sums, products, scales and biases") {
  CHECK(run(addProgram(), {2, 3}) == std::vector<double>{5});
  CHECK(run(mulProgram(), {2, 3}) == std::vector<double>{6});
  CHECK(run(scaleProgram(-0.5), {3}) == std::vector<double>{-1.5});
  CHECK(run(biasAddProgram(), {2, 3}) == std::vector<double>{5});
  CHECK(biasAddProgram().rowInput == std::vector<bool>{false, true});
}

} // namespace plait::model
