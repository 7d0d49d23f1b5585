#include "policy/parameters/gathered_weights.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

#include "policy/parameters/parameter_store.h"

namespace temper::policy {
namespace {

std::vector<ParameterUnit> units_of_blocks(int64_t blocks, bool tied, int64_t ranks = 1) {
  ModelConfig config;
  config.num_hidden_layers = blocks;
  config.tie_word_embeddings = tied;
  return units_of(config, ranks);
}

// One rank, whose share is everything. Each unit's weights are one number, told apart by unit and version.
class OfOneRank : public testing::Test {
 protected:
  explicit OfOneRank(int64_t blocks = 6, bool tied = true) : units_(units_of_blocks(blocks, tied)) {
    fill(0);
  }
  void fill(double version) {
    for (size_t unit = 0; unit < units_.size(); ++unit)
      shares_.narrow(0, units_[unit].offset, units_[unit].size).fill_(100 * version + double(unit));
  }
  // The version of the weights that a pass gets.
  int wait(size_t unit, Pass pass) {
    gathered_.wait(unit, pass, shares_);
    return version(unit);
  }
  // Of what lies there; negative where it is another unit's.
  int version(size_t unit) {
    const at::Tensor weights = gathered_.of(unit);
    EXPECT_EQ(weights.numel(), units_[unit].size);
    const auto number = int64_t(weights[0].item<float>());
    EXPECT_TRUE(at::all(weights == float(number)).item<bool>());
    return number % 100 == int64_t(unit) ? int(number / 100) : -1;
  }
  std::vector<int> pass(Pass pass) {
    std::vector<int> versions(units_.size());
    for (size_t i = 0; i < units_.size(); ++i) {
      const size_t unit = pass == Pass::kForward ? i : units_.size() - 1 - i;
      versions[unit] = wait(unit, pass);
    }
    return versions;
  }

  const std::vector<ParameterUnit> units_;
  at::Tensor shares_ = at::zeros({units_.back().offset + units_.back().size});
  GatheredWeights gathered_{units_, alone(), shares_.options()};
};

TEST_F(OfOneRank, TwoUnitsAreGatheredAhead) {
  EXPECT_EQ(wait(0, Pass::kForward), 0);
  fill(1);
  EXPECT_EQ(wait(1, Pass::kForward), 0);
  EXPECT_EQ(wait(2, Pass::kForward), 0);
  EXPECT_EQ(wait(3, Pass::kForward), 1);
  EXPECT_EQ(version(1), -1);  // block 4 has its memory
}

TEST_F(OfOneRank, APassBeginsWhereTheOneBeforeItEnded) {
  EXPECT_EQ(pass(Pass::kForward), (std::vector<int>{0, 0, 0, 0, 0, 0, 0, 0}));
  fill(1);
  EXPECT_EQ(pass(Pass::kBackward), (std::vector<int>{0, 1, 1, 1, 0, 0, 0, 0}));
  fill(2);
  EXPECT_EQ(pass(Pass::kForward), (std::vector<int>{0, 1, 1, 1, 2, 2, 2, 0}));
}

TEST_F(OfOneRank, WhatIsForgottenIsGatheredAnew) {
  pass(Pass::kForward);
  fill(1);
  gathered_.forget(5);
  EXPECT_EQ(pass(Pass::kBackward), (std::vector<int>{0, 1, 1, 1, 0, 1, 0, 0}));
  fill(2);
  gathered_.forget();
  EXPECT_EQ(pass(Pass::kForward), std::vector<int>(8, 2));
}

struct WithAHead : OfOneRank {
  WithAHead() : OfOneRank(6, false) {}
};

TEST_F(WithAHead, TheEmbeddingTakesTurnsWithIt) {
  EXPECT_EQ(pass(Pass::kForward), std::vector<int>(8, 0));
  fill(1);
  EXPECT_EQ(pass(Pass::kBackward), (std::vector<int>{1, 1, 1, 1, 0, 0, 0, 0}));
  fill(2);
  EXPECT_EQ(pass(Pass::kForward), (std::vector<int>{1, 1, 1, 1, 2, 2, 2, 2}));
}

struct WithAHeadAndOneBlock : OfOneRank {
  WithAHeadAndOneBlock() : OfOneRank(1, false) {}
};

TEST_F(WithAHeadAndOneBlock, NoUnitIsOverwrittenWhereItIsWaitedFor) {
  EXPECT_EQ(pass(Pass::kForward), std::vector<int>(3, 0));
  EXPECT_EQ(pass(Pass::kBackward), std::vector<int>(3, 0));
}

class HeldWeights : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Tied, HeldWeights, testing::Bool());

TEST_P(HeldWeights, ThePlanCountsThem) {
  for (const int64_t ranks : {1, 2, 6})
    for (const int64_t blocks : {1, 2, 3, 7}) {
      const auto units = units_of_blocks(blocks, GetParam(), ranks);
      const int64_t all = units.back().offset + units.back().size;
      const GatheredWeights gathered(units, alone(), at::TensorOptions());
      std::set<const void*> seen;
      int64_t held = 0;
      for (size_t unit = units.size(); unit-- > 0;)  // of those in one place the last is the largest
        if (seen.insert(gathered.of(unit).const_data_ptr()).second) held += gathered.of(unit).numel();
      EXPECT_EQ(GatheredWeights::size(units), held);
      const int64_t in_turn = GetParam() ? 0 : units[0].size;
      EXPECT_EQ(held, all - std::max<int64_t>(0, blocks - 3) * units[1].size - in_turn);
    }
}

TEST(GatheredWeights, OneRankHasNothingToShard) {
  ModelConfig config;
  config.num_hidden_layers = 2;
  ParameterStore store(config, DType::kF32, at::kCPU, alone(), 3);
  store.init_random(1);
  const void* place = store.weights().const_data_ptr();
  store.shard_weights();
  EXPECT_FALSE(store.sharded());
  EXPECT_TRUE(store.copy_for_learning(store.weights()).equal(store.weights()));
  store.unshard_weights();
  EXPECT_EQ(store.weights().const_data_ptr(), place);
}

}  // namespace
}  // namespace temper::policy
