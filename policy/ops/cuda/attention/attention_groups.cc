#include "policy/ops/cuda/attention/attention_groups.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>

#include "base/error.h"

namespace temper::policy::cuda {
namespace {

int64_t score_bytes_of(int64_t sequences, int64_t length, int64_t heads) {
  return sequence_bucket(sequences) * heads * length * length * 2;
}

// Parts are of whole key heads, and of four query heads or more: cuDNN wants log-sum-exps aligned to 16
// bytes.
int64_t parts_of_heads(const AttentionShape& shape, int64_t length, int64_t most_bytes) {
  int64_t parts = 1;
  for (int64_t p = 2; p <= shape.kv_heads && score_bytes_of(1, length, shape.heads / parts) > most_bytes; ++p)
    if (shape.kv_heads % p == 0 && shape.heads / p % 4 == 0) parts = p;
  return parts;
}

}  // namespace

int64_t sequence_bucket(int64_t n) { return int64_t(std::bit_ceil(uint64_t(n))); }

int64_t length_bucket(int64_t length) {
  const int64_t blocks = (length + 255) / 256;
  const int64_t step = std::max<int64_t>(1, int64_t(std::bit_floor(uint64_t(blocks - 1) | 1)) / 4);
  return 256 * ((blocks + step - 1) / step * step);
}

AttentionGroup whole_pack(const std::vector<int32_t>& starts) {
  TEMPER_CHECK(starts.size() >= 2 && starts.front() == 0, "{} starts", starts.size());
  AttentionGroup whole;
  for (size_t s = 0; s + 1 < starts.size(); ++s) {
    TEMPER_CHECK(starts[s] < starts[s + 1], "sequence {} is empty", s);
    whole.length = std::max(whole.length, length_bucket(starts[s + 1] - starts[s]));
    whole.members.push_back(int32_t(s));
  }
  return whole;
}

std::vector<AttentionGroup> backward_groups(const std::vector<int32_t>& starts, const AttentionShape& shape,
                                            int64_t most_bytes) {
  const auto length = [&](int32_t s) { return starts[size_t(s) + 1] - starts[size_t(s)]; };
  std::vector<int32_t> order(starts.size() - 1);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), length);
  std::vector<AttentionGroup> groups;
  const auto takes_another = [&](const AttentionGroup& g) {
    return score_bytes_of(int64_t(g.members.size()) + 1, g.length, shape.heads) <= most_bytes;
  };
  for (const int32_t s : order) {
    if (groups.empty() || !takes_another(groups.back())) {
      AttentionGroup& next = groups.emplace_back();
      next.length = length_bucket(length(s));
      next.parts = parts_of_heads(shape, next.length, most_bytes);
    }
    groups.back().members.push_back(s);
  }
  for (AttentionGroup& g : groups) std::ranges::sort(g.members);
  return groups;
}

int64_t score_bytes(const AttentionGroup& group, const AttentionShape& shape) {
  return score_bytes_of(group.sequences(), group.length, shape.heads / group.parts);
}

void describe(AttentionGroup& group, const std::vector<int32_t>& starts, const AttentionShape& shape,
              std::vector<std::byte>& bytes) {
  group.described_at = bytes.size();
  const size_t n = size_t(group.sequences());
  const std::array<int64_t, 4> widths = {shape.qk_width(), shape.qkv_width(), shape.q_width(), shape.heads};
  std::vector<int64_t> offsets(widths.size() * (n + 1));
  std::vector<int32_t> lengths(n + n % 2);  // the next group's offsets stay aligned
  for (size_t i = 0; i <= n; ++i) {
    const bool filled = i < group.members.size();
    const size_t s = filled ? size_t(group.members[i]) : starts.size() - 1;
    for (size_t list = 0; list < widths.size(); ++list)
      offsets[list * (n + 1) + i] = starts[s] * widths[list];
    if (filled) lengths[i] = starts[s + 1] - starts[s];
  }
  const auto append = [&](const auto& list) {
    const auto piece = std::as_bytes(std::span(list));
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  };
  append(offsets);
  append(lengths);
}

}  // namespace temper::policy::cuda
