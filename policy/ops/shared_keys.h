#pragma once
// Which keys a pack's queries attend to where sequences share their beginnings. A shared token's key and value are computed
// once, and copied in front of each sequence that continues it: kernels of attention read a sequence's keys as one piece.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace temper::policy {

// T tokens of a pack, S sequences, C copies of keys. All is empty where no sequence continues another.
struct SharedKeys {
  std::vector<int32_t> starts;  // [S + 1] sequence s attends to the copies from starts[s] up to starts[s + 1]
  std::vector<int32_t> rows;    // [C] the token that each is a copy of
  // The copies of each token, whose gradients are added in this order: those of token t are copies[begins[t]] up to
  // copies[begins[t + 1]], at least one.
  std::vector<int32_t> copies;  // [C]
  std::vector<int32_t> begins;  // [T + 1]

  bool any() const { return !rows.empty(); }
};

// Sequence s is the first prefixes[s] tokens of sequence s - 1, its prefix included, and then tokens starts[s] up to
// starts[s + 1]. No prefixes: as if all were 0.
inline SharedKeys shared_keys(const std::vector<int32_t>& starts, const std::vector<int32_t>& prefixes) {
  SharedKeys keys;
  if (std::ranges::all_of(prefixes, [](int32_t n) { return n == 0; })) return keys;
  keys.starts = {0};
  for (size_t s = 0; s + 1 < starts.size(); ++s) {
    const auto before = size_t(s > 0 ? keys.starts[s - 1] : 0);
    for (size_t i = 0; i < size_t(prefixes[s]); ++i) {
      const int32_t row = keys.rows[before + i];
      keys.rows.push_back(row);
    }
    for (int32_t t = starts[s]; t < starts[s + 1]; ++t) keys.rows.push_back(t);
    keys.starts.push_back(int32_t(keys.rows.size()));
  }
  keys.begins.assign(size_t(starts.back()) + 1, 0);
  for (const int32_t row : keys.rows) ++keys.begins[size_t(row) + 1];
  for (size_t t = 1; t < keys.begins.size(); ++t) keys.begins[t] += keys.begins[t - 1];
  std::vector<int32_t> next = keys.begins;
  keys.copies.resize(keys.rows.size());
  for (size_t c = 0; c < keys.rows.size(); ++c)
    keys.copies[size_t(next[size_t(keys.rows[c])]++)] = int32_t(c);
  return keys;
}

}  // namespace temper::policy
