#include "cost_model/problem/Problem.h"
#include "cost_model/problem/Names.h"
#include <algorithm>

namespace plait {

Result<Precision> precisionByName(const std::string &name) {
  if (name == "fp32")
    return Precision{};
  if (name == "bf16")
    return Precision{DType::BF16, DType::BF16, DType::BF16, DType::F32, DType::F32, DType::F32, DType::F32};
  return usageError("precision '" + name + "' is not known; what works: bf16, fp32");
}

int64_t ParamTensor::elements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

int64_t Model::parameterCount() const {
  int64_t count = 0;
  for (const ParamTensor &param : params)
    count += param.elements();
  return count;
}

uint32_t Cluster::deviceCount() const {
  uint32_t count = 0;
  for (const Domain &domain : domains)
    count += domain.devices;
  return count;
}

/// Leaf domain that holds `device`, kNone if out of range.
static Id leafOf(const Cluster &cluster, uint32_t device) {
  for (Id d = 0; d < cluster.domains.size(); ++d) {
    if (device < cluster.domains[d].devices)
      return d;
    device -= cluster.domains[d].devices;
  }
  return kNone;
}

Id Cluster::classOf(uint32_t device) const {
  Id leaf = leafOf(*this, device);
  return leaf == kNone ? kNone : domains[leaf].deviceClass;
}

Id Cluster::commonDomain(uint32_t a, uint32_t b) const {
  Id left = leafOf(*this, a), right = leafOf(*this, b);
  while (left != right && left != kNone && right != kNone)
    (left > right ? left : right) = domains[std::max(left, right)].parent; // parents come before children
  return left == right ? left : kNone;
}

std::string Reason::text() const {
  std::string result = place + ": " + asked + ": " + forbids + " [" + rule + "]";
  return works.empty() ? result : result + "; what works: " + joined(works);
}

} // namespace plait
