#pragma once
// Rows of which some begin as the row before them does, packed whole or with each common beginning once.

#include "tests/policy/small_model.h"

namespace temper::policy {

class RowsWithPrefixes {
 public:
  explicit RowsWithPrefixes(int64_t vocab) : vocab_(vocab) {}

  // A row of the first `prefix` tokens of the row before it and `own` more. Of those about two in three are scored, never the
  // first.
  void add(size_t prefix, int64_t own) {
    std::vector<int32_t> row;
    if (prefix > 0) row.assign(rows_.back().begin(), rows_.back().begin() + int64_t(prefix));
    const auto more = random_ids(own, vocab_, 100 + rows_.size());
    row.insert(row.end(), more.begin(), more.end());
    Rng rng{rows_.size(), 6};
    std::vector<uint8_t> scored(row.size(), 0);
    for (size_t t = prefix + 1; t < row.size(); ++t) scored[t] = rng.below(3) > 0;
    prefixes_.push_back(int32_t(prefix));
    rows_.push_back(std::move(row));
    scored_.push_back(std::move(scored));
  }

  PackedTokens pack(bool share) const {
    PackedTokens pack;
    pack.starts = {0};
    for (size_t s = 0; s < rows_.size(); ++s) {
      const auto from = share ? int64_t(prefixes_[s]) : 0;
      pack.ids.insert(pack.ids.end(), rows_[s].begin() + from, rows_[s].end());
      pack.scored.insert(pack.scored.end(), scored_[s].begin() + from, scored_[s].end());
      pack.starts.push_back(int32_t(pack.ids.size()));
    }
    if (share) pack.prefixes = prefixes_;
    return pack;
  }

  int64_t tokens() const {  // those of common beginnings counted in each row
    int64_t sum = 0;
    for (const auto& row : rows_) sum += std::ssize(row);
    return sum;
  }

 private:
  int64_t vocab_;
  std::vector<std::vector<int32_t>> rows_;
  std::vector<std::vector<uint8_t>> scored_;
  std::vector<int32_t> prefixes_;
};

// Two prompts with several answers each, a row of its own, and turns that continue one another.
inline RowsWithPrefixes prompts_and_turns(int64_t vocab) {
  RowsWithPrefixes rows(vocab);
  rows.add(0, 103);
  for (const int64_t own : {33, 1, 150, 49}) rows.add(70, own);
  rows.add(0, 5);
  rows.add(0, 9);
  for (const int64_t own : {2, 20}) rows.add(8, own);
  rows.add(0, 60);
  rows.add(60, 20);
  rows.add(75, 100);
  rows.add(41, 8);
  return rows;
}

// The scored tokens' values, in order.
inline std::vector<double> of_scored(const PackedTokens& pack, const std::vector<double>& values) {
  std::vector<double> kept;
  for (size_t t = 0; t < pack.ids.size(); ++t)
    if (pack.scored[t]) kept.push_back(values[t]);
  return kept;
}

}  // namespace temper::policy
