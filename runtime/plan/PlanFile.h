// Plan files: deterministic bytes with a digest, written complete or not at all. Loading checks that the bytes are a plan
// of this format, that this build knows all that the plan requires, and that nothing was changed; whether the content
// makes sense is the verifier's question (runtime/plan/verify).
#ifndef PLAIT_RUNTIME_PLAN_PLANFILE_H
#define PLAIT_RUNTIME_PLAN_PLANFILE_H

#include "runtime/plan/Result.h"
#include "runtime/plan/plan.pb.h"
#include <string>
#include <string_view>

namespace plait {

/// Value of Plan.format; 0 in a message means "not a plan".
constexpr uint32_t kPlanFormat = 1;
/// Largest plan file that is read. Plans of 16,384 ranks take 1-2 MB.
constexpr uint64_t kMaxPlanBytes = uint64_t(1) << 30;

/// Canonical bytes: equal plans give equal bytes.
std::string serializePlan(const pb::Plan &plan);
/// SHA-256, 32 raw bytes, of the canonical bytes without the digest itself.
std::string digestOf(const pb::Plan &plan);
/// First 12 hexadecimal digits of the plan's digest, for messages and names.
std::string shortDigest(const pb::Plan &plan);

/// Error Usage: empty, not a plan, another format, an unknown required feature, or a digest that does not match.
/// `name` stands for the file in messages.
Result<pb::Plan> parsePlan(std::string_view bytes, const std::string &name);
/// Error Usage as parsePlan, or if the file cannot be read or is too large.
Result<pb::Plan> loadPlan(const std::string &path);
/// Sets format and digest, then writes the file atomically. Error Runtime.
Status savePlan(const std::string &path, pb::Plan &plan);

} // namespace plait

#endif
