// Model FLOPs: what a training step must compute, whatever the plan. The figure behind MFU.
#ifndef PLAIT_COST_MODEL_WORKLOAD_MODELFLOPS_H
#define PLAIT_COST_MODEL_WORKLOAD_MODELFLOPS_H

#include "cost_model/workload/Projection.h"

namespace plait {

/// FLOPs per token of forward and backward at a sequence length: three times the forward's matrix products (logits
/// included) and attention, with masked pairs not counted; no recomputation, no pointwise work.
Result<double> modelFlopsPerToken(const Model &model, int64_t sequence);

} // namespace plait

#endif
