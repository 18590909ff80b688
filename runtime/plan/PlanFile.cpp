#include "runtime/plan/PlanFile.h"
#include "runtime/plan/FileIo.h"
#include "runtime/plan/Sha256.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

namespace plait {

std::string serializePlan(const pb::Plan &plan) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  plan.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

std::string digestOf(const pb::Plan &plan) {
  pb::Plan bare = plan;
  bare.clear_digest();
  return sha256(serializePlan(bare));
}

std::string shortDigest(const pb::Plan &plan) { return toHex(plan.digest()).substr(0, 12); }

Result<pb::Plan> parsePlan(std::string_view bytes, const std::string &name) {
  if (bytes.empty())
    return usageError(name + ": the file is empty, not a plan");
  if (bytes.size() > kMaxPlanBytes)
    return usageError(name + ": " + std::to_string(bytes.size()) + " bytes, more than the limit of " +
                      std::to_string(kMaxPlanBytes));
  pb::Plan plan;
  google::protobuf::LogSilencer silencer; // the error below says it once, with the file's name
  if (!plan.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return usageError(name + ": not a plan, or a truncated one");
  if (plan.format() == 0)
    return usageError(name + ": not a plan (no format number)");
  if (plan.format() != kPlanFormat)
    return usageError(name + ": plan format " + std::to_string(plan.format()) + ", this build reads format " +
                      std::to_string(kPlanFormat) + "; compile the plan again with the tools of this build");
  for (const std::string &feature : plan.required_features())
    return usageError(name + ": the plan requires feature '" + feature + "', this build knows none");
  std::string digest = digestOf(plan);
  if (plan.digest() != digest)
    return usageError(name + ": digest " + (plan.digest().empty() ? "is missing" : toHex(plan.digest())) +
                      ", content has " + toHex(digest) + "; the file was changed or damaged after it was written");
  return plan;
}

Result<pb::Plan> loadPlan(const std::string &path) {
  Result<std::string> bytes = readFile(path, kMaxPlanBytes);
  if (!bytes)
    return bytes.error();
  return parsePlan(*bytes, path);
}

Status savePlan(const std::string &path, pb::Plan &plan) {
  plan.set_format(kPlanFormat);
  plan.set_digest(digestOf(plan));
  return writeFileAtomically(path, serializePlan(plan));
}

} // namespace plait
