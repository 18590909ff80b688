#include "runtime/backends/reference/ReferenceKernels.h"
#include <cmath>
#include <vector>

namespace plait::reference {

static double apply(PointwiseOp op, double k0, double k1, double a, double b, double c) {
  switch (op) {
  case PointwiseOp::None: break;
  case PointwiseOp::Add: return a + b;
  case PointwiseOp::Sub: return a - b;
  case PointwiseOp::Mul: return a * b;
  case PointwiseOp::Div: return a / b;
  case PointwiseOp::Neg: return -a;
  case PointwiseOp::Axpby: return k0 * a + k1 * b;
  case PointwiseOp::ScaleAdd: return k0 * a + k1;
  case PointwiseOp::Fma: return a * b + c;
  case PointwiseOp::Exp: return std::exp(a);
  case PointwiseOp::Sigmoid: return 1 / (1 + std::exp(-a));
  case PointwiseOp::Tanh: return std::tanh(a);
  case PointwiseOp::Erf: return std::erf(a);
  case PointwiseOp::Sqrt: return std::sqrt(a);
  case PointwiseOp::Rsqrt: return 1 / std::sqrt(a);
  case PointwiseOp::Max: return a > b || std::isnan(a) ? a : b;
  case PointwiseOp::Min: return a < b || std::isnan(a) ? a : b;
  }
  return 0;
}

void pointwise(const Launch &launch) {
  const pb::PointwiseProgram &program = *launch.desc.pointwise;
  int inputs = program.inputs_size();
  Matrix shape = launch[inputs];
  std::vector<double> values(inputs + program.instrs_size());
  for (int64_t i = 0; i < shape.rows(); ++i)
    for (int64_t j = 0; j < shape.cols(); ++j) {
      for (int v = 0; v < inputs; ++v)
        values[v] = program.inputs(v).kind() == pb::PointwiseInput::ROW ? launch[v].get(j) : launch[v].get(i, j);
      int next = inputs;
      for (const pb::PointwiseInstr &instr : program.instrs()) {
        double operand[3] = {}, immediate[2] = {};
        for (int o = 0; o < instr.operands_size(); ++o)
          operand[o] = values[instr.operands(o)];
        for (int k = 0; k < instr.immediates_size(); ++k)
          immediate[k] = instr.immediates(k);
        values[next++] =
            apply(static_cast<PointwiseOp>(instr.op()), immediate[0], immediate[1], operand[0], operand[1], operand[2]);
      }
      for (int out = 0; out < program.outputs_size(); ++out)
        launch[inputs + out].set(i, j, values[program.outputs(out)]);
    }
}

} // namespace plait::reference
