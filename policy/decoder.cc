#include "policy/decoder.h"

#include <set>

#include "base/error.h"

namespace temper::policy {

int64_t token_count_of(const ModelConfig& config, const PolicyOptions& options) {
  TEMPER_CHECK(options.token_count >= 0 && options.token_count <= config.vocab_size, "{} tokens, {} rows",
               options.token_count, config.vocab_size);
  return options.token_count > 0 ? options.token_count : config.vocab_size;
}

void check_pack(const PackedTokens& pack, int64_t token_count, const ModelConfig& config) {
  TEMPER_CHECK(pack.starts.size() >= 1 && pack.starts.front() == 0);
  TEMPER_CHECK_EQ(size_t(pack.starts.back()), pack.ids.size());
  TEMPER_CHECK_EQ(pack.scored.size(), pack.ids.size());
  if (!pack.prefixes.empty()) TEMPER_CHECK_EQ(pack.prefixes.size() + 1, pack.starts.size());
  for (size_t s = 0; s + 1 < pack.starts.size(); ++s) {
    const int32_t prefix = pack.prefix(s), before = s > 0 ? pack.length(s - 1) : 0;
    TEMPER_CHECK(prefix >= 0 && prefix <= before, "sequence {}: {} tokens of {} before it", s, prefix,
                 before);
    TEMPER_CHECK(pack.starts[s] < pack.starts[s + 1] && pack.length(s) <= config.max_position_embeddings,
                 "sequence {} has {} tokens", s, pack.length(s));
    TEMPER_CHECK(!pack.scored[size_t(pack.starts[s])], "sequence {}: its first token is scored", s);
  }
  for (int32_t id : pack.ids) TEMPER_CHECK(id >= 0 && id < token_count, "id {}", id);
}

std::vector<int32_t> positions_of(const PackedTokens& pack) {
  std::vector<int32_t> positions(pack.ids.size());
  for (size_t s = 0; s + 1 < pack.starts.size(); ++s)
    for (int32_t t = pack.starts[s]; t < pack.starts[s + 1]; ++t)
      positions[size_t(t)] = pack.prefix(s) + t - pack.starts[s];
  return positions;
}

void check_extensions(const CacheStorage& cache, int64_t token_count, const ModelConfig& config,
                      std::span<const Extension> extensions) {
  std::set<int64_t> seen;
  for (const Extension& e : extensions) {
    TEMPER_CHECK(e.slot >= 0 && e.slot < int64_t(cache.lengths.size()), "slot {}", e.slot);
    TEMPER_CHECK(seen.insert(e.slot).second, "slot {} twice", e.slot);
    const int64_t length = cache.lengths[size_t(e.slot)] + int64_t(e.ids.size());
    TEMPER_CHECK(!e.ids.empty() && length <= cache.max_tokens && length <= config.max_position_embeddings,
                 "slot {} would hold {} tokens", e.slot, length);
    for (int32_t id : e.ids) TEMPER_CHECK(id >= 0 && id < token_count, "id {}", id);
  }
}

std::vector<int32_t> scored_tokens(const PackedTokens& pack) {
  std::vector<int32_t> scored;
  for (size_t t = 0; t < pack.ids.size(); ++t)
    if (pack.scored[t]) scored.push_back(int32_t(t));
  return scored;
}

}  // namespace temper::policy
