// The families beside Qwen3 on a GPU: against the CPU's decoder in f32, and bit by bit against themselves.

#include <gtest/gtest.h>

#include <ostream>

#include "base/error.h"
#include "policy/cuda/device.h"
#include "tests/policy/on_gpu/decoder_twins.h"

namespace temper::policy {
namespace {

struct Family {
  const char* name;
  ModelConfig config;
};
std::ostream& operator<<(std::ostream& out, const Family& f) { return out << f.name; }

ModelConfig sized(const char* type, int64_t heads, int64_t kv_heads, bool tied) {
  ModelConfig c = gpu_config(tied);
  c.set_family(type);
  c.num_attention_heads = heads;
  c.num_key_value_heads = kv_heads;
  return c;
}

// Few layers of a published model, and few ids.
ModelConfig few_layers(const char* type, int64_t layers, int64_t width, int64_t feed_forward, int64_t heads,
                       int64_t kv_heads) {
  ModelConfig c = sized(type, heads, kv_heads, true);
  c.num_hidden_layers = layers;
  c.hidden_size = width;
  c.intermediate_size = feed_forward;
  c.head_dim = 64;
  return c;
}

// Groups of 7, 4, 1, 8 and 5 with heads of 128, then small published models with heads of 64.
std::vector<Family> families() {
  std::vector<Family> all = {{"qwen2", sized("qwen2", 14, 2, true)},
                             {"llama3", sized("llama", 4, 1, false)},
                             {"codellama_all_biases", sized("llama", 4, 4, false)},
                             {"mistral", sized("mistral", 8, 1, false)},
                             {"qwen3_biased", sized("qwen3", 10, 2, true)},
                             {"smollm2_135m", few_layers("llama", 2, 576, 1536, 9, 3)},
                             {"qwen2_5_0_5b", few_layers("qwen2", 2, 896, 4864, 14, 2)},
                             {"llama3_2_1b", few_layers("llama", 1, 2048, 8192, 32, 8)}};
  all[1].config.rope = {.kind = RopeKind::kLlama3, .factor = 8, .original_max_position_embeddings = 64};
  ModelConfig& llama = all[2].config;
  llama.qkv_bias = llama.o_bias = llama.mlp_bias = true;
  llama.rope = {.kind = RopeKind::kLinear, .factor = 4};
  all[3].config.sliding_window = 800;  // the longest row has 700 tokens
  all[4].config.qkv_bias = all[4].config.o_bias = true;
  all[7].config.rope = {.kind = RopeKind::kLlama3, .factor = 32, .original_max_position_embeddings = 8192};
  return all;
}

class GpuFamilies : public testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    if (cuda::gpu_count() == 0) GTEST_SKIP() << "no GPU: " << cuda::no_gpu_reason();
    cuda::use_gpu(0);
  }
};
INSTANTIATE_TEST_SUITE_P(Gpu, GpuFamilies, testing::ValuesIn(families()),
                         [](const auto& which) { return which.param.name; });

TEST_P(GpuFamilies, ScoresAsTheCpuDoes) {
  Twins twins(GetParam().config);
  const PackedTokens pack = random_pack(kLengths, 1000, 3);
  const TokenScores truth = twins.cpu.forward(pack, 0.7), found = twins.gpu.forward(pack, 0.7);
  EXPECT_LT(largest_difference(found.log_prob, truth.log_prob), 0.15);
  EXPECT_LT(largest_difference(found.entropy, truth.entropy), 0.08);
}

TEST_P(GpuFamilies, GradientsAreTheCpus) {
  Twins twins(GetParam().config);
  const PackedTokens pack = random_pack(kLengths, 1000, 4);
  twins.cpu.forward_backward(pack, loss_gradient);
  twins.gpu.forward_backward(pack, loss_gradient);
  for (const ParameterInfo& p : twins.cpu.parameters().parameters()) {
    const at::Tensor truth = twins.cpu.parameters().gradient(p.name);
    // The bias of keys moves all of a query's scores nearly alike: most of its gradient cancels.
    const double allowed = p.name.ends_with("k_proj.bias") ? 0.1 : 0.05;
    EXPECT_GT(truth.abs().max().item<float>(), 0) << p.name;
    EXPECT_LT(norm_error(twins.gpu.parameters().gradient(p.name), truth), allowed) << p.name;
  }
}

TEST_P(GpuFamilies, GradientsRepeatTheirBitsAlsoRecomputed) {
  const PackedTokens pack = random_pack(kLengths, 1000, 5);
  Twins plain(GetParam().config);
  PolicyOptions options = on_gpu();
  options.memory.recompute = "all";
  Twins recomputing(GetParam().config, options);
  plain.gpu.forward_backward(pack, loss_gradient);
  const at::Tensor once = plain.gpu.parameters().gradients().clone();
  plain.gpu.parameters().gradients().zero_();
  plain.gpu.forward_backward(pack, loss_gradient);
  recomputing.gpu.forward_backward(pack, loss_gradient);
  EXPECT_TRUE(at::equal(plain.gpu.parameters().gradients(), once));
  EXPECT_TRUE(at::equal(recomputing.gpu.parameters().gradients(), once));
}

TEST_P(GpuFamilies, SampledLogProbsHaveTheBitsOfTraining) {
  Twins twins(GetParam().config);
  for (const int64_t batch : {1, 5, 33, 70})
    expect_bits_of_training(twins.gpu, converse(twins.gpu, batch, {}), {});
  expect_bits_of_training(twins.gpu, converse(twins.gpu, 9, {.temperature = 0.6}), {.temperature = 0.6});
  PolicyOptions masked = on_gpu();
  masked.token_count = 941;
  Twins some(GetParam().config, masked);
  const Sampled sampled = converse(some.gpu, 33, {});
  for (const auto& ids : sampled.ids)
    for (const int32_t id : ids) ASSERT_LT(id, 941);
  expect_bits_of_training(some.gpu, sampled, {});
}

TEST_P(GpuFamilies, ExtendsAsTheCpuDoes) {
  Twins twins(GetParam().config);
  KvCache on_cpu(GetParam().config, {}, 1, 400), cache(GetParam().config, on_gpu(), 1, 400);
  for (const int64_t count : {130, 1, 150, 20}) {
    const auto ids = random_ids(count, 1000, uint64_t(count));
    const Extension extension{0, ids};
    const auto truth = twins.cpu.extend(on_cpu, {&extension, 1}),
               found = twins.gpu.extend(cache, {&extension, 1});
    double most = 0;
    for (size_t i = 0; i < truth.size(); ++i) most = std::max(most, double(std::abs(truth[i] - found[i])));
    EXPECT_LT(most, 0.2) << count;
  }
}

TEST_P(GpuFamilies, PromiseExactness) {
  Policy policy(GetParam().config, on_gpu());
  policy.parameters().init_random(1);
  EXPECT_TRUE(policy.check_exactness().starts_with("exact")) << policy.check_exactness();
}

ModelConfig windowed_config(int64_t window) {
  ModelConfig c = sized("mistral", 8, 2, false);
  c.sliding_window = window;
  return c;
}

class GpuWindow : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda::gpu_count() == 0) GTEST_SKIP() << "no GPU: " << cuda::no_gpu_reason();
    cuda::use_gpu(0);
  }
};

TEST_F(GpuWindow, ChangesNothingWithinAndIsRefusedBeyond) {
  Twins with(windowed_config(300)), without(windowed_config(0));
  const PackedTokens within = random_pack({300, 20}, 1000, 3), beyond = random_pack({20, 301}, 1000, 3);
  EXPECT_EQ(with.gpu.forward(within).log_prob, without.gpu.forward(within).log_prob);
  EXPECT_THROW(with.gpu.forward(beyond), ConfigError);
  EXPECT_THROW(KvCache(with.gpu.config(), on_gpu(), 1, 301), ConfigError);
  KvCache fits(with.gpu.config(), on_gpu(), 1, 300);
}

}  // namespace
}  // namespace temper::policy
