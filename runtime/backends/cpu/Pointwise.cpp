// Pointwise programs are interpreted in blocks of 512 elements: one call per instruction and block, so that the cost of
// interpretation is spread and the registers stay in the first-level cache.
#include "runtime/backends/cpu/CpuKernels.h"
#include "runtime/backends/cpu/PointwiseOps.h"
#include "runtime/backends/cpu/Rows.h"
#include <algorithm>

namespace plait::cpu {
namespace {

constexpr int64_t blockElements = 512;

/// An operand of the launch.
struct Stream {
  int64_t stride = 0; ///< elements from row to row; 0 for a vector that all rows share
  bool isBf16 = false;
  int reg = -1; ///< register that a bf16 block is widened into
};

struct Step {
  PointwiseFunction function;
  float k0, k1;
  uint32_t operands[3];
  uint32_t arity;
  int reg = -1;    ///< register of the result
  int output = -1; ///< operand that takes the result directly, without the register
};

class PointwiseLaunch {
public:
  explicit PointwiseLaunch(const LaunchDesc &desc) {
    const pb::PointwiseProgram &program = *desc.pointwise;
    inputs = program.inputs_size();
    MatrixShape shape = matrixOf(desc.refs[inputs]);
    rows = shape.rows;
    cols = shape.cols;
    for (uint32_t i = 0; i < desc.refs.size(); ++i) {
      bool shared = i < inputs && program.inputs(i).kind() == pb::PointwiseInput::ROW;
      streams.push_back({shared ? 0 : matrixOf(desc.refs[i]).stride, desc.refs[i].dtype == DType::BF16});
    }
    // Without gaps and shared vectors all rows are one.
    if (rows > 1 && std::all_of(streams.begin(), streams.end(), [&](const Stream &s) { return s.stride == cols; })) {
      cols *= rows;
      rows = 1;
    }
    readSteps(program);
    assignRegisters();
    writeDirectly();
    values.resize(inputs + steps.size());
  }

  void operator()(void *const *data) {
    // Aligned here because a vector that is moved or copied does not keep the alignment of its elements.
    float *base = registers.data() + (64 - reinterpret_cast<uintptr_t>(registers.data()) % 64) % 64 / sizeof(float);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = 0; col < cols; col += blockElements)
        runBlock(data, base, row, col, std::min(blockElements, cols - col));
  }

private:
  void readSteps(const pb::PointwiseProgram &program);
  void assignRegisters();
  void writeDirectly();

  void runBlock(void *const *data, float *base, int64_t row, int64_t col, int64_t n) {
    for (uint32_t i = 0; i < inputs; ++i) {
      int64_t at = row * streams[i].stride + col;
      if (streams[i].isBf16) {
        float *target = base + streams[i].reg * blockElements;
        widenRow(static_cast<const Bf16 *>(data[i]) + at, target, n);
        values[i] = target;
      } else {
        values[i] = static_cast<const float *>(data[i]) + at;
      }
    }
    for (size_t s = 0; s < steps.size(); ++s) {
      const Step &step = steps[s];
      float *target = base + step.reg * blockElements;
      if (step.output >= 0)
        target = static_cast<float *>(data[step.output]) + row * streams[step.output].stride + col;
      step.function(target, values[step.operands[0]], values[step.operands[1]], values[step.operands[2]], step.k0,
                    step.k1, n);
      values[inputs + s] = target;
    }
    for (size_t out = 0; out < outputs.size(); ++out) {
      const Stream &stream = streams[inputs + out];
      int64_t at = row * stream.stride + col;
      if (stream.isBf16)
        narrowRow(values[outputs[out]], static_cast<Bf16 *>(data[inputs + out]) + at, n);
      else if (steps[outputs[out] - inputs].output != static_cast<int>(inputs + out))
        std::copy_n(values[outputs[out]], n, static_cast<float *>(data[inputs + out]) + at);
    }
  }

  uint32_t inputs = 0;
  int64_t rows = 0, cols = 0;
  std::vector<Stream> streams;
  std::vector<Step> steps;
  std::vector<uint32_t> outputs;
  std::vector<const float *> values;
  std::vector<float> registers;
};

void PointwiseLaunch::readSteps(const pb::PointwiseProgram &program) {
  for (const pb::PointwiseInstr &instr : program.instrs()) {
    Step step{pointwiseFunction(static_cast<PointwiseOp>(instr.op())),
              0,
              0,
              {0, 0, 0},
              static_cast<uint32_t>(instr.operands_size())};
    if (instr.immediates_size() == 2) {
      step.k0 = static_cast<float>(instr.immediates(0));
      step.k1 = static_cast<float>(instr.immediates(1));
    }
    std::copy(instr.operands().begin(), instr.operands().end(), step.operands);
    steps.push_back(step);
  }
  // An input that is passed through is copied first: the storage of an output may be that of an input.
  for (uint32_t output : program.outputs()) {
    if (output < inputs) {
      steps.push_back({copyFunction(), 0, 0, {output, 0, 0}, 1});
      output = inputs + static_cast<uint32_t>(steps.size()) - 1;
    }
    outputs.push_back(output);
  }
}

void PointwiseLaunch::assignRegisters() {
  // lastUse[v]: the step after which the register of value v is free.
  std::vector<size_t> lastUse(inputs + steps.size(), 0);
  for (size_t s = 0; s < steps.size(); ++s)
    for (uint32_t o = 0; o < steps[s].arity; ++o)
      lastUse[steps[s].operands[o]] = s;
  for (uint32_t output : outputs)
    lastUse[output] = steps.size();

  std::vector<int> registerOf(inputs + steps.size(), -1), free;
  int used = 0;
  auto take = [&] {
    if (free.empty())
      return used++;
    int reg = free.back();
    free.pop_back();
    return reg;
  };
  for (uint32_t i = 0; i < inputs; ++i)
    if (streams[i].isBf16)
      registerOf[i] = streams[i].reg = take();
  for (size_t s = 0; s < steps.size(); ++s) {
    for (uint32_t o = 0; o < steps[s].arity; ++o) {
      uint32_t operand = steps[s].operands[o];
      if (lastUse[operand] == s && registerOf[operand] >= 0) {
        free.push_back(registerOf[operand]);
        registerOf[operand] = -1;
      }
    }
    registerOf[inputs + s] = steps[s].reg = take();
  }
  registers.resize(used * blockElements + 64 / sizeof(float));
}

/// A result goes straight to an f32 output if no later step reads an input from memory, which may be the same memory.
void PointwiseLaunch::writeDirectly() {
  for (size_t s = steps.size(); s-- > 0;) {
    for (size_t out = 0; out < outputs.size(); ++out)
      if (outputs[out] == inputs + s && !streams[inputs + out].isBf16)
        steps[s].output = static_cast<int>(inputs + out);
    for (uint32_t o = 0; o < steps[s].arity; ++o)
      if (steps[s].operands[o] < inputs && !streams[steps[s].operands[o]].isBf16)
        return;
  }
}

} // namespace

LaunchPtr makePointwise(const LaunchDesc &desc) { return makeLaunch(PointwiseLaunch(desc)); }

} // namespace plait::cpu
