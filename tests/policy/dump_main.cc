// What a policy directory computes, for comparison with another implementation:
//   policy_dump DIR IN OUT
// IN: safetensors with ids [T], starts [S + 1] (I32), scored [T] (U8) and temperature [1] (F64).
// OUT: log_prob and entropy [T] (F64), last_logits [S, V] (F32, after each sequence's last token), and
// grad.NAME of Σ log_prob over scored tokens.

#include <cstring>

#include "policy/hugging_face.h"
#include "policy/parameter_store.h"
#include "policy/policy.h"
#include "policy/safetensors.h"

namespace temper {
namespace {

template <class T>
std::vector<T> values(const SafetensorsFile& file, const char* name) {
  const auto data = file.tensors().at(name).data;
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

void dump(const char* dir, const char* in, const char* out) {
  Policy policy = import_policy(dir, {});
  const SafetensorsFile file(in);
  const PackedTokens pack{values<int32_t>(file, "ids"), values<int32_t>(file, "starts"),
                          values<uint8_t>(file, "scored")};
  const int64_t tokens = int64_t(pack.ids.size()), sequences = int64_t(pack.starts.size()) - 1;
  const TokenScores scores =
      policy.forward_backward(pack, sum_of_log_probs, values<double>(file, "temperature")[0]);
  const std::vector<float> logits = last_logits(policy, pack);
  const at::Tensor gradients = policy.parameters().gradients();
  std::map<std::string, StoredTensor> tensors = {
      {"log_prob", {"F64", {tokens}, std::as_bytes(std::span(scores.log_prob))}},
      {"entropy", {"F64", {tokens}, std::as_bytes(std::span(scores.entropy))}},
      {"last_logits", {"F32", {sequences, policy.config().vocab_size}, std::as_bytes(std::span(logits))}}};
  for (const auto& p : policy.parameters().parameters())
    tensors["grad." + p.name] = {
        "F32", p.shape,
        std::as_bytes(std::span(gradients.const_data_ptr<float>() + p.offset, size_t(p.size)))};
  write_safetensors(out, tensors);
}

}  // namespace
}  // namespace temper

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: policy_dump DIR IN OUT\n");
    return 2;
  }
  try {
    temper::dump(argv[1], argv[2], argv[3]);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "policy_dump: %s\n", e.what());
    return 1;
  }
}
