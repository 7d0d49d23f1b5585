// Which shapes a GPU takes, and what the GPU's memory plan says of them. Needs no GPU.

#include "policy/cuda/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace temper::policy::cuda {
namespace {

using testing::HasSubstr;

ModelConfig shape(int64_t width, int64_t feed_forward, int64_t heads, int64_t kv_heads, int64_t head_dim) {
  ModelConfig c;
  c.set_family("llama");
  c.vocab_size = 49152;
  c.hidden_size = width;
  c.intermediate_size = feed_forward;
  c.num_hidden_layers = 3;
  c.num_attention_heads = heads;
  c.num_key_value_heads = kv_heads;
  c.head_dim = head_dim;
  c.max_position_embeddings = 2048;
  return c;
}

ModelConfig windowed(int64_t window) {
  ModelConfig c = shape(256, 320, 8, 2, 128);
  c.sliding_window = window;
  return c;
}

TEST(UnknownToGpu, TakesPublishedShapes) {
  const ModelConfig known[] = {
      shape(576, 1536, 9, 3, 64),      // SmolLM2-135M
      shape(960, 2560, 15, 5, 64),     // SmolLM2-360M
      shape(896, 4864, 14, 2, 64),     // Qwen2.5-0.5B
      shape(2048, 8192, 32, 8, 64),    // Llama-3.2-1B
      shape(2048, 8192, 32, 32, 64),   // SmolLM2-1.7B
      shape(1024, 3072, 16, 8, 128),   // Qwen3-0.6B
      shape(3584, 18944, 28, 4, 128),  // Qwen2.5-7B
      shape(4096, 14336, 32, 8, 128),  // Llama-3.1-8B
      shape(5120, 17408, 40, 8, 128),  // Qwen3-14B
  };
  for (const ModelConfig& c : known)
    EXPECT_EQ(unknown_to_gpu(c), "") << c.hidden_size << ", heads of " << c.head_dim;
}

// The text names the field, its value and what it may be.
TEST(UnknownToGpu, NamesTheFieldOfAnotherShape) {
  for (const int64_t head_dim : {32, 80, 96, 256}) {
    const std::string problem = unknown_to_gpu(shape(640, 1536, 8, 4, head_dim));
    EXPECT_THAT(problem, HasSubstr("head_dim is " + std::to_string(head_dim) + ", must be 64 or 128"));
  }
  EXPECT_THAT(unknown_to_gpu(shape(608, 1536, 9, 3, 64)),
              HasSubstr("hidden_size is 608, must be a multiple of 64, at most 8192"));
  EXPECT_THAT(unknown_to_gpu(shape(8256, 1536, 9, 3, 64)), HasSubstr("hidden_size is 8256"));
  EXPECT_THAT(unknown_to_gpu(shape(576, 1500, 9, 3, 64)), HasSubstr("intermediate_size is 1500"));
  EXPECT_THAT(unknown_to_gpu(shape(576, 1536, 9, 1, 64)),
              HasSubstr("num_attention_heads is 9, must be at most 8 times num_key_value_heads"));
  ModelConfig odd = shape(576, 1536, 9, 3, 64);
  odd.vocab_size = 49153;
  EXPECT_THAT(unknown_to_gpu(odd), HasSubstr("vocab_size is 49153, must be a multiple of 8"));
}

TEST(UnknownToGpu, KnowsWindowsThatNoRowLeaves) {
  ModelConfig c = windowed(300);
  EXPECT_EQ(unknown_to_gpu(c, 300), "");
  EXPECT_EQ(unknown_to_gpu(c, 301), "sliding_window is 300, must be at least the longest row, 301 tokens");
  EXPECT_NE(unknown_to_gpu(c), "");  // 2048 positions
  EXPECT_EQ(unknown_to_gpu(windowed(2048)), "");
  c.windowed = {0, 0, 0};
  EXPECT_EQ(unknown_to_gpu(c), "");
  c.windowed = {0, 1, 0};
  EXPECT_NE(unknown_to_gpu(c), "");
}

// By hand: rows of SmolLM2-135M while they are extended. Nothing is padded but rows to a multiple of 32.
TEST(PlanOfGpu, CountsSmallHeads) {
  const ModelConfig c = shape(576, 1536, 9, 3, 64);
  const int64_t d = 576, f = 1536, q = 9 * 64, kv = 3 * 64;
  const int64_t row = 2 * (3 * d + (q + 2 * kv) + (q + kv) + q + 2 * f + f);
  EXPECT_EQ(generation_bytes(c, 32, 64), (32 + 64) * row + 2 * 2 * 32 * 49152);
}

}  // namespace
}  // namespace temper::policy::cuda
