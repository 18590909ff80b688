#include "runtime/data/TokenFile.h"

namespace plait {
namespace {

constexpr std::string_view kMagic = "PLAITTOK";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderBytes = 16;

uint32_t readLittleEndian(const char *bytes, uint32_t width) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < width; ++i)
    value |= uint32_t(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

void appendLittleEndian(std::string &bytes, uint32_t value, uint32_t width) {
  for (uint32_t i = 0; i < width; ++i)
    bytes += static_cast<char>(value >> (8 * i));
}

std::string header(uint32_t width) {
  std::string bytes(kMagic);
  appendLittleEndian(bytes, kVersion, 4);
  appendLittleEndian(bytes, width, 4);
  return bytes;
}

} // namespace

Result<TokenFile> TokenFile::open(const std::string &path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.error();
  std::string_view bytes = file->bytes();
  if (bytes.size() < kHeaderBytes || bytes.substr(0, kMagic.size()) != kMagic)
    return usageError(path + ": not a token file (it does not start with \"PLAITTOK\")");
  uint32_t version = readLittleEndian(bytes.data() + 8, 4), width = readLittleEndian(bytes.data() + 12, 4);
  if (version != kVersion)
    return usageError(path + ": token file version " + std::to_string(version) + ", this build reads version 1");
  if (width != 2 && width != 4)
    return usageError(path + ": " + std::to_string(width) + " bytes per id; ids have 2 or 4");
  size_t payload = bytes.size() - kHeaderBytes;
  if (payload % width)
    return usageError(path + ": " + std::to_string(payload) + " bytes of ids are no multiple of " +
                      std::to_string(width) + "; the file is damaged or incomplete");
  return TokenFile(std::move(*file), path, width, static_cast<int64_t>(payload / width));
}

uint32_t TokenFile::at(int64_t position) const {
  return readLittleEndian(file.bytes().data() + kHeaderBytes + position * width, width);
}

Status writeTokens(const std::string &path, const std::vector<uint32_t> &ids, uint32_t bytesPerId) {
  std::string bytes = header(bytesPerId);
  for (uint32_t id : ids) {
    if (bytesPerId == 2 && id > 0xffff)
      return usageError(path + ": id " + std::to_string(id) + " does not fit 2 bytes per id; use 4");
    appendLittleEndian(bytes, id, bytesPerId);
  }
  return writeFileAtomically(path, bytes);
}

Status encodeBytes(const std::vector<std::string> &inputs, const std::string &output) {
  std::string bytes = header(2);
  for (const std::string &input : inputs) {
    Result<MappedFile> file = MappedFile::open(input);
    if (!file)
      return file.error();
    for (unsigned char byte : file->bytes())
      appendLittleEndian(bytes, byte, 2);
  }
  if (bytes.size() == kHeaderBytes)
    return usageError(output + ": the inputs hold no bytes to encode");
  return writeFileAtomically(output, bytes);
}

} // namespace plait
