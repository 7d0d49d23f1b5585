#include "policy/parameters/replicas.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace temper::policy {
namespace {

constexpr int64_t kWords = (1 << 20) + 37;  // more than a piece

at::Tensor some_weights(at::ScalarType dtype) {
  at::Tensor words = at::empty({kWords}, at::kLong);
  for (int64_t i = 0; i < kWords; ++i) words.data_ptr<int64_t>()[i] = int64_t(mix_key({5, uint64_t(i)}));
  return words.view(dtype);
}

TEST(Replicas, EveryBitCounts) {
  const at::Tensor weights = some_weights(at::kFloat);
  const uint64_t before = word_digest(weights);
  EXPECT_EQ(word_digest(weights.clone()), before);
  for (const int64_t word : {int64_t(0), int64_t(1), int64_t(kWords / 2), int64_t(1 << 20), kWords - 1})
    for (int bit = 0; bit < 64; ++bit) {
      at::Tensor flipped = weights.clone();
      flipped.view(at::kLong).data_ptr<int64_t>()[word] ^= int64_t(uint64_t(1) << bit);
      EXPECT_NE(word_digest(flipped), before) << word << " " << bit;
    }
  EXPECT_NE(word_digest(weights.flip(0)), before);  // places count too
}

TEST(Replicas, TheLoopOnCpusIsTheSumThatGpusMake) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const at::Tensor weights = some_weights(dtype);
    EXPECT_EQ(word_digest(weights), word_digest_by_tensors(weights));
  }
}

}  // namespace
}  // namespace temper::policy
