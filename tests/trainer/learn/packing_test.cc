#include "trainer/learn/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace temper::trainer {
namespace {

double sum_of(const std::vector<double>& costs, const std::vector<size_t>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0,
                         [&](double sum, size_t row) { return sum + costs[row]; });
}

std::vector<size_t> sizes_of_packs(const std::vector<size_t>& lengths, int64_t max_tokens) {
  const size_t longest = *std::ranges::max_element(lengths);
  const std::vector<int32_t> ids(longest);
  const std::vector<uint8_t> scored(longest);
  std::vector<PackRow> rows;
  for (const size_t n : lengths) rows.push_back({std::span(ids).first(n), std::span(scored).first(n)});
  std::vector<size_t> sizes;
  for (const Pack& pack : make_packs(rows, {max_tokens})) sizes.push_back(pack.tokens.ids.size());
  return sizes;
}

TEST(MakePacks, AreFewAndEven) {
  EXPECT_EQ(sizes_of_packs(std::vector<size_t>(25, 100), 1000), (std::vector<size_t>{900, 900, 700}));
  EXPECT_EQ(sizes_of_packs(std::vector<size_t>(10, 100), 1000), (std::vector<size_t>{1000}));
  EXPECT_EQ(sizes_of_packs({500, 500, 10}, 1000), (std::vector<size_t>{500, 510}));
  EXPECT_EQ(sizes_of_packs({100, 5000, 100}, 1000), (std::vector<size_t>{100, 5000, 100}));
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
}  // namespace temper::trainer
