#include "test/passes/analyze/PhaseRunner.h"
#include <catch2/catch.hpp>
#include <numeric>

namespace plait::test {

std::vector<int64_t> PhaseRunner::shapeOf(Id value) const {
  std::vector<int64_t> shape;
  for (const Dim &dim : block.values[value].dims) {
    int64_t units = 1;
    if (dim.factor != kNone) {
      const Factor &factor = block.factors[dim.factor];
      units = factor.size ? factor.size : factor.name == "b" ? batch : sequence;
    }
    shape.push_back(units * dim.unit);
  }
  return shape;
}

int64_t PhaseRunner::elementsOf(Id value) const {
  std::vector<int64_t> shape = shapeOf(value);
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

static pb::PointwiseProgram toProto(const PointwiseTemplate &program) {
  pb::PointwiseProgram proto;
  for (bool row : program.rowInput)
    proto.add_inputs()->set_kind(row ? pb::PointwiseInput::ROW : pb::PointwiseInput::ELEMENT);
  for (const PointwiseInstruction &instr : program.instrs) {
    pb::PointwiseInstr *to = proto.add_instrs();
    to->set_op(static_cast<uint32_t>(instr.op));
    to->mutable_operands()->Add(instr.operands.begin(), instr.operands.end());
    to->mutable_immediates()->Add(instr.immediates.begin(), instr.immediates.end());
  }
  proto.mutable_outputs()->Add(program.outputs.begin(), program.outputs.end());
  return proto;
}

static TensorDesc describe(std::vector<int64_t> shape, DType dtype) {
  TensorDesc desc{shape, std::vector<int64_t>(shape.size(), 1), dtype};
  for (size_t i = shape.size(); i-- > 1;)
    desc.stride[i - 1] = desc.stride[i] * shape[i];
  return desc;
}

void PhaseRunner::runOp(const OpTemplate &op, const Tensors &given, Tensors &computed) {
  INFO("op " << op.origin);
  LaunchDesc desc;
  desc.kernel = op.kernel;
  desc.ints = op.ints;
  desc.doubles = op.doubles;
  bool attention = op.kernel == Kernel::Attention || op.kernel == Kernel::AttentionGrad;
  desc.offsets.assign(attention ? 1 : op.offsetFactors.size(), 0);
  pb::PointwiseProgram program;
  if (op.pointwise >= 0) {
    program = toProto(block.pointwise[op.pointwise]);
    desc.pointwise = &program;
  }
  std::vector<std::vector<double>> reals;
  std::vector<std::vector<int32_t>> ids;
  reals.reserve(op.operands.size() + op.results.size());
  ids.reserve(op.operands.size());
  std::vector<void *> data;
  for (Id value : op.operands) {
    auto found = computed.find(value);
    if (found == computed.end()) {
      found = const_cast<Tensors &>(given).find(value);
      INFO("operand " << block.values[value].name << " is neither given nor computed");
      REQUIRE(found != given.end());
    }
    bool index = block.values[value].kind == ElementKind::Index;
    desc.refs.push_back(describe(shapeOf(value), index ? DType::I32 : DType::F64));
    if (index)
      data.push_back(ids.emplace_back(found->second.begin(), found->second.end()).data());
    else
      data.push_back(reals.emplace_back(found->second).data());
  }
  for (Id value : op.results) {
    desc.refs.push_back(describe(shapeOf(value), DType::F64));
    data.push_back(reals.emplace_back(elementsOf(value), 0.0).data());
  }
  auto compiled = backend->compile(desc);
  INFO((compiled ? std::string() : compiled.error().message));
  REQUIRE(bool(compiled));
  (*compiled)->run(data.data());
  for (size_t i = 0; i < op.results.size(); ++i)
    computed[op.results[i]] = reals[reals.size() - op.results.size() + i];
}

Tensors PhaseRunner::run(const PhaseGraph &graph, const Tensors &given) {
  Tensors computed;
  for (const OpTemplate &op : graph.ops)
    runOp(op, given, computed);
  return computed;
}

} // namespace plait::test
