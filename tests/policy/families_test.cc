// What the families have beyond Qwen3: biases, no norms of queries and keys, scaled rope, a window. And rows
// without a token.

#include <gtest/gtest.h>

#include <map>
#include <ostream>

#include "tests/policy/small_model.h"

namespace temper::policy {
namespace {

struct Family {
  const char* name;
  ModelConfig config;
};
std::ostream& operator<<(std::ostream& out, const Family& f) { return out << f.name; }

ModelConfig tiny(const char* type) {
  ModelConfig c = small_config(std::string(type) == "qwen2");
  c.vocab_size = 11;
  c.hidden_size = 6;
  c.intermediate_size = 7;
  c.head_dim = 4;
  c.set_family(type);
  return c;
}

std::vector<Family> families() {
  std::vector<Family> all = {{"qwen2", tiny("qwen2")},
                             {"llama_all_biases", tiny("llama")},
                             {"mistral", tiny("mistral")},
                             {"qwen3_biased", tiny("qwen3")},
                             {"qwen2_windows", tiny("qwen2")}};
  ModelConfig& llama = all[1].config;
  llama.qkv_bias = llama.o_bias = llama.mlp_bias = true;
  llama.rope = {.kind = RopeKind::kLlama3, .factor = 4, .original_max_position_embeddings = 16};
  all[2].config.sliding_window = 3;
  all[2].config.num_key_value_heads = 1;
  all[3].config.qkv_bias = all[3].config.o_bias = true;
  all[3].config.rope = {.kind = RopeKind::kLinear, .factor = 2};
  all[4].config.sliding_window = 4;
  all[4].config.windowed = {0, 1};
  return all;
}

class Families : public testing::TestWithParam<Family> {};
INSTANTIATE_TEST_SUITE_P(Policy, Families, testing::ValuesIn(families()),
                         [](const auto& which) { return which.param.name; });

// Central differences of five points in f64.
double slope(Policy& policy, const PackedTokens& pack, double* weight) {
  const double kept = *weight, h = 1e-3;
  const auto loss_at = [&](double value) {
    *weight = value;
    return loss_of(policy.forward(pack, 0.7), pack);
  };
  const double result =
      (8 * (loss_at(kept + h) - loss_at(kept - h)) - (loss_at(kept + 2 * h) - loss_at(kept - 2 * h))) /
      (12 * h);
  *weight = kept;
  return result;
}

TEST_P(Families, GradientsEqualFiniteDifferences) {
  const ModelConfig& config = GetParam().config;
  Policy policy = random_policy(config, {.dtype = DType::kF64, .token_count = 9}, 1, 0.5);
  const PackedTokens pack = random_pack({5, 1, 9, 3}, 9, 2);
  policy.forward_backward(pack, loss_gradient, 0.7);
  double* weights = policy.parameters().weights().data_ptr<double>();
  const double* gradients = policy.parameters().gradients().data_ptr<double>();
  for (const auto& p : policy.parameters().parameters()) {
    double largest = 0;
    for (int64_t i = 0; i < p.size; ++i) largest = std::max(largest, std::abs(gradients[p.offset + i]));
    EXPECT_GT(largest, 1e-3) << p.name;
    for (int64_t i = 0; i < p.size; ++i) {
      const double expected = slope(policy, pack, weights + p.offset + i);
      const double scale = std::max(std::abs(expected), 1e-2 * largest);
      ASSERT_NEAR(gradients[p.offset + i], expected, 1e-6 * scale + 1e-11) << p.name << " [" << i << "]";
    }
  }
}

// Longer than attention's blocks of queries and the cache's tiles of keys.
TEST_P(Families, CacheEqualsForward) {
  ModelConfig config = GetParam().config;
  if (config.sliding_window > 0) config.sliding_window = 53;
  Policy policy = random_policy(config, {.dtype = DType::kF64}, 5);
  PackedTokens pack = random_pack({170, 60}, config.vocab_size, 6);
  for (int64_t t = 0; t < 230; ++t) pack.scored[size_t(t)] = t != 0 && t != 170;
  const TokenScores scores = policy.forward(pack);
  KvCache cache(config, policy.options(), 1, 170);
  for (const int64_t piece : {64, 33, 1, 1, 40, 1, 29}) {
    const int64_t begin = cache.length(0), end = begin + piece;
    const Extension extension{0, {pack.ids.data() + begin, size_t(piece)}};
    const auto logits = policy.extend(cache, {&extension, 1});
    double sum = 0;
    for (float x : logits) sum += std::exp(double(x));
    EXPECT_NEAR(double(logits[size_t(pack.ids[size_t(end)])]) - std::log(sum), scores.log_prob[size_t(end)],
                2e-6);
  }
}

TEST_P(Families, NamesAndCountOfParametersAgree) {
  const ModelConfig& c = GetParam().config;
  int64_t size = 0, biases = 0;
  for (const auto& p : parameters_of(c)) {
    size += p.size;
    biases += p.name.ends_with(".bias");
    EXPECT_EQ(p.decays, p.shape.size() == 2);
  }
  EXPECT_EQ(size, c.parameter_count());
  EXPECT_EQ(biases, c.num_hidden_layers * (3 * c.qkv_bias + c.o_bias + 3 * c.mlp_bias));
}

// One product covers them, and one row of biases.
TEST_P(Families, BiasesLieSideBySide) {
  const ModelConfig& c = GetParam().config;
  std::map<std::string, ParameterInfo> at;
  for (const auto& p : parameters_of(c)) at[p.name] = p;
  const auto follows = [&](const std::string& first, const std::string& second) {
    const ParameterInfo& p = at.at("model.layers.1." + first);
    EXPECT_EQ(p.offset + p.size, at.at("model.layers.1." + second).offset) << first;
  };
  if (c.qkv_bias) follows("self_attn.q_proj.bias", "self_attn.k_proj.bias");
  if (c.qkv_bias) follows("self_attn.k_proj.bias", "self_attn.v_proj.bias");
  if (c.mlp_bias) follows("mlp.gate_proj.bias", "mlp.up_proj.bias");
  follows("self_attn.q_proj.weight", "self_attn.k_proj.weight");
  follows("self_attn.k_proj.weight", "self_attn.v_proj.weight");
  follows("mlp.gate_proj.weight", "mlp.up_proj.weight");
}

TEST(Families, BiasesStartAtZero) {
  Policy policy(families()[1].config, {});
  policy.parameters().init_random(3);
  for (const auto& p : policy.parameters().parameters()) {
    const at::Tensor start = policy.parameters().weight(p.name);
    if (p.decays) continue;
    EXPECT_TRUE(at::equal(start, at::full_like(start, p.name.ends_with(".bias") ? 0 : 1))) << p.name;
  }
}

TEST(Families, WindowReachesOnlySoFar) {
  ModelConfig config = small_config();
  config.num_hidden_layers = 1;
  config.sliding_window = 5;
  Policy policy = random_policy(config, {.dtype = DType::kF64}, 1);
  PackedTokens pack = random_pack({80}, 37, 2);
  std::fill(pack.scored.begin() + 1, pack.scored.end(), 1);
  const TokenScores before = policy.forward(pack);
  pack.ids[60] = (pack.ids[60] + 1) % 37;
  const TokenScores after = policy.forward(pack);
  // Token 60 itself is scored at 60; the rows 60 to 64, which see it, score 61 to 65.
  for (size_t t = 1; t < 80; ++t) EXPECT_EQ(before.log_prob[t] != after.log_prob[t], t >= 60 && t <= 65) << t;
}

// Rows without a token, with weights that would win every draw.
class Masked : public testing::Test {
 protected:
  static constexpr int64_t kTokens = 30;
  static Policy make(bool tied, DType dtype = DType::kF32) {
    Policy policy = random_policy(small_config(tied), {.dtype = dtype, .token_count = kTokens}, 4);
    at::Tensor head = policy.parameters().weight(tied ? "model.embed_tokens.weight" : "lm_head.weight");
    head.narrow(0, kTokens, 7).mul_(1000);
    return policy;
  }
};

TEST_F(Masked, RowsAreNeverDrawn) {
  Policy policy = make(false);
  const auto prompt = random_ids(9, kTokens, 1);
  for (const SamplingParams& params : {SamplingParams{.temperature = 0},
                                       {},
                                       {.temperature = 1.5, .top_k = 3},
                                       {.temperature = 0.9, .top_p = 0.7}}) {
    KvCache cache(policy.config(), policy.options(), 1, 16);
    const Extension extension{0, prompt};
    std::vector<Draw> draws;
    for (int i = 0; i < 500; ++i) draws.push_back({0, params, i / 500.0});
    for (const SampledToken& token : policy.sample(cache, {&extension, 1}, draws)) {
      EXPECT_LT(token.id, kTokens);
      EXPECT_TRUE(std::isfinite(token.log_prob));
    }
  }
}

TEST_F(Masked, ProbabilitiesOfTokensSumToOne) {
  Policy policy = make(true);
  double sum = 0, entropy = 0;
  for (int32_t id = 0; id < kTokens; ++id) {
    const TokenScores scores = policy.forward({{3, 5, id}, {0, 3}, {0, 0, 1}}, 0.8);
    sum += std::exp(scores.log_prob[2]);
    entropy -= std::exp(scores.log_prob[2]) * scores.log_prob[2];
    EXPECT_LT(scores.entropy[2], std::log(double(kTokens)));
    if (id + 1 < kTokens) continue;
    EXPECT_NEAR(scores.entropy[2], entropy, 1e-5);
  }
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST_F(Masked, SampledLogProbsAreTrainings) {
  Policy policy = make(false);
  auto ids = random_ids(6, kTokens, 1);
  KvCache cache(policy.config(), policy.options(), 1, 64);
  std::vector<float> sampled;
  std::vector<int32_t> next = ids;
  for (int i = 0; i < 40; ++i) {
    const Extension extension{0, next};
    const Draw draw{0, {.temperature = 0.8}, double((i * 37) % 40) / 40};
    const SampledToken token = policy.sample(cache, {&extension, 1}, {&draw, 1})[0];
    sampled.push_back(token.log_prob);
    next = {token.id};
    ids.push_back(token.id);
  }
  PackedTokens pack{ids, {0, 46}, std::vector<uint8_t>(46, 0)};
  std::fill(pack.scored.begin() + 6, pack.scored.end(), 1);
  const TokenScores scores = policy.forward(pack, 0.8);
  for (size_t i = 0; i < 40; ++i) EXPECT_NEAR(scores.log_prob[6 + i], double(sampled[i]), 1e-5);
}

TEST_F(Masked, RowsGetNoGradient) {
  Policy policy = make(false, DType::kF64);
  const PackedTokens pack = random_pack({20, 9}, kTokens, 3);
  policy.forward_backward(pack, loss_gradient);
  const at::Tensor head = policy.parameters().gradient("lm_head.weight");
  EXPECT_TRUE(at::all(head.narrow(0, kTokens, 7) == 0).item<bool>());
  EXPECT_FALSE(at::any(head.narrow(0, 0, kTokens).abs().sum(1) == 0).item<bool>());
}

// The other rows compute what they compute without the masked ones.
TEST_F(Masked, EqualsAPolicyWithoutTheRows) {
  Policy masked = make(true);
  ModelConfig config = small_config();
  config.vocab_size = kTokens;
  Policy small(config, {});
  for (const auto& p : small.parameters().parameters()) {
    const at::Tensor from = masked.parameters().weight(p.name);
    small.parameters().weight(p.name).copy_(from.narrow(0, 0, p.shape[0]));
  }
  const PackedTokens pack = random_pack({50, 20}, kTokens, 3);
  const TokenScores a = masked.forward(pack, 0.8), b = small.forward(pack, 0.8);
  EXPECT_EQ(a.log_prob, b.log_prob);
  EXPECT_EQ(a.entropy, b.entropy);
}

}  // namespace
}  // namespace temper::policy
