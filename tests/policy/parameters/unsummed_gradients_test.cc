#include "policy/parameters/unsummed_gradients.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

#include "policy/parameters/parameter_store.h"

namespace temper::policy {
namespace {

ModelConfig three_blocks() {
  ModelConfig config;
  config.num_hidden_layers = 3;
  config.tie_word_embeddings = false;
  return config;
}

int64_t elements_of(UnsummedGradients& gradients, size_t units) {
  std::set<const void*> seen;
  int64_t elements = 0;
  for (size_t unit = 0; unit < units; ++unit)
    if (seen.insert(gradients.of(unit).const_data_ptr()).second) elements += gradients.of(unit).numel();
  return elements;
}

TEST(UnsummedGradients, ThePlanCountsWhatIsHeld) {
  for (const int64_t ranks : {1, 2, 6})
    for (const int64_t layers : {1, 2, 3}) {
      ModelConfig config = three_blocks();
      config.num_hidden_layers = layers;
      const auto units = units_of(config, ranks);
      const int64_t all = units.back().offset + units.back().size;
      for (const int64_t stage : {1, 2}) {
        UnsummedGradients gradients(units, stage, alone(), at::zeros({all}));
        EXPECT_EQ(elements_of(gradients, units.size()), UnsummedGradients::size(units, stage));
      }
      EXPECT_EQ(UnsummedGradients::size(units, 1), all);
      EXPECT_EQ(UnsummedGradients::size(units, 2), all - std::max<int64_t>(0, layers - 2) * units[1].size);
    }
}

TEST(UnsummedGradients, BlocksTakeTheirMemoryInTurn) {
  const auto units = units_of(three_blocks(), 1);
  at::Tensor shares = at::zeros({units.back().offset + units.back().size});
  UnsummedGradients gradients(units, 2, alone(), shares);
  EXPECT_EQ(gradients.of(1).const_data_ptr(), gradients.of(3).const_data_ptr());
  EXPECT_NE(gradients.of(1).const_data_ptr(), gradients.of(2).const_data_ptr());
  for (int backward = 1; backward <= 2; ++backward) {
    for (size_t unit = units.size(); unit-- > 0;) {
      EXPECT_FALSE(gradients.begin(unit)) << unit;
      EXPECT_TRUE(gradients.begin(unit)) << unit;
      gradients.of(unit).fill_(double(unit + 1));
      gradients.start_sum(unit);
    }
    gradients.finish_sums();
    for (size_t unit = 0; unit < units.size(); ++unit) {
      const at::Tensor share = shares.narrow(0, units[unit].offset, units[unit].size);
      EXPECT_TRUE(at::all(share == backward * double(unit + 1)).item<bool>()) << units[unit].name;
    }
  }
}

}  // namespace
}  // namespace temper::policy
