#include "runtime/plan/FileIo.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace plait {
namespace {

/// Owns a file descriptor.
struct Descriptor {
  int fd = -1;
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
};

Error systemError(ExitCode code, const std::string &path, const char *what) {
  return {code, path + ": " + what + ": " + std::strerror(errno)};
}

Result<uint64_t> regularSize(int fd, const std::string &path) {
  struct stat status;
  if (::fstat(fd, &status) != 0)
    return systemError(ExitCode::Usage, path, "cannot read");
  if (!S_ISREG(status.st_mode))
    return usageError(path + ": not a regular file");
  return static_cast<uint64_t>(status.st_size);
}

Status syncFolderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  Descriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.fd < 0 || ::fsync(file.fd) != 0)
    return systemError(ExitCode::Runtime, folder, "cannot sync folder");
  return success();
}

} // namespace

Result<std::string> readFile(const std::string &path, uint64_t maxBytes) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0)
    return systemError(ExitCode::Usage, path, "cannot open");
  Result<uint64_t> size = regularSize(file.fd, path);
  if (!size)
    return size.error();
  if (*size > maxBytes)
    return usageError(path + ": " + std::to_string(*size) + " bytes, more than the limit of " +
                      std::to_string(maxBytes));
  std::string bytes(*size, '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t count = ::read(file.fd, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError(ExitCode::Usage, path, "cannot read");
    if (count == 0)
      break;
    done += static_cast<size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

Status writeFileAtomically(const std::string &path, std::string_view bytes) {
  std::string temporary = path + ".tmp";
  {
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.fd < 0)
      return systemError(ExitCode::Runtime, temporary, "cannot create");
    while (!bytes.empty()) {
      ssize_t count = ::write(file.fd, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0) {
        Error error = systemError(ExitCode::Runtime, temporary, "cannot write");
        ::unlink(temporary.c_str());
        return error;
      }
      bytes.remove_prefix(static_cast<size_t>(count));
    }
  }
  return publishFile(temporary, path);
}

Status publishFile(const std::string &temporary, const std::string &path) {
  {
    Descriptor file(::open(temporary.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd < 0 || ::fsync(file.fd) != 0)
      return systemError(ExitCode::Runtime, temporary, "cannot sync");
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    Error error = systemError(ExitCode::Runtime, path, "cannot rename into place");
    ::unlink(temporary.c_str());
    return error;
  }
  return syncFolderOf(path);
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0)
    return systemError(ExitCode::Usage, path, "cannot open");
  Result<uint64_t> size = regularSize(file.fd, path);
  if (!size)
    return size.error();
  MappedFile mapped;
  if (*size) {
    void *memory = ::mmap(nullptr, *size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (memory == MAP_FAILED)
      return systemError(ExitCode::Usage, path, "cannot map");
    mapped.view = {static_cast<const char *>(memory), *size};
  }
  return mapped;
}

MappedFile::MappedFile(MappedFile &&other) noexcept : view(std::exchange(other.view, {})) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(view, other.view);
  return *this;
}

MappedFile::~MappedFile() {
  if (!view.empty())
    ::munmap(const_cast<char *>(view.data()), view.size());
}

} // namespace plait
