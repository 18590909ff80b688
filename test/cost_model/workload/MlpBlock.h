// A pre-norm MLP block written by hand, as the analysis of the model dialect would give it:
// y = x + down(silu(up(rms_norm(x)))), with all phases of variant "none".
#ifndef PLAIT_TEST_COST_MODEL_WORKLOAD_MLPBLOCK_H
#define PLAIT_TEST_COST_MODEL_WORKLOAD_MLPBLOCK_H

#include "cost_model/workload/Summary.h"

namespace plait::test {

struct MlpBlock {
  enum Values : Id { X, Norm, Rstd, U, A, D, Y, Wn, Wu, Wd, Gn, Gu, Gd, Dy, Da, Du, Dn, Dxn, Dx };
  enum Factors : Id { S, B, E, I };
  static BlockSummary make(int64_t hidden, int64_t ffn);
};

inline BlockSummary MlpBlock::make(int64_t hidden, int64_t ffn) {
  BlockSummary block;
  block.name = "mlp";
  block.factors = {{"s", 0}, {"b", 0}, {"e", hidden}, {"i", ffn}};
  block.segments = {"stream", "mlp"};
  auto act = [](const char *name, Id width) { return Value{name, ElementKind::Activation, {{S, 1}, {B, 1}, {width, 1}}}; };
  auto param = [](const char *name, ElementKind kind, std::vector<Dim> dims) { return Value{name, kind, std::move(dims)}; };
  using K = ElementKind;
  block.values = {act("x", E), act("norm", E), {"rstd", K::Statistic, {{S, 1}, {B, 1}}}, act("u", I), act("a", I), act("d", E), act("y", E),
                  param("wn", K::Param, {{E, 1}}), param("wu", K::Param, {{I, 1}, {E, 1}}), param("wd", K::Param, {{E, 1}, {I, 1}}),
                  param("gn", K::ParamGrad, {{E, 1}}), param("gu", K::ParamGrad, {{I, 1}, {E, 1}}), param("gd", K::ParamGrad, {{E, 1}, {I, 1}}),
                  act("dy", E), act("da", I), act("du", I), act("dn", E), act("dxn", E), act("dx", E)};
  block.params = {{"norm.weight", Wn, Gn}, {"up", Wu, Gu}, {"down", Wd, Gd}};
  block.pointwise = {{"silu", {false}, {{PointwiseOp::Sigmoid, {0}, {}}, {PointwiseOp::Mul, {0, 1}, {}}}, {2}},
                     {"add", {false, false}, {{PointwiseOp::Add, {0, 1}, {}}}, {2}}};
  auto op = [](Kernel kernel, Id segment, std::vector<Id> operands, std::vector<Id> results, std::vector<ReducedFactor> reduces,
               std::vector<int64_t> ints = {}) {
    OpTemplate t;
    t.kernel = kernel;
    t.origin = kernelName(kernel);
    t.segment = segment;
    t.operands = std::move(operands);
    t.results = std::move(results);
    t.reduces = std::move(reduces);
    t.ints = std::move(ints);
    return t;
  };
  ReducedFactor s{S, Reduction::Sum}, b{B, Reduction::Sum}, e{E, Reduction::Sum}, i{I, Reduction::Sum};
  auto pointwise = [&](Id segment, int32_t program, std::vector<Id> operands, Id result) {
    OpTemplate t = op(Kernel::Pointwise, segment, std::move(operands), {result}, {});
    t.pointwise = program;
    t.additive = program == 1;
    return t;
  };
  OpTemplate norm = op(Kernel::RmsNorm, 0, {X, Wn}, {Norm, Rstd}, {});
  norm.doubles = {1e-5};
  std::vector<OpTemplate> forward = {norm, op(Kernel::Gemm, 1, {Norm, Wu}, {U}, {e}, {0, 1, 0}), pointwise(1, 0, {U}, A),
                                     op(Kernel::Gemm, 1, {A, Wd}, {D}, {i}, {0, 1, 0}), pointwise(0, 1, {X, D}, Y)};
  // The activation's gradient is stood in for by the silu program: only shapes matter here.
  OpTemplate gd = op(Kernel::Gemm, 1, {Dy, A}, {Gd}, {s, b}, {1, 0, 1}), gu = op(Kernel::Gemm, 1, {Du, Norm}, {Gu}, {s, b}, {1, 0, 1});
  OpTemplate gn = op(Kernel::RmsNormGradWeight, 0, {Dn, X, Rstd}, {Gn}, {s, b});
  std::vector<OpTemplate> input = {op(Kernel::Gemm, 1, {Dy, Wd}, {Da}, {e}, {0, 0, 0}), pointwise(1, 0, {Da}, Du),
                                   op(Kernel::Gemm, 1, {Du, Wu}, {Dn}, {i}, {0, 0, 0}),
                                   op(Kernel::RmsNormGrad, 0, {Dn, X, Wn, Rstd}, {Dxn}, {}), pointwise(0, 1, {Dy, Dxn}, Dx)};
  std::vector<OpTemplate> backward = input;
  backward.insert(backward.end(), {gd, gu, gn});
  std::vector<Id> saved = {X, Norm, Rstd, A};
  block.phases = {{Phase::Forward, "none", forward, saved, {}},
                  {Phase::Backward, "none", backward, saved, {}},
                  {Phase::BackwardInput, "none", input, saved, {Dy, Du, Dn}},
                  {Phase::BackwardWeight, "none", {gd, gu, gn}, saved, {Dy, Du, Dn}}};
  block.x = X;
  block.y = Y;
  block.dx = Dx;
  block.dy = Dy;
  return block;
}

} // namespace plait::test

#endif
