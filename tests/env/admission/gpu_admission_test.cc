// Admission of GPU tasks without a GPU: every rule is seen to fire, and the tasks that come with Temper pass.

#include "env/admission/gpu_admission.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace temper::env {
namespace {

std::vector<Admission> admit_gpu_tasks(const std::string& tasks, int64_t most_elements = 1 << 20) {
  return admit_gpu_tasks({.most_elements = most_elements},
                         parse_tasks("defaults: {language: cuda, inputs: {x: [n, m]}, outputs: {y: [n, m]}, "
                                     "check: [{n: 3, m: 5}, {n: 7, m: 2}], "
                                     "timed: {n: 256, m: 256}}\ntasks:\n" +
                                         tasks,
                                     "tasks.yaml"));
}

std::string problems_of(const std::string& task, int64_t most_elements = 1 << 20) {
  std::string problems;
  const auto rows = admit_gpu_tasks("  - {name: t, " + task + "}\n", most_elements);
  for (const auto& problem : rows[0].problems) problems += problem + "\n";
  return problems;
}

using Cases =
    std::vector<std::pair<std::string, std::string>>;  // a task, words of its problems; none: admitted

void expect_problems(const Cases& cases, int64_t most_elements) {
  std::string tasks;
  for (size_t i = 0; i < cases.size(); ++i)
    tasks += fmt::format("  - {{name: t{}, {}}}\n", i, cases[i].first);
  const auto rows = admit_gpu_tasks(tasks, most_elements);
  ASSERT_EQ(rows.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& [task, expected] = cases[i];
    const auto problems = fmt::format("{}\n", fmt::join(rows[i].problems, "\n"));
    EXPECT_EQ(rows[i].problems.empty(), expected.empty()) << task << ":\n" << problems;
    EXPECT_NE(problems.find(expected), std::string::npos) << task << ":\n" << problems;
  }
}

TEST(GpuAdmission, AHonestTaskIsAdmitted) {
  const auto rows = admit_gpu_tasks(
      "  - {name: chain, reference: 'torch.softmax(torch.exp(x) * 2 - x, -1)'}\n"
      "  - {name: product, reference: x @ w, inputs: {x: {shape: [n, m], type: bf16}, w: {shape: [m, m], "
      "type: bf16}}, "
      "outputs: {y: {shape: [n, m], type: bf16}}}\n");
  ASSERT_EQ(rows.size(), 2u);
  for (const Admission& row : rows) {
    EXPECT_EQ(row.problems, std::vector<std::string>{}) << row.task;
    EXPECT_TRUE(row.timed);
    EXPECT_EQ(row.eager_us, 0);
    EXPECT_GE(row.floor_us, 1);
  }
  EXPECT_LT(rows[0].allowed, 1e-4);
  EXPECT_GT(rows[1].allowed, 0x1p-8);
}

TEST(GpuAdmission, EachTrivialSolverIsFound) {
  const Cases cases{
      {"reference: x * 1e-42", "the trivial solver zeros passes\n"},
      {"reference: torch.sigmoid(x * 1e-8 + 60)", "the trivial solver ones passes\n"},
      {"reference: x * 1e-9 + 3", "the trivial solver mean passes\n"},
      {"reference: 'x[:, 0:1] * 2 + x * 1e-9'", "the trivial solver row_mean passes\n"},
      {"reference: 'x[0:1] * 2 + x * 1e-9'", "the trivial solver column_mean passes\n"},
      {"reference: 'torch.clamp(x, 100, 101) * z', inputs: {x: [n, m], z: {shape: [n, m], uniform: [1, "
       "1.0000001]}}",
       "the trivial solver last_answer passes\n"},
      {"reference: x.clone()", "the trivial solver copy_of x passes\n"},
      {"reference: 'torch.cat([x[:2], x[:2]]) * 2', check: [{n: 4, m: 5}], timed: {n: 4, m: 70}",
       "the trivial solver first_half_of x passes\n"},
      {"reference: 'torch.cat([x[:, :2], x[:, :2]], 1) * 2', check: [{n: 5, m: 4}], timed: {n: 70, m: 4}",
       "the trivial solver left_half_of x passes\n"},
      {"reference: torch.relu(x) * 2, tolerance: 0.05", "the trivial solver fewer_bits passes\n"},
      {"reference: x * float('nan'), inputs: {x: {shape: [n, m], nonfinite: true}}",
       "the trivial solver nothing passes\n"},
  };
  expect_problems(cases, 1 << 20);
}

// A sign is 1 or 0, so that one of two solvers has the answer of a draw, and by chance no solver has that of several.
TEST(GpuAdmission, ASolverThatIsRightByChanceDoesNotPass) {
  const std::string problems =
      problems_of("reference: '(x.sum() > 0).float().reshape(1)', outputs: {y: [1]}, timed: {n: 5, m: 11}");
  for (const char* solver : {"zeros", "ones"})
    EXPECT_EQ(problems.find(solver), std::string::npos) << problems;
}

// At small sizes a mean of squares is told from that of a part of them, at large ones no more.
TEST(GpuAdmission, TheTimedShapeIsTriedWhereItIsNotTooLarge) {
  const std::string loss =
      "reference: 'torch.square(x).mean().reshape(1)', outputs: {y: [1]}, timed: {n: 7000, m: 1024}";
  EXPECT_NE(problems_of(loss, 8 << 20).find("the trivial solver first_half_of x passes at the timed shape\n"),
            std::string::npos);
  EXPECT_EQ(problems_of(loss, 1 << 20), "");
}

TEST(GpuAdmission, EachTimedShapeIsTried) {
  const std::string loss =
      "reference: 'torch.square(x).mean().reshape(1)', outputs: {y: [1]}, timed: [{n: 8, m: 8}, {n: 7000, m: "
      "1024}]";
  EXPECT_NE(problems_of(loss, 8 << 20)
                .find("the trivial solver first_half_of x passes at the timed shape m 1024, n 7000\n"),
            std::string::npos);
  const auto rows = admit_gpu_tasks("  - {name: t, " + loss + "}\n", 1 << 20);
  EXPECT_EQ(rows[0].problems, std::vector<std::string>{});
  EXPECT_FALSE(rows[0].timed);  // not at all of them
  const std::string cut =
      "reference: 'x[:, :5] + 1', check: [{n: 3, m: 5}], timed: [{n: 4, m: 5}, {n: 7000, m: 256}]";
  EXPECT_NE(problems_of(cut).find("reference: output y is [7000, 5]; the task says [7000, 256]"),
            std::string::npos);
}

TEST(GpuAdmission, WhatCannotBeAskedIsARowAmongOthers) {
  const Cases cases{
      {"reference: torch.sofmax(x)", "sofmax"},
      {"reference: x @ x", "reference: at {m: 5, n: 3}: "},
      {"reference: x.sum(1)", "reference: output y is [3]; the task says [3, 5]"},
      {"reference: x + 1, timed: {n: 70000, m: 256}, outputs: {y: [n, 256]}, check: [{n: 3, m: 256}]", ""},
      {"reference: 'x[:, :5] + 1', outputs: {y: [n, m]}, check: [{n: 3, m: 5}], timed: {n: 7000, m: 256}",
       "reference: output y is [7000, 5]; the task says [7000, 256]"},
      {"reference: 'x, x'", "reference: returns 2 tensors; the task has 1 outputs"},
      {"reference: x.add_(1)", "reference: changes its input x"},
      {"reference: (x * 2).round().to(torch.int)", "reference: output y is of Int, the task says Float"},
      {"reference: 'x * 2', outputs: {y: {shape: [n, m], type: i32}}",
       "reference: output y is of Float, the task says Int"},
      {"reference: torch.exp(x), magnitudes: [1, 300]",
       "reference: output y is not finite at {m: 5, n: 3}, magnitude 300, though all inputs are"},
      {"reference: torch.exp(x), inputs: {x: [n, m], b: [m]}",
       "reference: input b has no influence on any output"},
      {"reference: x + b.sum() * 1e-6, inputs: {x: [n, m], b: {shape: [k], uniform: [0, 10]}}, "
       "check: [{n: 3, m: 5, k: 40001}], timed: {n: 8, m: 8, k: 40000}",
       "reference: a single element of input b shows in no output"},
      {"reference: (x + 1e7) - 1e7", " of its size from double precision at "},
  };
  expect_problems(cases, 1 << 12);
}

TEST(GpuAdmission, ProgressEndsAtTheWhole) {
  std::vector<std::pair<int64_t, int64_t>> seen;
  admit_gpu_tasks(
      {},
      parse_tasks(
          "{name: t, language: cuda, reference: torch.sofmax(x), inputs: {x: [n]}, outputs: {y: [n]}, "
          "check: [{n: 3}], timed: {n: 64}}",
          "t.yaml"),
      [&](int64_t done, int64_t all) { seen.emplace_back(done, all); });
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen.front(), (std::pair<int64_t, int64_t>(0, 1)));
  EXPECT_EQ(seen.back(), (std::pair<int64_t, int64_t>(1, 1)));
}

TEST(GpuAdmission, TheTasksThatComeWithTemperAreAdmitted) {
  const auto tasks = load_tasks(TEMPER_SOURCE_DIR "/env/tasks/cuda");
  const auto rows = admit_gpu_tasks({.most_elements = 0}, tasks);
  for (const Admission& row : rows)
    for (const auto& problem : row.problems) ADD_FAILURE() << row.task << ": " << problem;
}

}  // namespace
}  // namespace temper::env
