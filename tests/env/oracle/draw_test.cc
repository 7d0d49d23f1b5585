#include "env/oracle/draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "env/call/draw_forms.h"

namespace temper::env {
namespace {

const Shape kManyShape{{"n", 60'000}};

TensorSpec many(Distribution distribution) {
  TensorSpec spec;
  spec.name = "x";
  spec.shape = {"n"};
  spec.distribution = distribution;
  return spec;
}

void draw_plain(const TensorSpec& spec, double magnitude, uint64_t key, void* out) {
  const DrawForm plain = draw_form(spec, kManyShape, magnitude, DrawKind::kPlain, 0, key, 1);
  draw_input(spec, kManyShape, magnitude, plain, key, out);
}

std::vector<float> draw_many(const TensorSpec& spec, uint64_t key, double magnitude = 1) {
  std::vector<float> values(60'000);
  draw_plain(spec, magnitude, key, values.data());
  return values;
}

TEST(Draw, SameKeySameDrawOtherKeyAnother) {
  const auto spec = many(Distribution::kNormal);
  EXPECT_EQ(draw_many(spec, 1), draw_many(spec, 1));
  EXPECT_NE(draw_many(spec, 1), draw_many(spec, 2));
}

TEST(Draw, NormalsHaveTheirMoments) {
  double moments[5] = {};
  for (const float value : draw_many(many(Distribution::kNormal), 7, 3)) {
    for (int power = 1; power <= 4; ++power) moments[power] += std::pow(value / 3.0, power) / 60'000;
  }
  EXPECT_NEAR(moments[1], 0, 0.02);
  EXPECT_NEAR(moments[2], 1, 0.03);
  EXPECT_NEAR(moments[3], 0, 0.08);
  EXPECT_NEAR(moments[4], 3, 0.2);
}

// Loops of the host's own give each kind; the family says what it is, here and on a GPU.
TEST(Draw, KindsDepartFromPlainAsTheFamilySays) {
  auto spec = many(Distribution::kNormal);
  spec.shape = {"n", "m"};
  const Shape shape{{"n", 40}, {"m", 30}};
  std::vector<float> plain(1200), drawn(1200);
  draw_input(spec, shape, 1, draw_form(spec, shape, 1, DrawKind::kPlain, 0, 5, 1), 9, plain.data());
  for (auto kind = uint32_t(DrawKind::kSpikes); kind <= uint32_t(DrawKind::kDenormals); ++kind) {
    for (uint64_t key = 0; key < 8; ++key) {
      const DrawForm form = draw_form(spec, shape, 1, DrawKind(kind), 1, key, 1);
      draw_input(spec, shape, 1, form, 9, drawn.data());
      for (uint32_t i = 0; i < 1200; ++i)
        ASSERT_EQ(drawn[i], drawn_float(form, i, plain[i])) << kind << ": " << i;
      EXPECT_NE(drawn, plain) << kind;
    }
  }
}

TEST(Draw, UniformsFillTheirRange) {
  auto spec = many(Distribution::kUniform);
  spec.low = -2;
  spec.high = 6;
  const auto values = draw_many(spec, 7);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_TRUE(*low >= -2 && *low < -1.99 && *high <= 6 && *high > 5.99) << *low << " " << *high;
}

TEST(Draw, DistinctElementsAreAllDifferentAndFillTheirRange) {
  auto spec = many(Distribution::kDistinct);
  spec.low = -2;
  spec.high = 6;
  const auto values = draw_many(spec, 7);
  const std::set<float> seen(values.begin(), values.end());
  EXPECT_EQ(seen.size(), values.size());
  EXPECT_TRUE(*seen.begin() > -2 && *seen.begin() < -1.999 && *seen.rbegin() < 6 && *seen.rbegin() > 5.999);
  EXPECT_FALSE(std::is_sorted(values.begin(), values.end()));
  EXPECT_NE(values, draw_many(spec, 8));
}

TEST(Draw, IndicesFillTheirRange) {
  auto spec = many(Distribution::kIndex);
  spec.type = ElementType::kI32;
  spec.index_bound = "17";
  std::vector<int32_t> values(60'000);
  draw_plain(spec, 1, 7, values.data());
  EXPECT_EQ(std::set<int32_t>(values.begin(), values.end()).size(), 17u);
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 16);
  EXPECT_EQ(*std::min_element(values.begin(), values.end()), 0);
}

TEST(Draw, DeclaredNonfiniteElementsAreThere) {
  auto spec = many(Distribution::kNormal);
  spec.nonfinite = true;
  const auto values = draw_many(spec, 7);
  const auto nan = std::count_if(values.begin(), values.end(), [](float v) { return std::isnan(v); });
  const auto inf = std::count_if(values.begin(), values.end(), [](float v) { return std::isinf(v); });
  EXPECT_GT(nan, 200);
  EXPECT_GT(inf, 400);
  EXPECT_LT(nan + inf, 1000);
}

}  // namespace
}  // namespace temper::env
