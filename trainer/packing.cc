#include "trainer/packing.h"

namespace temper {
namespace {

void append(Pack& pack, size_t index, const PackRow& row) {
  PackedTokens& tokens = pack.tokens;
  tokens.ids.insert(tokens.ids.end(), row.ids.begin(), row.ids.end());
  tokens.scored.insert(tokens.scored.end(), row.scored.begin(), row.scored.end());
  tokens.starts.push_back(int32_t(tokens.ids.size()));
  for (size_t t = 0; t < row.scored.size(); ++t)
    if (row.scored[t]) pack.scored.push_back({index, int32_t(t)});
}

}  // namespace

std::vector<Pack> make_packs(const std::vector<PackRow>& rows, int64_t max_tokens) {
  std::vector<Pack> packs;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (packs.empty() || int64_t(packs.back().tokens.ids.size() + rows[i].ids.size()) > max_tokens)
      packs.emplace_back().tokens.starts = {0};
    append(packs.back(), i, rows[i]);
  }
  return packs;
}

std::vector<std::vector<float>> score_rows(Policy& policy, const std::vector<PackRow>& rows,
                                           int64_t max_tokens, double temperature) {
  std::vector<std::vector<float>> log_probs;
  for (const PackRow& row : rows) log_probs.emplace_back(row.ids.size());
  for (const Pack& pack : make_packs(rows, max_tokens)) {
    const TokenScores scores = policy.forward(pack.tokens, temperature);
    size_t k = 0;
    for (size_t t = 0; t < pack.tokens.ids.size(); ++t)
      if (pack.tokens.scored[t]) {
        const Place& place = pack.scored[k++];
        log_probs[place.row][place.t] = float(scores.log_prob[t]);
      }
  }
  return log_probs;
}

std::vector<uint8_t> response_mask(const Trajectory& trajectory) {
  std::vector<uint8_t> mask;
  for (Role role : trajectory.roles) mask.push_back(is_response(role));
  return mask;
}

}  // namespace temper
