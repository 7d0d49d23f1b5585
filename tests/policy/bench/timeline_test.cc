#include "policy/bench/timeline.h"

#include <gtest/gtest.h>

namespace temper::policy {
namespace {

TEST(Timeline, DividesAllOfTheTime) {
  // Kernels that overlap and touch, copies under them, beside them and alone.
  const Timeline time = divide({{100, 200}, {150, 250}, {250, 300}, {600, 700}},
                               {{120, 180}, {280, 350}, {340, 400}, {650, 660}, {800, 900}});
  EXPECT_DOUBLE_EQ(time.all_s, 800e-9);
  EXPECT_DOUBLE_EQ(time.computing_s, 300e-9);
  EXPECT_DOUBLE_EQ(time.exposed_s, 200e-9);
  EXPECT_DOUBLE_EQ(time.idle_s, 300e-9);
}

TEST(Timeline, OfNothingIsNothing) {
  EXPECT_EQ(divide({}, {}).all_s, 0);
  EXPECT_DOUBLE_EQ(divide({}, {{5, 9}}).exposed_s, 4e-9);
  EXPECT_DOUBLE_EQ(divide({{5, 9}}, {}).computing_s, 4e-9);
}

}  // namespace
}  // namespace temper::policy
