// The model types that import understands. To add one: a reader of its keys here, its tensor names in Parameters.cpp, a
// configuration in test/data/models with its published parameter count.
#ifndef PLAIT_COMPILER_IMPORT_FAMILIES_H
#define PLAIT_COMPILER_IMPORT_FAMILIES_H

#include "compiler/import/ConfigReader.h"
#include "compiler/import/ModelSpec.h"
#include <span>

namespace plait {

/// Bounds that keep a mistyped file from asking for unbounded work; far above any model known.
inline constexpr int64_t kMaxLayers = 10'000;
inline constexpr int64_t kMaxHeadDim = 65'536;
inline constexpr int64_t kMaxWidth = int64_t(1) << 24; ///< hidden, ffn, vocabulary, positions, heads

struct Family {
  const char *modelType;
  /// Fills `spec` from the keys of the model type; problems are left in the reader.
  void (*read)(ConfigReader &, ModelSpec &spec);
};

std::span<const Family> families();
/// nullptr if there is no such model type.
const Family *findFamily(const std::string &modelType);

} // namespace plait

#endif
