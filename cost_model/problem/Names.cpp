#include "cost_model/problem/Names.h"
#include <algorithm>
#include <cctype>
#include <numeric>

namespace plait {

static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (lower(a[i]) != lower(b[j]));
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::vector<std::string> nearestNames(const std::string &asked, const std::vector<std::string> &known, size_t count) {
  constexpr size_t longest = 128; // of the asked name; the rest cannot matter for a suggestion
  std::string name = asked.substr(0, longest);
  std::vector<std::pair<size_t, std::string>> scored;
  for (const std::string &candidate : known)
    scored.emplace_back(editDistance(name, candidate), candidate);
  std::stable_sort(scored.begin(), scored.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (size_t i = 0; i < std::min(count, scored.size()); ++i)
    result.push_back(scored[i].second);
  return result;
}

std::string joined(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

} // namespace plait
