// SHA-256 (FIPS 180-4), for plan and checkpoint digests: identity and corruption, not secrecy.
#ifndef PLAIT_RUNTIME_PLAN_SHA256_H
#define PLAIT_RUNTIME_PLAN_SHA256_H

#include <string>
#include <string_view>

namespace plait {

/// The 32 raw bytes of the digest.
std::string sha256(std::string_view data);
/// Lower-case hexadecimal of raw bytes.
std::string toHex(std::string_view bytes);

} // namespace plait

#endif
