#include "compiler/import/Checkpoint.h"
#include "cost_model/problem/Names.h"
#include <set>

namespace plait {

static std::string shown(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

static bool endsWith(const std::string &name, const std::string &suffix) {
  return name.size() >= suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

/// Constants that older checkpoints store beside the weights, and the second copy of a tied head.
static bool isBuffer(const std::string &name, bool tied) {
  for (const char *suffix : {".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias",
                             ".rotary_emb.inv_freq"})
    if (endsWith(name, suffix))
      return true;
  return tied && (name == "lm_head.weight" || name == "embed_out.weight");
}

static bool isFloat(const std::string &dtype) {
  return dtype == "F32" || dtype == "BF16" || dtype == "F16" || dtype == "F64";
}

static Checkpoint::const_iterator findTensor(const Checkpoint &checkpoint, const std::string &hfName) {
  auto found = checkpoint.find(hfName);
  return found != checkpoint.end() ? found : checkpoint.find(hfName.substr(hfName.find('.') + 1));
}

Status matchCheckpoint(const Checkpoint &checkpoint, const std::string &folder, ModelParameters &parameters) {
  std::set<std::string> used;
  for (ParamTensor &param : parameters.params) {
    auto found = findTensor(checkpoint, param.hfName);
    std::string asked = folder + ": tensor '" + param.hfName + "': the configuration expects " + shown(param.hfShape);
    if (found == checkpoint.end()) {
      std::vector<std::string> names;
      for (const auto &[name, tensor] : checkpoint)
        names.push_back(name);
      std::string nearest = joined(nearestNames(param.hfName, names, 2));
      return usageError(asked + ", the checkpoint has no such tensor" +
                        (nearest.empty() ? "" : "; the nearest names are " + nearest));
    }
    const CheckpointTensor &tensor = found->second;
    if (tensor.headerRead && tensor.shape != param.hfShape)
      return usageError(asked + ", " + tensor.file + " has " + shown(tensor.shape));
    if (tensor.headerRead && !isFloat(tensor.dtype))
      return usageError(asked + " of a floating-point type, " + tensor.file + " has " + tensor.dtype +
                        "; what works: F32, BF16, F16, F64");
    param.hfName = found->first;
    used.insert(found->first);
  }
  bool tied = parameters.chain.back().params.back().param == 0;
  for (const auto &[name, tensor] : checkpoint)
    if (!used.count(name) && !isBuffer(name, tied))
      return usageError(folder + ": tensor '" + name.substr(0, 128) + "' " + shown(tensor.shape) + " in " +
                        tensor.file + " is no part of the model that the configuration describes");
  return success();
}

} // namespace plait
