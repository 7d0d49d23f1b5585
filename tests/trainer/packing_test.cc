#include "trainer/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace temper {
namespace {

double sum_of(const std::vector<double>& costs, const std::vector<size_t>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0,
                         [&](double sum, size_t row) { return sum + costs[row]; });
}

TEST(DealRows, GivesEachRowToOneRankInOrder) {
  const std::vector<double> costs = {5, 1, 1, 9, 2, 2, 7, 3};
  for (const int ranks : {1, 2, 3, 8, 11}) {
    const auto dealt = deal_rows(costs, ranks);
    ASSERT_EQ(int(dealt.size()), ranks);
    std::vector<size_t> all;
    for (const auto& rows : dealt) {
      EXPECT_TRUE(std::ranges::is_sorted(rows));
      all.insert(all.end(), rows.begin(), rows.end());
    }
    std::ranges::sort(all);
    EXPECT_EQ(all, deal_rows(costs, 1).front());
    EXPECT_EQ(all.size(), costs.size());
  }
}

TEST(DealRows, BalancesCosts) {
  const std::vector<double> costs = {8, 7, 6, 5, 4, 3, 2, 1};
  const auto dealt = deal_rows(costs, 2);
  EXPECT_EQ(sum_of(costs, dealt[0]), 18);
  EXPECT_EQ(sum_of(costs, dealt[1]), 18);
  const auto uneven = deal_rows({100, 1, 1, 1}, 2);
  EXPECT_EQ(uneven[0], (std::vector<size_t>{0}));
  EXPECT_EQ(uneven[1], (std::vector<size_t>{1, 2, 3}));
}

TEST(DealRows, IsTheSameForEqualCosts) {
  EXPECT_EQ(deal_rows({1, 1, 1, 1}, 2), (std::vector<std::vector<size_t>>{{0, 2}, {1, 3}}));
}

}  // namespace
}  // namespace temper
