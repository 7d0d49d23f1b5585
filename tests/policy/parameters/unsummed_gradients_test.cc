#include "policy/parameters/unsummed_gradients.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "policy/parameters/parameter_store.h"

namespace temper::policy {
namespace {

ModelConfig three_blocks() {
  ModelConfig config;
  config.num_hidden_layers = 3;
  config.tie_word_embeddings = false;
  return config;
}

// Of each memory those of its largest unit.
int64_t elements_of(UnsummedGradients& gradients, size_t units) {
  std::map<const void*, int64_t> largest;
  for (size_t unit = 0; unit < units; ++unit) {
    int64_t& elements = largest[gradients.of(unit).const_data_ptr()];
    elements = std::max(elements, gradients.of(unit).numel());
  }
  int64_t all = 0;
  for (const auto& [memory, elements] : largest) all += elements;
  return all;
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
      EXPECT_EQ(UnsummedGradients::size(units, 2),
                all - units[0].size - std::max<int64_t>(0, layers - 2) * units[1].size);
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

// Their gradients are not there at the same time, and the padding of the one is where the other has numbers.
TEST(UnsummedGradients, EmbeddingAndHeadHaveOneMemory) {
  for (const int64_t vocab : {33, 38}) {
    ModelConfig config = three_blocks();
    config.vocab_size = vocab, config.hidden_size = 10;
    const auto units = units_of(config, 6);
    const auto numbers = [&](size_t unit) { return units[unit].size - units[unit].padding; };
    ASSERT_LT(numbers(0), std::min(units.front().size, numbers(4)));
    at::Tensor shares = at::zeros({units.back().offset + units.back().size});
    UnsummedGradients gradients(units, 2, alone(), shares);
    EXPECT_EQ(gradients.of(0).const_data_ptr(), gradients.of(4).const_data_ptr());
    for (int backward = 1; backward <= 2; ++backward)
      for (size_t unit = units.size(); unit-- > 0;) {
        EXPECT_FALSE(gradients.begin(unit)) << unit;
        gradients.of(unit).narrow(0, 0, numbers(unit)).fill_(double(unit + 1));
        gradients.start_sum(unit);
      }
    gradients.finish_sums();
    for (size_t unit = 0; unit < units.size(); ++unit) {
      const at::Tensor share = shares.narrow(0, units[unit].offset, units[unit].size);
      EXPECT_TRUE(at::all(share.narrow(0, 0, numbers(unit)) == 2 * double(unit + 1)).item<bool>()) << unit;
      EXPECT_TRUE(at::all(share.narrow(0, numbers(unit), units[unit].padding) == 0).item<bool>()) << unit;
    }
  }
}

// A tied head's gradient is in the embedding's from the beginning of a backward to its end.
TEST(UnsummedGradients, ATiedHeadLeavesTheFinalUnitItsMemory) {
  ModelConfig config = three_blocks();
  config.tie_word_embeddings = true;
  const auto units = units_of(config, 2);
  UnsummedGradients gradients(units, 2, alone(), at::zeros({units.back().offset + units.back().size}));
  EXPECT_NE(gradients.of(0).const_data_ptr(), gradients.of(units.size() - 1).const_data_ptr());
}

}  // namespace
}  // namespace temper::policy
