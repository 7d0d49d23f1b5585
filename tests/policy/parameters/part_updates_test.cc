#include "policy/parameters/part_updates.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/policy/updates.h"

namespace temper::policy {
namespace {

ModelConfig small_shape() {
  ModelConfig c;
  c.vocab_size = 40, c.hidden_size = 24, c.intermediate_size = 56, c.num_hidden_layers = 2;
  c.num_attention_heads = 2, c.num_key_value_heads = 1, c.head_dim = 12;
  return c;
}

TEST(PartUpdates, HaveTheSameBitsWhereverTheStateLies) {
  for (const DType dtype : {DType::kF32, DType::kF64})
    for (const int64_t piece : {1, 7, 100, 1 << 20}) {
      ParameterStore here(small_shape(), dtype, at::kCPU);
      ParameterStore there(small_shape(), dtype, at::kCPU, alone(), 0, 0, true);
      for (ParameterStore* store : {&here, &there}) store->init_random(3);
      for (int number = 0; number < 3; ++number) {
        update(here, number, piece), update(there, number, piece);
        EXPECT_TRUE(at::equal(there.weights(), here.weights())) << piece;
        EXPECT_TRUE(at::equal(there.moment1(), here.moment1())) << piece;
        EXPECT_TRUE(at::equal(there.moment2(), here.moment2())) << piece;
        EXPECT_EQ(there.gradients().count_nonzero().item<int64_t>(), 0);
      }
      EXPECT_GT(here.moment2().count_nonzero().item<int64_t>(), 1000);
    }
}

TEST(PartUpdates, TakeNoMoreMemoryThanTheShare) {
  EXPECT_EQ(update_stage_bytes(1000), 3 * 3 * 4 * 1000);
  EXPECT_EQ(update_stage_bytes(int64_t(1) << 40), 3 * 3 * 4 * kUpdatePiece);
}

}  // namespace
}  // namespace temper::policy
