#include "trainer/learn/batch_digest.h"

#include <gtest/gtest.h>

#include <bit>

namespace temper::trainer {

using rollout::Batch;

namespace {

Batch some_batch() {
  rollout::Segment row;
  row.append({5, 6, 7}, rollout::Role::kPrompt);
  row.append({8, 9}, rollout::Role::kCode);
  row.log_probs = {0, 0, 0, -0.5f, -0.25f};
  rollout::Trajectory trajectory;
  trajectory.segments = {row, row};
  Batch batch;
  batch.step = 3;
  batch.groups = {{"a task", {trajectory, trajectory}}};
  return batch;
}

float with_flipped_bit(float value, int bit) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) ^ (uint32_t(1) << bit));
}

TEST(BatchDigest, EveryBitOfABatchCounts) {
  const Batch batch = some_batch();
  EXPECT_EQ(digest_of(batch), digest_of(some_batch()));
  for (size_t row = 0; row < 2; ++row)
    for (size_t t = 0; t < 5; ++t)
      for (int bit = 0; bit < 32; ++bit) {
        Batch id = batch, log_prob = batch;
        id.groups[0].samples[1].segments[row].ids[t] ^= int32_t(uint32_t(1) << bit);
        EXPECT_NE(digest_of(id), digest_of(batch)) << row << " " << t << " " << bit;
        float& number = log_prob.groups[0].samples[0].segments[row].log_probs[t];
        number = with_flipped_bit(number, bit);
        EXPECT_NE(digest_of(log_prob), digest_of(batch)) << row << " " << t << " " << bit;
      }
}

TEST(BatchDigest, WhereARowEndsCounts) {
  Batch batch = some_batch();
  auto& segments = batch.groups[0].samples[0].segments;
  segments[0].ids.push_back(0);
  EXPECT_NE(digest_of(batch), digest_of(some_batch()));
  batch = some_batch();
  batch.step = 4;
  EXPECT_NE(digest_of(batch), digest_of(some_batch()));
}

TEST(BatchDigest, EveryBitOfAdvantagesCounts) {
  const TokenAdvantages advantages = {{{0, 1, -1}, {0, 1, 1}}, {{2}, {1}}};
  for (int bit = 0; bit < 32; ++bit) {
    TokenAdvantages other = advantages;
    other[0].advantage[2] = with_flipped_bit(-1, bit);
    EXPECT_NE(digest_of(other), digest_of(advantages)) << bit;
  }
  TokenAdvantages other = advantages;
  other[1].mask[0] = 0;
  EXPECT_NE(digest_of(other), digest_of(advantages));
}

TEST(BatchDigest, ExamplesCountWithTheirWeights) {
  const std::vector<LearnedRow> rows = {{{1, 2, 3}, {{1, 3, 1.0}}}};
  std::vector<LearnedRow> other = rows;
  other[0].spans[0].weight = 0.5;
  EXPECT_NE(digest_of(other), digest_of(rows));
  other = rows;
  other[0].ids[1] = 4;
  EXPECT_NE(digest_of(other), digest_of(rows));
}

}  // namespace
}  // namespace temper::trainer
