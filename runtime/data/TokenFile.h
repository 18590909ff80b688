// Token files: raw little-endian token ids behind a 16-byte header: "PLAITTOK", u32 version (1), u32 bytes per id (2 or
// 4). The file is mapped, so that ranks of one host share its pages.
#ifndef PLAIT_RUNTIME_DATA_TOKENFILE_H
#define PLAIT_RUNTIME_DATA_TOKENFILE_H

#include "runtime/plan/FileIo.h"
#include <cstdint>
#include <string>
#include <vector>

namespace plait {

class TokenFile {
public:
  /// Error Usage: unreadable, not a token file, an unknown version or width, or a length that is no multiple of it.
  static Result<TokenFile> open(const std::string &path);

  int64_t size() const { return count; }
  /// Id at a position below size().
  uint32_t at(int64_t position) const;
  const std::string &path() const { return name; }

private:
  TokenFile(MappedFile file, std::string path, uint32_t width, int64_t count)
      : file(std::move(file)), name(std::move(path)), width(width), count(count) {}
  MappedFile file;
  std::string name;
  uint32_t width;
  int64_t count;
};

/// Writes a token file of 2 or 4 bytes per id. Error Usage if an id does not fit, Runtime if it cannot be written.
Status writeTokens(const std::string &path, const std::vector<uint32_t> &ids, uint32_t bytesPerId);

/// Byte-level encoding: the id of a byte is its value; the files follow each other. Error Usage if a file cannot be
/// read or all are empty.
Status encodeBytes(const std::vector<std::string> &inputs, const std::string &output);

} // namespace plait

#endif
