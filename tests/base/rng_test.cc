#include "base/rng.h"

#include <gtest/gtest.h>

namespace temper {
namespace {

// Known answers of Philox4x32-10 published with Random123 (kat_vectors).
TEST(Rng, PhiloxKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Rng, StreamsAreKeyedAndOrderFree) {
  Rng a{1, 2, 3}, b{1, 2, 4};
  const uint64_t first = a.next(), second = a.next();
  EXPECT_EQ(Rng({1, 2, 3}).at(1), second);
  EXPECT_EQ(Rng({1, 2, 3}).at(0), first);
  EXPECT_NE(b.next(), first);
  EXPECT_NE(mix_key({1, 2}), mix_key({2, 1}));
}

TEST(Rng, MomentsOfUniformAndNormal) {
  Rng rng{7};
  double mean = 0, square = 0, normal_square = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double u = rng.uniform(), z = rng.normal();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    mean += u / kCount, square += u * u / kCount, normal_square += z * z / kCount;
  }
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(square, 1.0 / 3, 0.005);
  EXPECT_NEAR(normal_square, 1, 0.02);
}

TEST(Rng, BelowStaysBelow) {
  Rng rng{3};
  int counts[5] = {};
  for (int i = 0; i < 5000; ++i) ++counts[rng.below(5)];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace temper
