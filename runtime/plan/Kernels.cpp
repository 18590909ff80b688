#include "runtime/plan/Kernels.h"
#include <array>

namespace plait {

static constexpr std::array<std::string_view, 22> kernelNames = {
    "none",      "gemm",         "bias_grad",      "rms_norm",          "rms_norm_grad",      "rms_norm_grad_weight",
    "layer_norm", "layer_norm_grad", "layer_norm_grad_weight", "rope",   "attention",          "attention_grad",
    "embedding", "embedding_grad", "position_embedding", "position_embedding_grad", "pointwise", "row_max",
    "row_sum_exp", "row_pick",   "cross_entropy",  "cross_entropy_grad"};

std::string_view kernelName(Kernel kernel) {
  auto index = static_cast<size_t>(kernel);
  return index < kernelNames.size() ? kernelNames[index] : "?";
}

Kernel kernelByName(std::string_view name) {
  for (size_t i = 1; i < kernelNames.size(); ++i)
    if (kernelNames[i] == name)
      return static_cast<Kernel>(i);
  return Kernel::None;
}

namespace {
struct PointwiseOpInfo {
  std::string_view name;
  unsigned arity;
};
} // namespace

static constexpr std::array<PointwiseOpInfo, 17> pointwiseOps = {{{"none", 0},
                                                                  {"add", 2},
                                                                  {"sub", 2},
                                                                  {"mul", 2},
                                                                  {"div", 2},
                                                                  {"neg", 1},
                                                                  {"axpby", 2},
                                                                  {"scale_add", 1},
                                                                  {"fma", 3},
                                                                  {"exp", 1},
                                                                  {"sigmoid", 1},
                                                                  {"tanh", 1},
                                                                  {"erf", 1},
                                                                  {"sqrt", 1},
                                                                  {"rsqrt", 1},
                                                                  {"max", 2},
                                                                  {"min", 2}}};

std::string_view pointwiseOpName(PointwiseOp op) {
  auto index = static_cast<size_t>(op);
  return index < pointwiseOps.size() ? pointwiseOps[index].name : "?";
}

PointwiseOp pointwiseOpByName(std::string_view name) {
  for (size_t i = 1; i < pointwiseOps.size(); ++i)
    if (pointwiseOps[i].name == name)
      return static_cast<PointwiseOp>(i);
  return PointwiseOp::None;
}

unsigned pointwiseArity(PointwiseOp op) {
  auto index = static_cast<size_t>(op);
  return index < pointwiseOps.size() ? pointwiseOps[index].arity : 0;
}

} // namespace plait
