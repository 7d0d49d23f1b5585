#include "trainer/learn/packing.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <ranges>
#include <utility>

#include "policy/ranks/activity.h"
#include "policy/ranks/communicator.h"

namespace temper::trainer {

using policy::Policy;

namespace {

// Copies of a whole row's keys cost more than computing a few tokens again.
constexpr int64_t kLeastShare = 16;  // a row shares one token in so many, or none

// How many of a row's first tokens are those of `before` and need not be computed again.
int64_t shared_tokens(const PackRow& before, const PackRow& row) {
  const auto scored = std::ranges::find_if(row.scored, [](uint8_t s) { return s != 0; });
  const int64_t most = std::min(scored - row.scored.begin(), std::ssize(row.ids)) - 1;
  if (most <= 0) return 0;
  const auto [end, other] = std::ranges::mismatch(row.ids.first(size_t(most)), before.ids);
  const int64_t same = end - row.ids.first(size_t(most)).begin();
  return same * kLeastShare >= std::ssize(row.ids) ? same : 0;
}

// Rows in an order, and what each has in common with the one before it.
struct RowsInOrder {
  std::vector<size_t> rows;
  std::vector<int64_t> shared;

  RowsInOrder(const std::vector<PackRow>& all, std::vector<size_t> chosen, const Packing& packing)
      : rows(std::move(chosen)), shared(rows.size(), 0) {
    for (size_t i = 1; packing.share_prompts && i < rows.size(); ++i)
      shared[i] = shared_tokens(all[rows[i - 1]], all[rows[i]]);
  }
};

// Appends the row without its first `shared` tokens, which the row before it has.
void append(Pack& pack, size_t index, const PackRow& row, int64_t shared) {
  policy::PackedTokens& tokens = pack.tokens;
  tokens.ids.insert(tokens.ids.end(), row.ids.begin() + shared, row.ids.end());
  tokens.scored.insert(tokens.scored.end(), row.scored.begin() + shared, row.scored.end());
  tokens.starts.push_back(int32_t(tokens.ids.size()));
  tokens.prefixes.push_back(int32_t(shared));
  for (size_t t = 0; t < row.scored.size(); ++t)
    if (row.scored[t]) pack.scored.push_back({index, int32_t(t)});
}

// Each rank knows its own rows; afterwards all know all.
void exchange_rows(policy::Communicator& ranks, const std::vector<std::vector<size_t>>& dealt,
                   std::vector<std::vector<float>>& rows) {
  if (ranks.size() == 1) return;
  std::string mine;
  for (const size_t row : dealt[size_t(ranks.rank())])
    mine.append(reinterpret_cast<const char*>(rows[row].data()), rows[row].size() * sizeof(float));
  const auto all = ranks.all_gather(mine, "log-probs");
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const char* next = all[rank].data();
    for (const size_t row : dealt[rank]) {
      std::memcpy(rows[row].data(), next, rows[row].size() * sizeof(float));
      next += rows[row].size() * sizeof(float);
    }
  }
}

// Forward and backward of the row behind its first `shared` tokens.
double cost_of(const Policy& policy, const PackRow& row, int64_t shared) {
  const auto tokens = int64_t(row.ids.size());
  return double(tokens - shared) * policy.train_flops_per_token((tokens + shared) / 2);
}

double cost_of(const Policy& policy, const std::vector<PackRow>& rows, const RowsInOrder& order) {
  double sum = 0;
  for (size_t i = 0; i < order.rows.size(); ++i) sum += cost_of(policy, rows[order.rows[i]], order.shared[i]);
  return sum;
}

// Runs of rows that share something with the row before them, each in `parts` nearly equal parts.
std::vector<std::vector<size_t>> units_of(const RowsInOrder& order, size_t parts) {
  std::vector<std::vector<size_t>> units;
  for (size_t begin = 0, end = 0; begin < order.rows.size(); begin = end) {
    for (++end; end < order.rows.size() && order.shared[end] > 0;) ++end;
    const size_t count = end - begin, pieces = std::min(parts, count);
    for (size_t i = 0; i < pieces; ++i)
      units.emplace_back(order.rows.begin() + int64_t(begin + count * i / pieces),
                         order.rows.begin() + int64_t(begin + count * (i + 1) / pieces));
  }
  return units;
}

std::vector<size_t> indices(size_t count) {
  std::vector<size_t> all(count);
  std::iota(all.begin(), all.end(), size_t(0));
  return all;
}

// f(i, shared) for the rows in order, with at most `most` tokens computed in a pack. `shared` is negative where row i begins a
// pack, which has nothing to share.
template <class F>
void fill_packs(const std::vector<PackRow>& rows, const RowsInOrder& order, int64_t most,
                const Packing& packing, const F& f) {
  const int64_t most_keys =
      packing.share_prompts ? kMostKeyCopies * packing.max_tokens : std::numeric_limits<int64_t>::max();
  int64_t tokens = 0, keys = 0;
  for (size_t i = 0; i < order.rows.size(); ++i) {
    const auto length = std::ssize(rows[order.rows[i]].ids);
    const int64_t shared = order.shared[i];
    const bool begins = i == 0 || tokens + length - shared > most || keys + length > most_keys;
    if (begins) tokens = keys = 0;
    tokens += begins ? length : length - shared;
    keys += length;
    f(order.rows[i], begins ? -1 : shared);
  }
}

int64_t count_packs(const std::vector<PackRow>& rows, const RowsInOrder& order, int64_t most,
                    const Packing& packing) {
  int64_t count = 0;
  fill_packs(rows, order, most, packing, [&](size_t, int64_t shared) { count += shared < 0; });
  return count;
}

// The smallest pack size that needs no more packs. It makes the packs equally full, because a small last pack would
// have a shape that was not seen before, and a new shape costs more than the pack's few tokens.
int64_t even_tokens(const std::vector<PackRow>& rows, const RowsInOrder& order, const Packing& packing) {
  const auto limits = std::views::iota(int64_t(1), packing.max_tokens);
  const int64_t count = count_packs(rows, order, packing.max_tokens, packing);
  const auto enough = [&](int64_t tokens) { return count_packs(rows, order, tokens, packing) <= count; };
  return int64_t(1) +
         std::ranges::distance(limits.begin(), std::ranges::partition_point(limits, std::not_fn(enough)));
}

// Packs the rows with the chosen indices.
std::vector<Pack> make_packs(const std::vector<PackRow>& rows, const std::vector<size_t>& chosen,
                             const Packing& packing) {
  const RowsInOrder order(rows, chosen, packing);
  std::vector<Pack> packs;
  fill_packs(rows, order, even_tokens(rows, order, packing), packing, [&](size_t i, int64_t shared) {
    if (shared < 0) packs.emplace_back().tokens.starts = {0};
    append(packs.back(), i, rows[i], std::max<int64_t>(shared, 0));
  });
  return packs;
}

}  // namespace

std::vector<std::vector<size_t>> deal_rows(const std::vector<double>& costs, int ranks) {
  std::vector<size_t> order = indices(costs.size());
  if (ranks == 1) return {order};
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return costs[a] > costs[b]; });
  std::vector<std::vector<size_t>> dealt(size_t(ranks), std::vector<size_t>{});
  std::vector<double> sums(size_t(ranks), 0.0);
  for (const size_t row : order) {
    const auto least = size_t(std::ranges::min_element(sums) - sums.begin());
    dealt[least].push_back(row);
    sums[least] += costs[row];
  }
  for (auto& rows : dealt) std::ranges::sort(rows);
  return dealt;
}

std::vector<std::vector<size_t>> deal_rows(const Policy& policy, const std::vector<PackRow>& rows,
                                           const Packing& packing, int ranks) {
  if (ranks == 1) return {indices(rows.size())};
  const auto in_order = [&](std::vector<size_t> chosen) {
    return RowsInOrder(rows, std::move(chosen), packing);
  };
  const auto cost = [&](const std::vector<size_t>& chosen) {
    return cost_of(policy, rows, in_order(chosen));
  };
  const RowsInOrder all = in_order(indices(rows.size()));
  std::vector<std::vector<size_t>> best;
  double least = 0;
  for (size_t parts = 1, units_before = 0;; parts *= 2) {
    const auto units = units_of(all, parts);
    if (!best.empty() && units.size() == units_before) return best;
    units_before = units.size();
    std::vector<double> costs;
    for (const auto& unit : units) costs.push_back(cost(unit));
    std::vector<std::vector<size_t>> dealt;
    double dearest = 0;
    for (const auto& chosen : deal_rows(costs, ranks)) {
      auto& mine = dealt.emplace_back();
      for (const size_t unit : chosen) mine.insert(mine.end(), units[unit].begin(), units[unit].end());
      dearest = std::max(dearest, cost(mine));
    }
    if (best.empty() || dearest < least) least = dearest, best = std::move(dealt);
  }
}

std::vector<Pack> make_packs(const std::vector<PackRow>& rows, const Packing& packing) {
  return make_packs(rows, indices(rows.size()), packing);
}

std::vector<Pack> make_shared_packs(const Policy& policy, const std::vector<PackRow>& rows,
                                    const Packing& packing) {
  const auto dealt = deal_rows(policy, rows, packing, policy.ranks().size());
  std::vector<Pack> mine;
  size_t most = 0;
  for (size_t rank = 0; rank < dealt.size(); ++rank) {
    auto packs = make_packs(rows, dealt[rank], packing);
    most = std::max(most, packs.size());
    if (int(rank) == policy.ranks().rank()) mine = std::move(packs);
  }
  while (mine.size() < most) mine.emplace_back().tokens.starts = {0};
  return mine;
}

std::vector<std::vector<float>> score_rows(Policy& policy, const std::vector<PackRow>& rows,
                                           const Packing& packing, const policy::SamplingParams& params) {
  std::vector<std::vector<float>> log_probs;
  for (const PackRow& row : rows) log_probs.emplace_back(row.ids.size());
  const auto dealt = deal_rows(policy, rows, packing, policy.ranks().size());
  for (const Pack& pack : make_shared_packs(policy, rows, packing)) {
    const policy::TokenScores scores = policy.forward(pack.tokens, params);
    policy::made_progress();
    size_t k = 0;
    for (size_t t = 0; t < pack.tokens.ids.size(); ++t)
      if (pack.tokens.scored[t]) {
        const ScoredPlace& place = pack.scored[k++];
        log_probs[place.row][place.t] = float(scores.log_prob[t]);
      }
  }
  exchange_rows(policy.ranks(), dealt, log_probs);
  return log_probs;
}

std::vector<uint8_t> response_mask(const rollout::Segment& row) {
  std::vector<uint8_t> mask(row.ids.size());
  for (size_t t = size_t(row.prefix); t < mask.size(); ++t) mask[t] = rollout::is_response(row.roles[t]);
  return mask;
}

}  // namespace temper::trainer
