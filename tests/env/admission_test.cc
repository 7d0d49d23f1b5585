#include "env/admission/admission.h"

#include <gtest/gtest.h>

namespace temper {
namespace {

std::vector<Admission> admit_tasks(const std::string& tasks) {
  Judge judge({.lanes = 1},
              parse_tasks("defaults: {inputs: {x: [n, m]}, outputs: {y: [n, m]}, check: [{n: 3, m: 5}], "
                          "timed: {n: 256, m: 256}}\ntasks:\n" +
                              tasks,
                          "tasks.yaml"));
  return admit(judge);
}

TEST(Admission, AHonestTaskIsAdmitted) {
  const auto rows = admit_tasks("  - {name: chain, reference: 'torch.softmax(torch.exp(x) * 2 - x, -1)'}\n");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0].problems.empty()) << rows[0].problems[0];
  EXPECT_GT(rows[0].eager_us, kLeastEager_us);
}

TEST(Admission, TasksThatNeedNoWorkAreNot) {
  const auto rows = admit_tasks(
      "  - {name: copy, reference: x.clone()}\n"
      "  - {name: tiny, reference: x * 3 - 1, timed: {n: 2, m: 2}}\n"
      "  - {name: nearly_zero, reference: x * 1e-42}\n");
  ASSERT_EQ(rows.size(), 3u);
  ASSERT_FALSE(rows[0].problems.empty());
  EXPECT_EQ(rows[0].problems[0].find("the trivial solver input_copy gets PASS"), 0u) << rows[0].problems[0];
  ASSERT_EQ(rows[1].problems.size(), 1u);
  EXPECT_EQ(rows[1].problems[0].find("eager takes "), 0u) << rows[1].problems[0];
  ASSERT_FALSE(rows[2].problems.empty());
  EXPECT_EQ(rows[2].problems[0].find("the trivial solver zeros gets PASS"), 0u) << rows[2].problems[0];
}

}  // namespace
}  // namespace temper
