// Errors as values. No exception crosses an API of this project and no user input reaches an assert: a function that
// can fail returns Result<T>, whose Error carries the exit code of the process and a message that says what was asked,
// what forbids it, where, and what would work.
#ifndef PLAIT_RUNTIME_PLAN_RESULT_H
#define PLAIT_RUNTIME_PLAN_RESULT_H

#include <cassert>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace plait {

/// Exit codes of every tool; documented in docs/cli.md.
enum class ExitCode : int {
  Success = 0,
  Internal = 1,
  Usage = 2,       ///< usage or unreadable input
  Infeasible = 3,  ///< valid input, no plan
  CheckFailed = 4, ///< a check or a verification failed
  Unproven = 5,    ///< budget ended without proof, only with --require-proof
  Unavailable = 6, ///< backend or device not available
  Runtime = 7,     ///< time-out, rank lost
  Interrupted = 130,
};

struct Error {
  ExitCode code = ExitCode::Internal;
  std::string message;
};

inline Error usageError(std::string message) { return {ExitCode::Usage, std::move(message)}; }

/// A value or an Error. `if (!r) return r.error();` passes an error on.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::move(value)) {}
  Result(Error error) : state(std::move(error)) {}
  explicit operator bool() const { return std::holds_alternative<T>(state); }
  T &operator*() { return std::get<T>(state); }
  const T &operator*() const { return std::get<T>(state); }
  T *operator->() { return &std::get<T>(state); }
  const T *operator->() const { return &std::get<T>(state); }
  const Error &error() const { return std::get<Error>(state); }

private:
  std::variant<T, Error> state;
};

struct Unit {};
using Status = Result<Unit>;
inline Status success() { return Status(Unit{}); }

} // namespace plait

#endif
