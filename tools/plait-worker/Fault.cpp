#include "tools/plait-worker/Fault.h"
#include "runtime/executor/Executor.h"
#include <charconv>

namespace plait {

namespace {

template <typename Number> bool parseNumber(std::string_view text, Number &number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

} // namespace

Result<Fault> parseFault(const std::string &text) {
  Fault fault;
  const size_t first = text.find(':'), second = first == std::string::npos ? first : text.find(':', first + 1);
  if (second == std::string::npos || !parseNumber(std::string_view(text).substr(0, first), fault.rank) ||
      !parseNumber(std::string_view(text).substr(first + 1, second - first - 1), fault.step))
    return usageError("--fault '" + text + "': expected RANK:STEP:TASK, as in 1:3:apply");
  const std::string task = text.substr(second + 1);
  std::string known;
  for (int kind = pb::TASK_ZERO; kind <= pb::TASK_COMMIT; ++kind) {
    const std::string name(taskName(pb::TaskKind(kind)));
    if (name == task)
      fault.task = pb::TaskKind(kind);
    known += (known.empty() ? "" : ", ") + name;
  }
  if (fault.task == pb::TASK_NONE)
    return usageError("--fault '" + text + "': no task '" + task + "'; tasks are " + known);
  return fault;
}

} // namespace plait
