#include "cost_model/compute/Kernels.h"
#include <algorithm>

namespace plait {

double memorySeconds(double bytes, const DeviceFacts &device) {
  return device.inSitu * (bytes / (device.memoryRate * device.memoryEfficiency) + device.launchSeconds);
}

static double gemmFlopSeconds(const Work &work, const DeviceFacts &device) {
  double seconds = work.flops / (device.peak(work.dtype) * device.gemmEfficiency);
  if (work.dims.size() < 3)
    return seconds;
  int64_t n = work.dims[1], k = work.dims[2];
  seconds *= 1 + device.gemmK0 / double(std::max<int64_t>(k, 1));
  bool aligned = work.dtype == DType::F32 || (n % 64 == 0 && k % 64 == 0);
  return aligned ? seconds : seconds * device.misaligned;
}

double kernelSeconds(const Work &work, const DeviceFacts &device) {
  double bytes = (work.bytesRead + work.bytesWritten) / (device.memoryRate * device.memoryEfficiency), flops = 0;
  if (work.kernel == Kernel::Gemm)
    flops = gemmFlopSeconds(work, device);
  else if (work.kernel == Kernel::Attention || work.kernel == Kernel::AttentionGrad)
    flops = work.flops / (device.peak(work.dtype) * device.attentionEfficiency);
  return device.inSitu * (std::max(flops, bytes) + device.launchSeconds);
}

} // namespace plait
