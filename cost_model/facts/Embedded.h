// The texts of facts/data/*.json, written into the library by CMake.
#ifndef PLAIT_COST_MODEL_FACTS_EMBEDDED_H
#define PLAIT_COST_MODEL_FACTS_EMBEDDED_H

#include <span>

namespace plait {

struct EmbeddedFile {
  const char *name, *text;
};
std::span<const EmbeddedFile> embeddedFacts();

} // namespace plait

#endif
