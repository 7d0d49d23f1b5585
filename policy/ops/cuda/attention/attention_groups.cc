#include "policy/ops/cuda/attention/attention_groups.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>
#include <utility>

#include "base/error.h"

namespace temper::policy::cuda {
namespace {

int64_t score_bytes_of(int64_t sequences, int64_t length, int64_t keys, int64_t heads) {
  return sequence_bucket(sequences) * heads * length * keys * 2;
}

// Parts are of whole key heads, and of four query heads or more: cuDNN wants log-sum-exps aligned to 16
// bytes.
int64_t parts_of_heads(const AttentionShape& shape, int64_t length, int64_t keys, int64_t most_bytes) {
  int64_t parts = 1;
  const auto too_large = [&] { return score_bytes_of(1, length, keys, shape.heads / parts) > most_bytes; };
  for (int64_t p = 2; p <= shape.kv_heads && too_large(); ++p)
    if (shape.kv_heads % p == 0 && shape.heads / p % 4 == 0) parts = p;
  return parts;
}

// Makes room for sequence s.
void widen(AttentionGroup& group, const AttentionRows& rows, int32_t s) {
  group.length = std::max(group.length, length_bucket(rows.query_count(s)));
  group.keys = std::max(group.keys, length_bucket(rows.key_count(s)));
}

}  // namespace

int64_t sequence_bucket(int64_t n) { return int64_t(std::bit_ceil(uint64_t(n))); }

int64_t length_bucket(int64_t length) {
  const int64_t blocks = (length + 255) / 256;
  const int64_t step = std::max<int64_t>(1, int64_t(std::bit_floor(uint64_t(blocks - 1) | 1)) / 4);
  return 256 * ((blocks + step - 1) / step * step);
}

AttentionGroup whole_pack(const AttentionRows& rows) {
  TEMPER_CHECK(rows.queries.size() >= 2 && rows.queries.front() == 0, "{} starts", rows.queries.size());
  TEMPER_CHECK_EQ(rows.keys.size(), rows.queries.size());
  AttentionGroup whole;
  for (int32_t s = 0; s + 1 < int32_t(rows.queries.size()); ++s) {
    TEMPER_CHECK(rows.query_count(s) > 0, "sequence {} is empty", s);
    TEMPER_CHECK(rows.key_count(s) >= rows.query_count(s), "sequence {} lacks keys", s);
    widen(whole, rows, s);
    whole.members.push_back(s);
  }
  return whole;
}

std::vector<AttentionGroup> backward_groups(const AttentionRows& rows, const AttentionShape& shape,
                                            int64_t most_bytes) {
  std::vector<int32_t> order(rows.queries.size() - 1);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(),
                           [&](int32_t s) { return std::pair(rows.query_count(s), rows.key_count(s)); });
  const bool shared = rows.keys != rows.queries;
  std::vector<AttentionGroup> groups;
  const auto takes_another = [&](AttentionGroup g, int32_t s) {
    // An answer is not padded to the length of the one row that computes its prompt.
    if (shared && 2 * length_bucket(rows.query_count(s)) < g.length) return false;
    widen(g, rows, s);
    return score_bytes_of(int64_t(g.members.size()) + 1, g.length, g.keys, shape.heads) <= most_bytes;
  };
  for (const int32_t s : order) {
    if (groups.empty() || !takes_another(groups.back(), s)) groups.emplace_back();
    AttentionGroup& group = groups.back();
    widen(group, rows, s);
    if (group.members.empty()) group.parts = parts_of_heads(shape, group.length, group.keys, most_bytes);
    group.members.push_back(s);
  }
  for (AttentionGroup& g : groups) std::ranges::sort(g.members);
  return groups;
}

int64_t score_bytes(const AttentionGroup& group, const AttentionShape& shape) {
  return score_bytes_of(group.sequences(), group.length, group.keys, shape.heads / group.parts);
}

void describe(AttentionGroup& group, const AttentionRows& rows, const AttentionShape& shape,
              std::vector<std::byte>& bytes) {
  group.described_at = bytes.size();
  const size_t n = size_t(group.sequences());
  struct List {
    const std::vector<int32_t>& starts;
    int64_t width;
  };
  const std::array<List, 5> lists = {{{rows.queries, shape.qk_width()},
                                      {rows.queries, shape.qkv_width()},
                                      {rows.queries, shape.q_width()},
                                      {rows.queries, shape.heads},
                                      {rows.keys, shape.kv_width()}}};
  std::vector<int64_t> offsets;
  std::vector<int32_t> lengths(2 * n);  // an even number: the next group's offsets stay aligned
  const size_t end = rows.queries.size() - 1;
  for (const List& list : lists)
    for (size_t i = 0; i <= n; ++i)
      offsets.push_back(list.starts[i < group.members.size() ? size_t(group.members[i]) : end] * list.width);
  for (size_t i = 0; i < group.members.size(); ++i) {
    lengths[i] = rows.query_count(group.members[i]);
    lengths[n + i] = rows.key_count(group.members[i]);
  }
  const auto append = [&](const auto& list) {
    const auto piece = std::as_bytes(std::span(list));
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  };
  append(offsets);
  append(lengths);
}

}  // namespace temper::policy::cuda
