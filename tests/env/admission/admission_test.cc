#include "env/admission/admission.h"

#include <gtest/gtest.h>

namespace temper::env {
namespace {

std::vector<Admission> admit_tasks(const std::string& tasks) {
  return admit({.lanes = 1},
               parse_tasks("defaults: {inputs: {x: [n, m]}, outputs: {y: [n, m]}, check: [{n: 3, m: 5}], "
                           "timed: {n: 256, m: 256}}\ntasks:\n" +
                               tasks,
                           "tasks.yaml"));
}

TEST(Admission, AHonestTaskIsAdmitted) {
  const auto rows = admit_tasks("  - {name: chain, reference: 'torch.softmax(torch.exp(x) * 2 - x, -1)'}\n");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0].problems.empty()) << rows[0].problems[0];
  EXPECT_GT(rows[0].eager_us, kLeastEager_us);
}

TEST(Admission, TasksThatNeedNoWorkAreNot) {
  // Without a cap: how much faster it is to do nothing depends on the machine's other work.
  const auto rows = admit_tasks(
      "  - {name: copy, reference: x.clone(), max_speedup: 1.0e+9}\n"
      "  - {name: tiny, reference: x * 3 - 1, timed: {n: 2, m: 2}}\n"
      "  - {name: nearly_zero, reference: torch.tanh(x) * 1e-42, max_speedup: 1.0e+9}\n"
      "  - {name: tiny_too, reference: x * 3 - 2, timed: [{n: 256, m: 4096}, {n: 2, m: 2}]}\n");
  ASSERT_EQ(rows.size(), 4u);
  ASSERT_FALSE(rows[0].problems.empty());
  EXPECT_EQ(rows[0].problems[0].find("the trivial solver input_copy gets PASS"), 0u) << rows[0].problems[0];
  ASSERT_EQ(rows[1].problems.size(), 1u);
  EXPECT_EQ(rows[1].problems[0].find("eager takes "), 0u) << rows[1].problems[0];
  ASSERT_FALSE(rows[2].problems.empty());
  EXPECT_EQ(rows[2].problems[0].find("the trivial solver zeros gets PASS"), 0u) << rows[2].problems[0];
  ASSERT_EQ(rows[3].problems.size(), 1u);
  EXPECT_NE(rows[3].problems[0].find(" us at the timed shape m 2, n 2; "), std::string::npos)
      << rows[3].problems[0];
  EXPECT_GT(rows[3].eager_us, kLeastEager_us);  // of the first shape
}

TEST(Admission, AReferenceThatCannotBeAskedIsARowAmongOthers) {
  const auto rows = admit_tasks(
      "  - {name: sound, reference: 'torch.softmax(torch.exp(x) * 2 - x, -1)'}\n"
      "  - {name: misspelt, reference: torch.sofmax(x)}\n"
      "  - {name: deaf, reference: torch.exp(x), inputs: {x: [n, m], b: [m]}}\n");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(rows[0].problems.empty()) << rows[0].problems[0];
  ASSERT_EQ(rows[1].problems.size(), 1u);
  EXPECT_NE(rows[1].problems[0].find("sofmax"), std::string::npos) << rows[1].problems[0];
  EXPECT_EQ(rows[2].problems, std::vector<std::string>{"reference: input b has no influence on any output"});
}

TEST(Admission, ProgressEndsAtTheWhole) {
  std::vector<std::pair<int64_t, int64_t>> seen;
  admit({.lanes = 1},
        parse_tasks("{name: t, reference: torch.sofmax(x), inputs: {x: [n]}, outputs: {y: [n]}, "
                    "check: [{n: 3}], timed: {n: 64}}",
                    "t.yaml"),
        [&](int64_t done, int64_t all) { seen.emplace_back(done, all); });
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen.front(), (std::pair<int64_t, int64_t>(0, 6)));
  EXPECT_EQ(seen.back(), (std::pair<int64_t, int64_t>(6, 6)));
}

}  // namespace
}  // namespace temper::env
