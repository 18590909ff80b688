// Checked access to a JSON object whose every key must be understood. Each getter marks its key as known; finish()
// refuses keys that nobody asked for, so a setting that changes the mathematics cannot be passed over in silence.
//
// The first problem is kept and later reads return their defaults: a caller reads everything, then asks finish() once.
// Messages have the form "config.json: 'hidden_size' is -3: expected an integer from 1 to 16777216".
#ifndef PLAIT_COMPILER_IMPORT_CONFIGREADER_H
#define PLAIT_COMPILER_IMPORT_CONFIGREADER_H

#include "runtime/plan/Result.h"
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace plait {

/// Inclusive bounds of an integer setting.
struct IntegerRange {
  int64_t min = 1, max = 1;
};

class ConfigReader {
public:
  /// Reads a file of at most 16 MiB. Errors: unreadable, not JSON, not an object.
  static Result<ConfigReader> open(const std::string &path);
  /// The same from text; `place` stands for the file in messages.
  static Result<ConfigReader> parse(const std::string &text, std::string place);

  bool has(const std::string &key) const; ///< present, and not null; does not mark the key as known
  bool isNull(const std::string &key) const;

  int64_t integer(const std::string &key, std::optional<int64_t> fallback, IntegerRange range);
  /// Absent and null are both nullopt.
  std::optional<int64_t> optionalInteger(const std::string &key, IntegerRange range);
  /// A finite number in [min, max].
  double number(const std::string &key, std::optional<double> fallback, double min, double max);
  std::optional<double> optionalNumber(const std::string &key, double min, double max);
  bool boolean(const std::string &key, bool fallback);
  std::string string(const std::string &key, std::optional<std::string> fallback);
  std::vector<std::string> strings(const std::string &key);
  /// The object under `key`; an empty one if absent or null. Give it back to merge() when read.
  ConfigReader object(const std::string &key);
  /// Takes over the error, if any, of an object read; its unknown keys are errors too.
  void merge(const ConfigReader &nested);

  /// Fails unless `key` is absent, null, or equal to `only`. `why` completes "... : <why>".
  void requireFlag(const std::string &key, bool only, const std::string &why);
  /// Keys that are understood and change nothing here.
  void ignore(std::initializer_list<const char *> keys);

  /// Records an error about the value of `key`: "<place>: '<key>' is <value>: <problem>".
  void fail(const std::string &key, const std::string &problem);
  /// Records an error as it stands, behind the place.
  void fail(const std::string &problem);
  bool failed() const { return error.has_value(); }

  /// The first error, or the first key that nobody asked for, with the nearest known one.
  Status finish() const;

private:
  ConfigReader(std::shared_ptr<const nlohmann::json> root, const nlohmann::json *node, std::string place);
  /// The value of `key` after marking it as known; nullptr if absent.
  const nlohmann::json *find(const std::string &key);
  void missing(const std::string &key);

  std::shared_ptr<const nlohmann::json> root;
  const nlohmann::json *node; ///< an object inside root
  std::string place;
  std::set<std::string> known;
  std::optional<Error> error;
};

} // namespace plait

#endif
