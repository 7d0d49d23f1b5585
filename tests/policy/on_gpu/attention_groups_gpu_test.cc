// Needs no GPU.

#include "policy/ops/cuda/attention/attention_groups.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace temper::policy::cuda {
namespace {

constexpr AttentionShape kShape{32, 8, 128};

std::vector<int32_t> starts_of(const std::vector<int32_t>& lengths) {
  std::vector<int32_t> starts{0};
  std::partial_sum(lengths.begin(), lengths.end(), std::back_inserter(starts));
  return starts;
}

// Each sequence's keys are its own.
AttentionRows rows_of(const std::vector<int32_t>& starts) { return {starts, starts}; }

TEST(AttentionGroups, BucketsAreFewAndNearlyFull) {
  EXPECT_EQ(sequence_bucket(1), 1);
  EXPECT_EQ(sequence_bucket(5), 8);
  EXPECT_EQ(sequence_bucket(64), 64);
  EXPECT_EQ(length_bucket(1), 256);
  EXPECT_EQ(length_bucket(257), 512);
  EXPECT_EQ(length_bucket(2048), 2048);
  EXPECT_EQ(length_bucket(2049), 2560);
  for (int64_t n = 1; n < 5000; ++n) {
    EXPECT_GE(sequence_bucket(n), n);
    EXPECT_LT(sequence_bucket(n), 2 * n);
    EXPECT_GE(length_bucket(n), n);
    EXPECT_LE(length_bucket(n) * 4, std::max<int64_t>(n + 255, 1024) * 5) << n;
  }
}

TEST(AttentionGroups, TakeEverySequenceOnceAndKeepTheirMemory) {
  const auto starts = starts_of({8192, 300, 20000, 1, 4096, 4096, 700, 300, 5});
  for (const int64_t most : {int64_t(1) << 28, int64_t(1) << 30, int64_t(1) << 36}) {
    std::vector<int> seen(9);
    for (const AttentionGroup& g : backward_groups(rows_of(starts), kShape, most)) {
      for (const int32_t s : g.members) {
        ++seen[size_t(s)];
        EXPECT_LE(starts[size_t(s) + 1] - starts[size_t(s)], g.length);
      }
      EXPECT_TRUE(std::ranges::is_sorted(g.members));
      EXPECT_TRUE(score_bytes(g, kShape) <= most || (g.members.size() == 1 && g.parts == kShape.kv_heads));
    }
    EXPECT_EQ(seen, std::vector<int>(9, 1));
  }
  EXPECT_EQ(backward_groups(rows_of(starts), kShape, int64_t(1) << 60).size(), 1u);
}

TEST(AttentionGroups, PartsKeepFourQueryHeads) {
  const auto parts = [](const AttentionShape& shape) {
    return backward_groups(rows_of({0, 4096}), shape, 1).front().parts;
  };
  EXPECT_EQ(parts({32, 8, 128}), 8);
  EXPECT_EQ(parts({8, 8, 128}), 2);
  EXPECT_EQ(parts({2, 2, 128}), 1);
  EXPECT_EQ(parts({40, 8, 128}), 2);
  EXPECT_EQ(parts({28, 4, 128}), 1);
}

// Samples behind a long prompt, which one row computes.
TEST(AttentionGroups, OfFewQueriesBehindManyKeysTakeTheMemoryOfTheirScores) {
  std::vector<int32_t> queries(16, 256), keys(16, 4096);
  queries[0] = 4096;
  const AttentionRows rows{starts_of(queries), starts_of(keys)};
  EXPECT_EQ(whole_pack(rows).length, 4096);
  const int64_t of_one = int64_t(256) * 4096 * 2 * kShape.heads;
  for (const auto& [most, sizes] : {std::pair{int64_t(1) << 60, std::vector<size_t>{1, 15}},
                                    {16 * of_one, {1, 15}},
                                    {15 * of_one, {1, 8, 7}}}) {
    std::vector<size_t> found;
    for (const AttentionGroup& g : backward_groups(rows, kShape, most)) {
      found.push_back(g.members.size());
      EXPECT_EQ(g.keys, 4096);
      EXPECT_EQ(g.length, found.size() == 1 ? 4096 : 256);
      EXPECT_EQ(score_bytes(g, kShape) * g.parts, g.sequences() * (found.size() == 1 ? 16 : 1) * of_one);
    }
    EXPECT_EQ(found, sizes);
  }
}

TEST(AttentionGroups, DescribeWhereSequencesLie) {
  const AttentionRows rows{starts_of({10, 20, 30}), starts_of({10, 25, 47})};
  AttentionGroup first, second;
  first.members = {0};
  second.members = {1, 2};
  std::vector<std::byte> bytes;
  describe(first, rows, kShape, bytes);
  describe(second, rows, kShape, bytes);
  EXPECT_EQ(second.described_at, size_t(5 * 2 * 8 + 2 * 4));
  int64_t offsets[5][3];
  int32_t lengths[2][2];
  std::memcpy(offsets, bytes.data() + second.described_at, sizeof offsets);
  std::memcpy(lengths, bytes.data() + second.described_at + sizeof offsets, sizeof lengths);
  const int64_t widths[] = {kShape.qk_width(), kShape.qkv_width(), kShape.q_width(), kShape.heads};
  for (int list = 0; list < 4; ++list)
    for (int i = 0; i < 3; ++i) EXPECT_EQ(offsets[list][i], rows.queries[size_t(i) + 1] * widths[list]);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(offsets[4][i], rows.keys[size_t(i) + 1] * 2 * 8 * 128);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(lengths[0][i], rows.query_count(i + 1));
    EXPECT_EQ(lengths[1][i], rows.key_count(i + 1));
  }
}

}  // namespace
}  // namespace temper::policy::cuda
