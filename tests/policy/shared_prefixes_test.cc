// Tokens that several sequences have in common, computed once.

#include "tests/policy/shared_prefixes.h"

#include <gtest/gtest.h>

#include "policy/layouts.h"
#include "policy/ops/shared_keys.h"

namespace temper::policy {
namespace {

double relative_norm(const at::Tensor& value, const at::Tensor& truth) {
  return ((value - truth).norm() / truth.norm()).item<double>();
}

std::vector<ModelConfig> configs() {
  std::vector<ModelConfig> all = {small_config(), small_config(false), tool_config(), small_config()};
  all.back().sliding_window = 45;  // some of a prompt, some of an answer
  all.back().windowed = {1, 0};
  return all;
}

TEST(SharedKeys, AreThoseOfTheWholeSequences) {
  const SharedKeys keys = shared_keys({0, 3, 4, 6}, {0, 2, 3});
  EXPECT_EQ(keys.starts, (std::vector<int32_t>{0, 3, 6, 11}));
  EXPECT_EQ(keys.rows, (std::vector<int32_t>{0, 1, 2, 0, 1, 3, 0, 1, 3, 4, 5}));
  EXPECT_EQ(keys.copies, (std::vector<int32_t>{0, 3, 6, 1, 4, 7, 2, 5, 8, 9, 10}));
  EXPECT_EQ(keys.begins, (std::vector<int32_t>{0, 3, 6, 7, 9, 10, 11}));
  EXPECT_FALSE(shared_keys({0, 3, 4}, {0, 0}).any());
  EXPECT_FALSE(shared_keys({0, 3, 4}, {}).any());
}

TEST(SharedPrefixes, HaveTheBitsOfWholeSequences) {
  for (const ModelConfig& config : configs()) {
    const RowsWithPrefixes rows = prompts_and_turns(config.vocab_size);
    const PackedTokens whole = rows.pack(false), shared = rows.pack(true);
    ASSERT_LT(shared.ids.size() * 5, whole.ids.size() * 3);
    Policy policy = random_policy(config, {}, 1);
    const TokenScores a = policy.forward(whole, 0.8), b = policy.forward(shared, 0.8);
    EXPECT_EQ(of_scored(whole, a.log_prob), of_scored(shared, b.log_prob));
    EXPECT_EQ(of_scored(whole, a.entropy), of_scored(shared, b.entropy));
  }
}

TEST(SharedPrefixes, HaveTheGradientOfWholeSequences) {
  for (const ModelConfig& config : configs())
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      const RowsWithPrefixes rows = prompts_and_turns(config.vocab_size);
      Policy one = random_policy(config, {.dtype = dtype}, 1),
             other = random_policy(config, {.dtype = dtype}, 1);
      one.forward_backward(rows.pack(false), loss_gradient, 0.9);
      other.forward_backward(rows.pack(true), loss_gradient, 0.9);
      const at::Tensor want = one.parameters().gradients(), got = other.parameters().gradients();
      EXPECT_LT(relative_norm(got, want), dtype == DType::kF64 ? 1e-13 : 1e-5);
      for (const ParameterInfo& p : one.parameters().parameters())
        EXPECT_LT(relative_norm(got.narrow(0, p.offset, p.size), want.narrow(0, p.offset, p.size)),
                  dtype == DType::kF64 ? 1e-12 : 1e-4)
            << p.name;
    }
}

TEST(SharedPrefixes, RecomputingChangesNoBit) {
  const PackedTokens pack = prompts_and_turns(37).pack(true);
  Policy plain = random_policy(small_config(), {}, 3);
  const TokenScores a = plain.forward_backward(pack, loss_gradient, 0.9);
  EXPECT_EQ(plain.forward(pack, 0.9).log_prob, a.log_prob);
  for (const char* part : {"feed_forward", "all"}) {
    Policy recomputing = random_policy(small_config(), {.memory = {.recompute = part}}, 3);
    EXPECT_EQ(recomputing.forward_backward(pack, loss_gradient, 0.9).log_prob, a.log_prob);
    EXPECT_TRUE(at::equal(plain.parameters().gradients(), recomputing.parameters().gradients())) << part;
  }
}

TEST(SharedPrefixes, TakeTheMemoryThatIsPlanned) {
  const RowsWithPrefixes rows = prompts_and_turns(37);
  const PackedTokens pack = rows.pack(true);
  const auto tokens = std::ssize(pack.ids);
  const int64_t scored = std::count(pack.scored.begin(), pack.scored.end(), 1);
  Policy policy = random_policy(small_config(), {}, 3);
  policy.forward_backward(pack, loss_gradient);
  EXPECT_EQ(policy.workspace_bytes(), policy.activation_bytes(tokens, scored, rows.tokens()));
  EXPECT_GT(policy.workspace_bytes(), policy.activation_bytes(tokens, scored));
  EXPECT_LT(policy.workspace_bytes(), policy.activation_bytes(rows.tokens(), scored));
}

}  // namespace
}  // namespace temper::policy
