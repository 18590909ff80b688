// Names that a user may have meant. Every error about an unknown name lists the nearest known ones.
#ifndef PLAIT_COST_MODEL_PROBLEM_NAMES_H
#define PLAIT_COST_MODEL_PROBLEM_NAMES_H

#include <string>
#include <vector>

namespace plait {

/// Up to `count` of `known`, nearest to `asked` first (edit distance, case ignored; ties in the order of `known`).
std::vector<std::string> nearestNames(const std::string &asked, const std::vector<std::string> &known, size_t count = 3);
/// "a, b, c".
std::string joined(const std::vector<std::string> &parts);

} // namespace plait

#endif
