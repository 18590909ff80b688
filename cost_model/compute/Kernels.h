// Seconds of one launch on a device, from its Work.
//   Gemm       flops / (peak * efficiency) * (1 + k0 / k), at least the time to move its bytes, plus the launch
//   Attention  flops / (peak * attention efficiency), at least the time to move its bytes, plus the launch
//   others     bytes / memory rate, plus the launch
// all times the factor between isolated kernels and kernels inside a step.
#ifndef PLAIT_COST_MODEL_COMPUTE_KERNELS_H
#define PLAIT_COST_MODEL_COMPUTE_KERNELS_H

#include "cost_model/facts/Facts.h"
#include "cost_model/workload/Work.h"

namespace plait {

double kernelSeconds(const Work &work, const DeviceFacts &device);

/// Seconds to read and write `bytes` once with a memory-bound kernel (copy, optimizer update).
double memorySeconds(double bytes, const DeviceFacts &device);

} // namespace plait

#endif
