#include "runtime/backends/BFloat16.h"
#include "runtime/checkpoint/TensorSet.h"
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace plait {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they are, the format is little-endian");

/// Runs of at least this many elements are written at once; shorter ones are collected, sorted and joined.
constexpr size_t kDirectElements = 1024;
constexpr size_t kBufferedElements = size_t(1) << 20;

Error diskError(const std::string &path, const char *what, int code) {
  return {ExitCode::Runtime, path + ": " + what + ": " + std::strerror(code)};
}

DType typeOf(const Column &column, const pb::Tensor &tensor) {
  return column.type == DType::None ? static_cast<DType>(tensor.dtype()) : column.type;
}

bool isWritable(DType type) { return type == DType::F32 || type == DType::BF16; }

/// The files of a set by name: what the header of each says.
using FilePlans = std::map<std::string, SafetensorsPlan>;

Result<FilePlans> planFiles(const pb::Plan &plan, const std::vector<Column> &columns) {
  std::map<std::string, StoredTensors> contents;
  for (const Column &column : columns)
    for (const pb::Tensor &tensor : plan.tensors()) {
      Result<CheckpointView> view = CheckpointView::of(tensor);
      if (!view)
        return view.error();
      DType type = typeOf(column, tensor);
      if (!isWritable(type))
        return usageError("tensor '" + tensor.name() + "': checkpoints hold f32 or bf16, the plan asks for " +
                          std::string(nameOf(type)));
      StoredTensor stored{safetensorsType(type), view->fileShape(), 0, 0};
      std::string name = checkpointName(tensor) + column.suffix;
      auto [it, isNew] = contents[column.file].try_emplace(name, stored);
      if (!isNew && (it->second.shape != stored.shape || it->second.type != stored.type))
        return usageError("tensor '" + tensor.name() + "': another tensor of the plan gives checkpoint tensor '" + name +
                          "' another shape or type");
    }
  FilePlans files;
  for (auto &[file, tensors] : contents)
    files.emplace(file, planSafetensors(std::move(tensors), {{"format", "pt"}}));
  return files;
}

/// pwrite until all bytes are written; 0 or errno.
int writeAll(int fd, const char *bytes, size_t count, uint64_t offset) {
  while (count > 0) {
    ssize_t done = ::pwrite(fd, bytes, count, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return errno;
    bytes += done;
    count -= static_cast<size_t>(done);
    offset += static_cast<uint64_t>(done);
  }
  return 0;
}

Status createFile(const std::string &path, const SafetensorsPlan &file) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0)
    return diskError(path, "cannot create", errno);
  // Reserving the blocks now makes a full disk an error here instead of in the middle of the writes.
  int code = ::posix_fallocate(fd, 0, static_cast<off_t>(file.fileBytes));
  if (code == 0)
    code = writeAll(fd, file.header.data(), file.header.size(), 0);
  ::close(fd);
  return code ? Status(diskError(path, "cannot reserve its size", code)) : success();
}

} // namespace

const std::string &checkpointName(const pb::Tensor &tensor) {
  return tensor.hf_name().empty() ? tensor.name() : tensor.hf_name();
}

/// An open file with the elements that wait to be written.
struct TensorSetWriter::Impl {
  struct File {
    std::string path;
    int fd = -1;
    SafetensorsPlan plan;
    std::vector<std::pair<uint64_t, uint32_t>> waiting; ///< byte offset, bits; of one element width at a time
    uint32_t width = 4;
  };
  std::vector<Column> columns;
  std::vector<std::string> names;
  std::vector<DType> types;
  std::vector<CheckpointView> views;
  std::map<std::string, File> files;
  std::vector<char> bytes; ///< scratch of one write

  ~Impl() {
    for (auto &entry : files)
      if (entry.second.fd >= 0)
        ::close(entry.second.fd);
  }

  static uint32_t bitsOf(float value, DType type) {
    return type == DType::BF16 ? uint32_t(narrow(value)) : std::bit_cast<uint32_t>(value);
  }

  Status put(File &file, uint64_t offset) {
    if (int code = writeAll(file.fd, bytes.data(), bytes.size(), offset))
      return diskError(file.path, "cannot write", code);
    return success();
  }

  /// Joins the waiting elements into runs of the file.
  Status flush(File &file) {
    std::sort(file.waiting.begin(), file.waiting.end());
    for (size_t i = 0; i < file.waiting.size();) {
      uint64_t start = file.waiting[i].first, next = start;
      bytes.clear();
      for (; i < file.waiting.size() && file.waiting[i].first == next; ++i, next += file.width) {
        auto *bits = reinterpret_cast<const char *>(&file.waiting[i].second);
        bytes.insert(bytes.end(), bits, bits + file.width);
      }
      if (Status done = put(file, start); !done)
        return done;
    }
    file.waiting.clear();
    return success();
  }

  Status writeRun(File &file, uint64_t base, const ViewRun &run, DType type, const float *values) {
    auto width = static_cast<uint32_t>(bytesOf(type));
    if (run.fileStride == 1 && run.count >= int64_t(kDirectElements)) {
      bytes.resize(run.count * width);
      for (int64_t i = 0; i < run.count; ++i) {
        uint32_t bits = bitsOf(values[i], type);
        std::memcpy(&bytes[i * width], &bits, width);
      }
      return put(file, base + run.fileOffset * width);
    }
    if (file.width != width || file.waiting.size() + run.count > kBufferedElements)
      if (Status done = flush(file); !done)
        return done;
    file.width = width;
    for (int64_t i = 0; i < run.count; ++i)
      file.waiting.push_back({base + (run.fileOffset + i * run.fileStride) * width, bitsOf(values[i], type)});
    return success();
  }
};

TensorSetWriter::TensorSetWriter(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
TensorSetWriter::TensorSetWriter(TensorSetWriter &&) noexcept = default;
TensorSetWriter &TensorSetWriter::operator=(TensorSetWriter &&) noexcept = default;
TensorSetWriter::~TensorSetWriter() = default;

Status TensorSetWriter::create(const std::string &folder, const pb::Plan &plan, const std::vector<Column> &columns) {
  Result<FilePlans> files = planFiles(plan, columns);
  if (!files)
    return files.error();
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code)
    return diskError(folder, "cannot create folder", code.value());
  for (const auto &[name, file] : *files)
    if (Status made = createFile(folder + "/" + name, file); !made)
      return made;
  return success();
}

Result<TensorSetWriter> TensorSetWriter::open(const std::string &folder, const pb::Plan &plan,
                                              const std::vector<Column> &columns) {
  Result<FilePlans> plans = planFiles(plan, columns);
  if (!plans)
    return plans.error();
  auto impl = std::make_unique<Impl>();
  impl->columns = columns;
  for (const pb::Tensor &tensor : plan.tensors()) {
    impl->names.push_back(checkpointName(tensor));
    impl->types.push_back(static_cast<DType>(tensor.dtype()));
    impl->views.push_back(*CheckpointView::of(tensor));
  }
  for (auto &[name, file] : *plans) {
    Impl::File &opened = impl->files[name];
    opened.path = folder + "/" + name;
    opened.plan = std::move(file);
    opened.fd = ::open(opened.path.c_str(), O_WRONLY | O_CLOEXEC);
    struct stat status;
    if (opened.fd < 0 || ::fstat(opened.fd, &status) != 0)
      return diskError(opened.path, "cannot open for writing", errno);
    if (static_cast<uint64_t>(status.st_size) != opened.plan.fileBytes)
      return Error{ExitCode::Runtime, opened.path + ": it has " + std::to_string(status.st_size) + " bytes, not the " +
                                          std::to_string(opened.plan.fileBytes) + " that this plan needs"};
  }
  return TensorSetWriter(std::move(impl));
}

Status TensorSetWriter::write(uint32_t column, uint32_t tensor, int64_t first, std::span<const float> values) {
  auto count = static_cast<int64_t>(values.size());
  if (column >= impl->columns.size() || tensor >= impl->views.size() || first < 0 ||
      count > wholeBox(impl->views[tensor].shape()).elements() - first)
    return Error{ExitCode::Internal, "checkpoint: elements [" + std::to_string(first) + ", " +
                                         std::to_string(first + count) + ") of tensor " + std::to_string(tensor) +
                                         ", column " + std::to_string(column) + " do not exist"};
  const Column &where = impl->columns[column];
  Impl::File &file = impl->files[where.file];
  const StoredTensor &stored = file.plan.tensors.at(impl->names[tensor] + where.suffix);
  DType type = where.type == DType::None ? impl->types[tensor] : where.type;
  Status result = success();
  impl->views[tensor].forEachRun(first, count, [&](const ViewRun &run) {
    if (result)
      result = impl->writeRun(file, stored.offset, run, type, values.data() + run.boxOffset);
  });
  return result;
}

Status TensorSetWriter::close() {
  for (auto &entry : impl->files) {
    if (Status done = impl->flush(entry.second); !done)
      return done;
    if (::fsync(entry.second.fd) != 0)
      return diskError(entry.second.path, "cannot sync", errno);
  }
  return success();
}

} // namespace plait
