// The safetensors format: an 8-byte little-endian header length, a JSON header that gives each tensor's type, shape and
// byte range, then the data. Reading trusts nothing: a header that lies about lengths, shapes or offsets is an error.
#ifndef PLAIT_RUNTIME_CHECKPOINT_SAFETENSORS_H
#define PLAIT_RUNTIME_CHECKPOINT_SAFETENSORS_H

#include "runtime/plan/DType.h"
#include "runtime/plan/FileIo.h"
#include <map>
#include <string>
#include <vector>

namespace plait {

struct StoredTensor {
  std::string type;            ///< as the format names it: "F32", "BF16", ...
  std::vector<int64_t> shape;
  uint64_t offset = 0, bytes = 0; ///< in the file
  uint64_t elements() const;
};
using StoredTensors = std::map<std::string, StoredTensor>;

/// The format's name of a type ("F32", "BF16", "F16", "F64", "I32"); "" for None.
std::string safetensorsType(DType type);

/// Header and extent of a file to be written. Tensors lie in name order, the data start at a multiple of 64 bytes.
struct SafetensorsPlan {
  std::string header; ///< first bytes of the file, length included
  StoredTensors tensors;
  uint64_t fileBytes = 0;
};
/// `tensors` need type and shape; offsets and bytes are filled in. `metadata` becomes "__metadata__".
SafetensorsPlan planSafetensors(StoredTensors tensors, const std::map<std::string, std::string> &metadata);

/// A file mapped for reading.
class SafetensorsFile {
public:
  /// Error Usage names the file, the tensor and what is wrong.
  static Result<SafetensorsFile> open(const std::string &path);
  const StoredTensors &tensors() const { return entries; }
  /// Element `index` of a tensor as float. Precondition: isReadable(tensor) and the index is below elements().
  float element(const StoredTensor &tensor, uint64_t index) const;
  /// True for the floating-point types that element() converts: F64, F32, F16, BF16.
  static bool isReadable(const StoredTensor &tensor);
  const char *data(const StoredTensor &tensor) const { return file.bytes().data() + tensor.offset; }

private:
  SafetensorsFile(MappedFile file, StoredTensors entries) : file(std::move(file)), entries(std::move(entries)) {}
  MappedFile file;
  StoredTensors entries;
};

/// The tensors that a file's bytes describe; `name` stands for the file in messages.
Result<StoredTensors> parseSafetensors(std::string_view file, const std::string &name);

} // namespace plait

#endif
