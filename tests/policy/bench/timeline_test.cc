#include "policy/bench/timeline.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

// Where a copy is under way beside a stretch, that part of it is no idling.
TEST(Timeline, SaysBetweenWhichKernelsNothingComputes) {
  const std::vector<Wait> waits = waits_between({{{300, 400}, "products"},
                                                 {{100, 200}, "products"},
                                                 {{10, 20}, "upload", true},
                                                 {{210, 260}, "between GPUs", true},
                                                 {{240, 280}, "between GPUs", true},
                                                 {{310, 330}, "squares"},  // within the products
                                                 {{450, 500}, "adamw"},
                                                 {{500, 560}, "products"},
                                                 {{590, 600}, "adamw"},
                                                 {{590, 640}, "between GPUs", true}});
  ASSERT_EQ(waits.size(), 4);
  const auto expect = [](const Wait& wait, const char* before, const char* after, long count, double exposed,
                         double idle) {
    EXPECT_EQ(wait.before + " " + wait.after, std::string(before) + " " + after);
    EXPECT_EQ(wait.count, count) << before;
    EXPECT_NEAR(wait.exposed_s, exposed, 1e-15) << before;
    EXPECT_NEAR(wait.idle_s, idle, 1e-15) << before;
  };
  expect(waits[0], "products", "products", 1, 70e-9, 30e-9);
  expect(waits[1], "begin", "products", 1, 10e-9, 80e-9);
  expect(waits[2], "products", "adamw", 2, 0, 80e-9);
  expect(waits[3], "adamw", "end", 1, 40e-9, 0);
}

TEST(Timeline, NothingWaitsInNothing) {
  EXPECT_TRUE(waits_between({}).empty());
  const std::vector<Wait> waits = waits_between({{{5, 9}, "between GPUs", true}});
  ASSERT_EQ(waits.size(), 1);
  EXPECT_EQ(waits[0].before + waits[0].after, "beginend");
  EXPECT_NEAR(waits[0].exposed_s, 4e-9, 1e-15);
}

}  // namespace
}  // namespace temper::policy
