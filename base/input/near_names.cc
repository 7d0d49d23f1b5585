#include "base/input/near_names.h"

#include <algorithm>

namespace temper {
namespace {

constexpr size_t kMost = 3, kLeastPart = 4, kMostSlips = 4, kLongestName = 200;
constexpr size_t kFar = kLongestName;

// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours.
size_t edit_distance(std::string_view a, std::string_view b) {
  if (a.size() > kLongestName || b.size() > kLongestName) return kFar;
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

std::string_view leaf_of(std::string_view name) { return name.substr(name.rfind('.') + 1); }

size_t bounded(size_t distance, size_t letters) {
  return distance <= std::min(letters / 3, kMostSlips) ? distance : kFar;
}

// Another place with the same last part counts like a wrong letter.
size_t distance_between(std::string_view name, std::string_view known) {
  const std::string_view leaf = leaf_of(name), known_leaf = leaf_of(known);
  const size_t whole = bounded(edit_distance(name, known), name.size());
  if (leaf.size() == name.size() && known_leaf.size() == known.size()) return whole;
  return std::min(whole, bounded(edit_distance(leaf, known_leaf), leaf.size()) + 1);
}

}  // namespace

std::vector<std::string> near_names(std::string_view name, const std::vector<std::string>& known) {
  std::vector<std::string> best;
  size_t best_distance = kFar - 1;
  for (const std::string& candidate : known) {
    const size_t distance = distance_between(name, candidate);
    if (distance < best_distance) best.clear(), best_distance = distance;
    if (distance == best_distance) best.push_back(candidate);
  }
  if (best.empty() && name.size() >= kLeastPart)
    std::ranges::copy_if(known, std::back_inserter(best), [&](const std::string& candidate) {
      return candidate.find(name) != std::string::npos;
    });
  std::ranges::stable_sort(best, {}, &std::string::size);
  best.erase(std::unique(best.begin(), best.end()), best.end());
  best.resize(std::min(best.size(), kMost));
  return best;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  const std::vector<std::string> near = near_names(name, known);
  return near.empty() ? "" : near.front();
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  const std::vector<std::string> near = near_names(name, known);
  std::string text;
  for (size_t i = 0; i < near.size(); ++i)
    text += (i == 0 ? "; did you mean " : i + 1 < near.size() ? ", " : " or ") + near[i];
  return near.empty() ? "" : text + "?";
}

}  // namespace temper
