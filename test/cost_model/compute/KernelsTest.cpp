#include "cost_model/compute/Kernels.h"
#include <catch2/catch.hpp>

using namespace plait;

namespace {

Work gemm(int64_t m, int64_t n, int64_t k, DType dtype = DType::BF16) {
  Work work;
  work.kernel = Kernel::Gemm;
  work.dims = {m, n, k};
  work.dtype = dtype;
  work.flops = 2.0 * m * n * k;
  work.bytesRead = double(m * k + k * n) * bytesOf(dtype);
  work.bytesWritten = double(m * n) * bytesOf(dtype);
  return work;
}

} // namespace

TEST_CASE("kernel times follow their formulas") {
  DeviceFacts device;
  device.peakBf16 = 100e12, device.peakF32 = 10e12;
  device.gemmEfficiency = 0.5, device.gemmK0 = 100, device.attentionEfficiency = 0.25;
  device.memoryRate = 1e12, device.memoryEfficiency = 0.5, device.launchSeconds = 1e-6;
  device.inSitu = 2, device.misaligned = 3;
  double flops = 2.0 * 6400 * 6400 * 6400;
  CHECK(kernelSeconds(gemm(6400, 6400, 6400), device) == Approx(2 * (flops / 50e12 * (1 + 100.0 / 6400) + 1e-6)));
  CHECK(kernelSeconds(gemm(6400, 6400, 6400, DType::F32), device) == Approx(2 * (flops / 5e12 * (1 + 100.0 / 6400) + 1e-6)));
  flops = 2.0 * 6400 * 6401 * 6400;
  CHECK(kernelSeconds(gemm(6400, 6401, 6400), device) == Approx(2 * (3 * flops / 50e12 * (1 + 100.0 / 6400) + 1e-6)));
  double bytes = 2.0 * (6400 + 6400 * 6400 + 6400); // m = 1: bound by the weight's bytes
  CHECK(kernelSeconds(gemm(1, 6400, 6400), device) == Approx(2 * (bytes / 0.5e12 + 1e-6)));
  Work norm;
  norm.kernel = Kernel::RmsNorm;
  norm.flops = 1e15; // only bytes count
  norm.bytesRead = 3e9, norm.bytesWritten = 2e9;
  CHECK(kernelSeconds(norm, device) == Approx(2 * (5e9 / 0.5e12 + 1e-6)));
  CHECK(memorySeconds(5e9, device) == Approx(2 * (5e9 / 0.5e12 + 1e-6)));
  Work attention;
  attention.kernel = Kernel::Attention;
  attention.dtype = DType::BF16;
  attention.flops = 1e12, attention.bytesRead = 1e6;
  CHECK(kernelSeconds(attention, device) == Approx(2 * (1e12 / 25e12 + 1e-6)));
}

TEST_CASE("large GEMMs on listed devices are near their measured times") {
  // 8192 x 8192 x 8192 in bf16: measured 4,188 us on A100 (isolated, TensorRT-LLM 1.0 tables).
  const DeviceFacts &a100 = **Facts::builtin().device("a100-sxm-80gb");
  CHECK(kernelSeconds(gemm(8192, 8192, 8192), a100) / a100.inSitu == Approx(4188.5e-6).epsilon(0.05));
  CHECK(kernelSeconds(gemm(8192, 16384, 4096), a100) / a100.inSitu == Approx(4279.2e-6).epsilon(0.05));
}
