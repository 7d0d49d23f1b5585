// What a policy directory computes, for comparison with another implementation:
//   policy_dump DIR IN OUT EXPORT [gpu]
// On the CPU in f32, or on the first GPU in bf16.
// IN: safetensors with ids [T], starts [S + 1] (I32), scored [T] (U8), temperature [1] (F64) and tokens [1]
// (I32), the ids that may be drawn.
// OUT: log_prob and entropy [T] (F64), last_logits [S, V] (F32, after each sequence's last token),
// cached_log_prob [T] (F64, of every token but the first, from a cache that grows by pieces), and grad.NAME
// of Σ log_prob over scored tokens. EXPORT: where the policy is exported to.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "policy/cuda/device.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/hugging_face/safetensors.h"
#include "policy/parameters/parameter_store.h"
#include "policy/policy.h"

namespace temper::policy {
namespace {

template <class T>
std::vector<T> values(const SafetensorsFile& file, const char* name) {
  const auto data = file.read(name);
  std::vector<T> result(data.size() / sizeof(T));
  std::memcpy(result.data(), data.data(), data.size());
  return result;
}

void sum_of_log_probs(int64_t, std::span<const double>, std::span<const double>, std::span<double> d_log_prob,
                      std::span<double>) {
  for (double& d : d_log_prob) d = 1;
}

std::vector<float> last_logits(Policy& policy, const PackedTokens& pack) {
  const int64_t sequences = int64_t(pack.starts.size()) - 1;
  KvCache cache(policy.config(), policy.options(), sequences, policy.config().max_position_embeddings);
  std::vector<Extension> extensions;
  for (int64_t s = 0; s < sequences; ++s) {
    const auto* begin = pack.ids.data();
    extensions.push_back({s, {begin + pack.starts[size_t(s)], begin + pack.starts[size_t(s) + 1]}});
  }
  const auto logits = policy.extend(cache, extensions);
  return {logits.begin(), logits.end()};
}

double log_prob_of(std::span<const float> logits, int32_t id, double temperature) {
  double sum = 0;
  const double max = *std::max_element(logits.begin(), logits.end());
  for (float x : logits) sum += std::exp((double(x) - max) / temperature);
  return (double(logits[size_t(id)]) - max) / temperature - std::log(sum);
}

// One sequence: pieces of several tokens for its first half, then token by token.
void cached_log_probs(Policy& policy, std::span<const int32_t> ids, double temperature,
                      std::span<double> log_probs) {
  KvCache cache(policy.config(), policy.options(), 1, int64_t(ids.size()));
  for (size_t done = 0; done + 1 < ids.size();) {
    const size_t piece = done < ids.size() / 2 ? std::min(size_t(23), ids.size() - 1 - done) : 1;
    const Extension extension{0, ids.subspan(done, piece)};
    const auto logits = policy.extend(cache, {&extension, 1}).first(size_t(policy.options().token_count));
    done += piece;
    log_probs[done] = log_prob_of(logits, ids[done], temperature);
  }
}

// Tokens in the middle of a piece have the score of the forward: a cache gives logits after each piece only.
std::vector<double> cached_log_probs(Policy& policy, const PackedTokens& pack, double temperature) {
  PackedTokens all = pack;
  std::fill(all.scored.begin(), all.scored.end(), 1);
  for (size_t s = 0; s + 1 < pack.starts.size(); ++s) all.scored[size_t(pack.starts[s])] = 0;
  std::vector<double> log_probs = policy.forward(all, temperature).log_prob;
  for (size_t s = 0; s + 1 < pack.starts.size(); ++s) {
    const auto begin = size_t(pack.starts[s]), length = size_t(pack.starts[s + 1]) - begin;
    cached_log_probs(policy, std::span(pack.ids).subspan(begin, length), temperature,
                     std::span(log_probs).subspan(begin, length));
  }
  return log_probs;
}

void dump(const char* dir, const char* in, const char* out, const char* exported, bool on_gpu) {
  const SafetensorsFile file(in);
  PolicyOptions options{.token_count = values<int32_t>(file, "tokens")[0]};
  if (on_gpu) {
    cuda::use_gpu(0);
    options.dtype = DType::kBF16;
    options.device = "cuda";
  }
  Policy policy = import_policy(dir, options);
  export_hugging_face(policy, Tokenizer::train({"for (int i = 0; i < n; ++i)"}, 380), exported,
                      {.dtype = stored_dtype(dir), .shard_bytes = 40'000});
  const PackedTokens pack{values<int32_t>(file, "ids"), values<int32_t>(file, "starts"),
                          values<uint8_t>(file, "scored")};
  const int64_t tokens = int64_t(pack.ids.size()), sequences = int64_t(pack.starts.size()) - 1;
  const double temperature = values<double>(file, "temperature")[0];
  const TokenScores scores = policy.forward_backward(pack, sum_of_log_probs, temperature);
  const std::vector<double> cached = cached_log_probs(policy, pack, temperature);
  const std::vector<float> logits = last_logits(policy, pack);
  const at::Tensor gradients = policy.parameters().gradients().cpu();
  std::map<std::string, StoredTensor> tensors = {
      {"log_prob", {"F64", {tokens}, std::as_bytes(std::span(scores.log_prob))}},
      {"entropy", {"F64", {tokens}, std::as_bytes(std::span(scores.entropy))}},
      {"cached_log_prob", {"F64", {tokens}, std::as_bytes(std::span(cached))}},
      {"last_logits", {"F32", {sequences, policy.config().vocab_size}, std::as_bytes(std::span(logits))}}};
  for (const auto& p : policy.parameters().parameters())
    tensors["grad." + p.name] = {
        "F32", p.shape,
        std::as_bytes(std::span(gradients.const_data_ptr<float>() + p.offset, size_t(p.size)))};
  write_safetensors(out, tensors);
}

}  // namespace
}  // namespace temper::policy

int main(int argc, char** argv) {
  const bool on_gpu = argc == 6 && std::string(argv[5]) == "gpu";
  if (argc != 5 && !on_gpu) {
    std::fprintf(stderr, "usage: policy_dump DIR IN OUT EXPORT [gpu]\n");
    return 2;
  }
  try {
    temper::policy::dump(argv[1], argv[2], argv[3], argv[4], on_gpu);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "policy_dump: %s\n", e.what());
    return 1;
  }
}
