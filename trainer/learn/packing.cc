#include "trainer/learn/packing.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <ranges>

#include "policy/ranks/activity.h"
#include "policy/ranks/communicator.h"

namespace temper::trainer {

using policy::Policy;

namespace {

void append(Pack& pack, size_t index, const PackRow& row) {
  policy::PackedTokens& tokens = pack.tokens;
  tokens.ids.insert(tokens.ids.end(), row.ids.begin(), row.ids.end());
  tokens.scored.insert(tokens.scored.end(), row.scored.begin(), row.scored.end());
  tokens.starts.push_back(int32_t(tokens.ids.size()));
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

// Forward and backward of the row alone.
double cost_of(const Policy& policy, const PackRow& row) {
  const auto tokens = int64_t(row.ids.size());
  return double(tokens) * policy.train_flops_per_token(tokens / 2);
}

std::vector<std::vector<size_t>> deal_rows(const Policy& policy, const std::vector<PackRow>& rows) {
  std::vector<double> costs;
  for (const PackRow& row : rows) costs.push_back(cost_of(policy, row));
  return temper::trainer::deal_rows(costs, policy.ranks().size());
}

int64_t count_packs(const std::vector<PackRow>& rows, const std::vector<size_t>& chosen, int64_t max_tokens) {
  int64_t count = 0, room = 0;
  for (const size_t i : chosen) {
    const auto tokens = int64_t(rows[i].ids.size());
    if (count == 0 || tokens > room) room = max_tokens, ++count;
    room -= tokens;
  }
  return count;
}

// The smallest pack size that needs no more packs. It makes the packs equally full, because a small last pack would
// have a shape that was not seen before, and a new shape costs more than the pack's few tokens.
int64_t even_tokens(const std::vector<PackRow>& rows, const std::vector<size_t>& chosen, int64_t max_tokens) {
  const auto limits = std::views::iota(int64_t(1), max_tokens);
  const int64_t count = count_packs(rows, chosen, max_tokens);
  const auto enough = [&](int64_t tokens) { return count_packs(rows, chosen, tokens) <= count; };
  return int64_t(1) +
         std::ranges::distance(limits.begin(), std::ranges::partition_point(limits, std::not_fn(enough)));
}

// Packs the rows with the chosen indices.
std::vector<Pack> make_packs(const std::vector<PackRow>& rows, const std::vector<size_t>& chosen,
                             int64_t max_tokens) {
  const int64_t most = even_tokens(rows, chosen, max_tokens);
  std::vector<Pack> packs;
  for (const size_t i : chosen) {
    if (packs.empty() || int64_t(packs.back().tokens.ids.size() + rows[i].ids.size()) > most)
      packs.emplace_back().tokens.starts = {0};
    append(packs.back(), i, rows[i]);
  }
  return packs;
}

}  // namespace

std::vector<std::vector<size_t>> deal_rows(const std::vector<double>& costs, int ranks) {
  std::vector<size_t> order(costs.size());
  std::iota(order.begin(), order.end(), size_t(0));
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

std::vector<Pack> make_packs(const std::vector<PackRow>& rows, int64_t max_tokens) {
  return make_packs(rows, deal_rows(std::vector<double>(rows.size()), 1).front(), max_tokens);
}

std::vector<Pack> make_shared_packs(const Policy& policy, const std::vector<PackRow>& rows,
                                    int64_t max_tokens) {
  const auto dealt = deal_rows(policy, rows);
  std::vector<Pack> mine;
  size_t most = 0;
  for (size_t rank = 0; rank < dealt.size(); ++rank) {
    auto packs = make_packs(rows, dealt[rank], max_tokens);
    most = std::max(most, packs.size());
    if (int(rank) == policy.ranks().rank()) mine = std::move(packs);
  }
  while (mine.size() < most) mine.emplace_back().tokens.starts = {0};
  return mine;
}

std::vector<std::vector<float>> score_rows(Policy& policy, const std::vector<PackRow>& rows,
                                           int64_t max_tokens, const policy::SamplingParams& params) {
  std::vector<std::vector<float>> log_probs;
  for (const PackRow& row : rows) log_probs.emplace_back(row.ids.size());
  const auto dealt = deal_rows(policy, rows);
  for (const Pack& pack : make_shared_packs(policy, rows, max_tokens)) {
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
