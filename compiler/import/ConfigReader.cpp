#include "compiler/import/ConfigReader.h"
#include "cost_model/problem/Names.h"
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace plait {

using nlohmann::json;

static constexpr size_t kMaxFileBytes = size_t(16) << 20;

/// The value as JSON text, shortened.
static std::string shown(const json &value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

static std::string shown(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

ConfigReader::ConfigReader(std::shared_ptr<const json> root, const json *node, std::string place)
    : root(std::move(root)), node(node), place(std::move(place)) {}

Result<ConfigReader> ConfigReader::open(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return usageError(path + ": cannot be read");
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(file.gcount()));
  if (file.bad())
    return usageError(path + ": cannot be read; expected a file");
  if (text.size() > kMaxFileBytes)
    return usageError(path + ": is larger than 16 MiB; expected a Hugging Face config.json");
  return parse(text, path);
}

Result<ConfigReader> ConfigReader::parse(const std::string &text, std::string place) {
  try {
    auto root = std::make_shared<const json>(json::parse(text));
    if (!root->is_object())
      return usageError(place + ": expected a JSON object, found " + shown(*root));
    const json *node = root.get();
    return ConfigReader(std::move(root), node, std::move(place));
  } catch (const json::exception &problem) {
    return usageError(place + ": not valid JSON: " + problem.what());
  }
}

const json *ConfigReader::find(const std::string &key) {
  known.insert(key);
  auto entry = node->find(key);
  return entry == node->end() ? nullptr : &*entry;
}

bool ConfigReader::has(const std::string &key) const {
  auto entry = node->find(key);
  return entry != node->end() && !entry->is_null();
}

bool ConfigReader::isNull(const std::string &key) const {
  auto entry = node->find(key);
  return entry != node->end() && entry->is_null();
}

void ConfigReader::fail(const std::string &problem) {
  if (!error)
    error = usageError(place + ": " + problem);
}

void ConfigReader::fail(const std::string &key, const std::string &problem) {
  auto entry = node->find(key);
  fail("'" + key + "' is " + (entry == node->end() ? "absent" : shown(*entry)) + ": " + problem);
}

void ConfigReader::missing(const std::string &key) { fail("'" + key + "' is missing and has no default"); }

int64_t ConfigReader::integer(const std::string &key, std::optional<int64_t> fallback, IntegerRange range) {
  const json *value = find(key);
  if (!value) {
    if (!fallback)
      missing(key);
    return fallback.value_or(range.min);
  }
  bool fits = value->is_number_integer() &&
              !(value->is_number_unsigned() && value->get<uint64_t>() > uint64_t(INT64_MAX)) &&
              value->get<int64_t>() >= range.min && value->get<int64_t>() <= range.max;
  if (fits)
    return value->get<int64_t>();
  fail(key, "expected an integer from " + std::to_string(range.min) + " to " + std::to_string(range.max));
  return fallback.value_or(range.min);
}

std::optional<int64_t> ConfigReader::optionalInteger(const std::string &key, IntegerRange range) {
  const json *value = find(key);
  if (!value || value->is_null())
    return std::nullopt;
  return integer(key, std::nullopt, range);
}

double ConfigReader::number(const std::string &key, std::optional<double> fallback, double min, double max) {
  const json *value = find(key);
  if (!value) {
    if (!fallback)
      missing(key);
    return fallback.value_or(min);
  }
  if (value->is_number() && std::isfinite(value->get<double>()) && value->get<double>() >= min &&
      value->get<double>() <= max)
    return value->get<double>();
  fail(key, "expected a number from " + shown(min) + " to " + shown(max));
  return fallback.value_or(min);
}

std::optional<double> ConfigReader::optionalNumber(const std::string &key, double min, double max) {
  const json *value = find(key);
  if (!value || value->is_null())
    return std::nullopt;
  return number(key, std::nullopt, min, max);
}

bool ConfigReader::boolean(const std::string &key, bool fallback) {
  const json *value = find(key);
  if (!value)
    return fallback;
  if (value->is_boolean())
    return value->get<bool>();
  fail(key, "expected true or false");
  return fallback;
}

std::string ConfigReader::string(const std::string &key, std::optional<std::string> fallback) {
  const json *value = find(key);
  if (!value && !fallback)
    missing(key);
  if (!value)
    return fallback.value_or("");
  if (value->is_string())
    return value->get<std::string>();
  fail(key, "expected a string");
  return fallback.value_or("");
}

std::vector<std::string> ConfigReader::strings(const std::string &key) {
  std::vector<std::string> result;
  const json *value = find(key);
  if (!value || value->is_null())
    return result;
  if (!value->is_array()) {
    fail(key, "expected a list of strings");
    return result;
  }
  for (const json &entry : *value) {
    if (!entry.is_string()) {
      fail(key, "expected a list of strings");
      return {};
    }
    result.push_back(entry.get<std::string>());
  }
  return result;
}

ConfigReader ConfigReader::object(const std::string &key) {
  static const auto empty = std::make_shared<const json>(json::object());
  const json *value = find(key);
  std::string inner = place + ": '" + key + "'";
  if (value && value->is_object())
    return ConfigReader(root, value, std::move(inner));
  if (value && !value->is_null())
    fail(key, "expected an object");
  return ConfigReader(empty, empty.get(), std::move(inner));
}

void ConfigReader::merge(const ConfigReader &nested) {
  if (Status status = nested.finish(); !status && !error)
    error = status.error();
}

void ConfigReader::requireFlag(const std::string &key, bool only, const std::string &why) {
  const json *value = find(key);
  if (value && !value->is_null() && *value != json(only))
    fail(key, why + "; what works: " + (only ? "true" : "false"));
}

void ConfigReader::ignore(std::initializer_list<const char *> keys) { known.insert(keys.begin(), keys.end()); }

Status ConfigReader::finish() const {
  if (error)
    return *error;
  for (const auto &[key, value] : node->items()) {
    if (known.count(key))
      continue;
    std::vector<std::string> nearest = nearestNames(key, {known.begin(), known.end()}, 1);
    return usageError(place + ": unknown key '" + key.substr(0, 128) + "' (" + shown(value) +
                      "), which could change what the model computes" +
                      (nearest.empty() ? "" : "; the nearest known key is '" + nearest.front() + "'"));
  }
  return success();
}

} // namespace plait
