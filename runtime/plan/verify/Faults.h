// Collects faults while a plan is verified; keeps the first few, counts none beyond.
#ifndef PLAIT_RUNTIME_PLAN_VERIFY_FAULTS_H
#define PLAIT_RUNTIME_PLAN_VERIFY_FAULTS_H

#include "runtime/plan/Result.h"
#include <string>
#include <vector>

namespace plait {

class Faults {
public:
  void add(const std::string &place, const std::string &what) {
    if (faults.size() < kKept)
      faults.push_back(place + ": " + what);
  }
  void add(const Status &status) {
    if (!status && faults.size() < kKept)
      faults.push_back(status.error().message);
  }
  /// Adds a fault unless index < size; true if it is.
  bool checkIndex(const std::string &place, const char *what, uint64_t index, uint64_t size) {
    if (index >= size)
      add(place, std::string(what) + " " + std::to_string(index) + " does not exist; there are " + std::to_string(size));
    return index < size;
  }
  bool empty() const { return faults.empty(); }
  std::vector<std::string> take() { return std::move(faults); }

private:
  static constexpr size_t kKept = 32;
  std::vector<std::string> faults;
};

/// "routine 3 'decoder'" : an index with the name that the plan gives it.
inline std::string placeOf(const char *what, uint64_t index, const std::string &name) {
  std::string text = what;
  text += ' ';
  text += std::to_string(index);
  if (!name.empty()) {
    text += " '";
    text += name;
    text += "'";
  }
  return text;
}

} // namespace plait

#endif
