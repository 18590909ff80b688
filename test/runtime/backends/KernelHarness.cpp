#include "test/runtime/backends/KernelHarness.h"
#include "runtime/backends/BFloat16.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <sstream>

namespace plait::test {

static constexpr char gapByte = 0x3d;

Tensor::Tensor(std::vector<int64_t> shape, DType dtype, int64_t gap) {
  cols = shape.empty() ? 1 : shape.back();
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    rows *= shape[d];
  stride = cols + gap;
  desc = {std::move(shape), {}, dtype};
  desc.stride.assign(desc.shape.size(), 1);
  for (size_t d = desc.shape.size(); d-- > 1;)
    desc.stride[d - 1] = d + 1 == desc.shape.size() ? stride : desc.stride[d] * desc.shape[d];
  bytes.assign(rows * stride * bytesOf(dtype), gapByte);
  for (int64_t i = 0; i < elements(); ++i)
    set(i, 0);
}

Tensor Tensor::ids(std::vector<int64_t> shape, const std::vector<int> &values) {
  Tensor tensor(std::move(shape), DType::I32);
  tensor.fill({values.begin(), values.end()});
  return tensor;
}

Tensor &Tensor::fill(const std::vector<double> &values) {
  REQUIRE(static_cast<int64_t>(values.size()) == elements());
  for (int64_t i = 0; i < elements(); ++i)
    set(i, values[i]);
  return *this;
}

Tensor &Tensor::random(std::mt19937 &generator, double low, double high) {
  std::uniform_real_distribution<double> uniform(low, high);
  for (int64_t i = 0; i < elements(); ++i)
    set(i, uniform(generator));
  return *this;
}

std::vector<double> Tensor::values() const {
  std::vector<double> result(elements());
  for (int64_t i = 0; i < elements(); ++i)
    result[i] = get(i);
  return result;
}

double Tensor::get(int64_t i) const {
  const char *at = bytes.data() + position(i) * bytesOf(desc.dtype);
  switch (desc.dtype) {
  case DType::F32: return *reinterpret_cast<const float *>(at);
  case DType::F64: return *reinterpret_cast<const double *>(at);
  case DType::I32: return *reinterpret_cast<const int32_t *>(at);
  default: return widen(*reinterpret_cast<const Bf16 *>(at));
  }
}

void Tensor::set(int64_t i, double value) {
  char *at = bytes.data() + position(i) * bytesOf(desc.dtype);
  switch (desc.dtype) {
  case DType::F32: *reinterpret_cast<float *>(at) = static_cast<float>(value); break;
  case DType::F64: *reinterpret_cast<double *>(at) = value; break;
  case DType::I32: *reinterpret_cast<int32_t *>(at) = static_cast<int32_t>(value); break;
  default: *reinterpret_cast<Bf16 *>(at) = narrow(value); break;
  }
}

bool Tensor::gapsUntouched() const {
  int64_t size = bytesOf(desc.dtype);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t b = (row * stride + cols) * size; b < (row + 1) * stride * size; ++b)
      if (bytes[b] != gapByte)
        return false;
  return true;
}

LaunchDesc Call::desc() const {
  LaunchDesc desc{kernel, {}, ints, doubles, offsets, program.get()};
  for (const Tensor &tensor : tensors)
    desc.refs.push_back(tensor.desc);
  return desc;
}

void Call::run(Backend &backend) {
  auto compiled = backend.compile(desc());
  INFO(backend.name() << " " << kernelName(kernel) << ": " << (compiled ? "" : compiled.error().message));
  REQUIRE(bool(compiled));
  std::vector<void *> data;
  for (Tensor &tensor : tensors)
    data.push_back(tensor.bytes.data());
  (*compiled)->run(data.data());
  for (const Tensor &tensor : tensors)
    REQUIRE(tensor.gapsUntouched());
}

double relativeError(const std::vector<double> &a, const std::vector<double> &b) {
  REQUIRE(a.size() == b.size());
  double largest = 0, difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isinf(b[i]) && a[i] == b[i])
      continue;
    if (!(std::fabs(a[i] - b[i]) <= std::numeric_limits<double>::max()))
      return std::numeric_limits<double>::infinity();
    largest = std::fmax(largest, std::fabs(b[i]));
    difference = std::fmax(difference, std::fabs(a[i] - b[i]));
  }
  return largest > 0 ? difference / largest : difference;
}

double tolerance(DType dtype, int64_t length) {
  double sum = 8 * std::ldexp(1, -24) * std::sqrt(static_cast<double>(length) + 1);
  return sum + (dtype == DType::BF16 ? std::ldexp(1, -8) : 0);
}

void compareWithReference(const Call &call, unsigned firstResult, int64_t length) {
  auto cpu = makeCpuBackend(), reference = makeReferenceBackend();
  Call actual = call, expected = call;
  actual.run(*cpu);
  expected.run(*reference);
  for (unsigned i = firstResult; i < call.tensors.size(); ++i) {
    DType dtype = call.tensors[i].desc.dtype;
    INFO(kernelName(call.kernel) << ", operand " << i << " of type " << nameOf(dtype));
    CHECK(relativeError(actual.values(i), expected.values(i)) <= tolerance(dtype, length));
  }
}

std::vector<double> numericGradient(Tensor &input, const std::function<double()> &loss) {
  constexpr double step = 1e-5;
  std::vector<double> gradient(input.elements());
  for (int64_t i = 0; i < input.elements(); ++i) {
    double value = input.get(i);
    input.set(i, value + step);
    double above = loss();
    input.set(i, value - step);
    double below = loss();
    input.set(i, value);
    gradient[i] = (above - below) / (2 * step);
  }
  return gradient;
}

std::shared_ptr<pb::PointwiseProgram> pointwiseProgram(const std::string &inputs,
                                                       const std::vector<std::string> &instrs,
                                                       const std::vector<unsigned> &outputs) {
  auto program = std::make_shared<pb::PointwiseProgram>();
  program->set_name("program");
  for (char kind : inputs)
    program->add_inputs()->set_kind(kind == 'r' ? pb::PointwiseInput::ROW : pb::PointwiseInput::ELEMENT);
  for (const std::string &text : instrs) {
    std::istringstream words(text);
    std::string word;
    words >> word;
    pb::PointwiseInstr *instr = program->add_instrs();
    instr->set_op(static_cast<uint32_t>(pointwiseOpByName(word)));
    while (words >> word)
      if (word[0] == '%')
        instr->add_operands(std::stoul(word.substr(1)));
      else
        instr->add_immediates(std::stod(word));
  }
  for (unsigned output : outputs)
    program->add_outputs(output);
  return program;
}

} // namespace plait::test
