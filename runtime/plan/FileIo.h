// Files read and written so that a reader never sees half of one: a new file appears under its name complete and synced,
// or not at all. Errors name the path and the system's reason.
#ifndef PLAIT_RUNTIME_PLAN_FILEIO_H
#define PLAIT_RUNTIME_PLAN_FILEIO_H

#include "runtime/plan/Result.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace plait {

/// Whole content. Error Usage if the file cannot be read, is not a regular file, or exceeds maxBytes.
Result<std::string> readFile(const std::string &path, uint64_t maxBytes);

/// Writes path + ".tmp", syncs it, renames it to path and syncs the folder. Error Runtime; no half file under `path`.
Status writeFileAtomically(const std::string &path, std::string_view bytes);

/// Syncs `temporary`, renames it to `path` and syncs the folder, for files written by others.
Status publishFile(const std::string &temporary, const std::string &path);

/// A file mapped for reading; moves, and unmaps at its end.
class MappedFile {
public:
  /// Error Usage as readFile. An empty file maps to an empty view.
  static Result<MappedFile> open(const std::string &path);
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();
  std::string_view bytes() const { return view; }

private:
  MappedFile() = default;
  std::string_view view;
};

} // namespace plait

#endif
