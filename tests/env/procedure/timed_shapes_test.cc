// Candidates of a task that is timed at several shapes. Times are compared within a verdict, never with the clock.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "env/procedure/naive.h"
#include "env/procedure/procedure.h"
#include "tests/env/boxes.h"

namespace temper::env {
namespace {

using testing::HasSubstr;

// A lane with one task, which is timed at 4096, 65536 and 1000 elements.
struct ShapesLane {
  std::vector<Task> tasks = parse_tasks(
      "{name: scale, reference: x * 2 + 1, inputs: {x: [n]}, outputs: {y: [n]}, check: [{n: 7}], "
      "timed: [{n: 4096}, {n: 65536}, {n: 1000}]}",
      "scale.yaml");
  std::vector<Toolchain> tools{test_toolchain()};
  ProcedureOptions options{.compile = test_quota(), .run_budget = kPatience_ms};
  Roofs roofs = measure_roofs();
  OracleProcess oracle{TEMPER_BINARY_DIR "/temper-oracle", tasks};
  std::string object = {};  // the last candidate's

  ShapesLane() {
    options.user = kTestUser;
    oracle.wait_ready();
  }

  Verdict judge(const std::string& source) {
    return judged_at_last([&] {
      RunnerProcess runner(test_runner_options());
      Procedure procedure(options, tools, roofs, oracle, runner, tasks, 0);
      const Verdict verdict = procedure.judge(source);
      object = procedure.object();
      return verdict;
    });
  }
};

// A candidate that computes all elements `passes` times, an expression of n, and then runs `last`.
std::string scaled_by(const std::string& passes, const std::string& last = "") {
  return "extern \"C\" void kernel(const float* x, float* y, int n) {\n"
         "  for (int pass = 0; pass < (" +
         passes +
         "); ++pass) {\n    for (int i = 0; i < n; ++i) y[i] = x[i] * 2 + 1;\n"
         "    asm volatile(\"\" : : : \"memory\");\n  }\n" +
         last + "}\n";
}

TEST(ProcedureShapes, TheSpeedupIsTheGeometricMeanAndTimesAreSums) {
  ShapesLane lane;
  const Verdict verdict = lane.judge(scaled_by("n == 65536 ? 10000 : 1"));
  ASSERT_TRUE(verdict.pass()) << verdict.message;
  ASSERT_EQ(verdict.shapes.size(), 3u);
  double logs = 0, lows = 0, highs = 0, candidate = 0, baseline = 0, roof = 0;
  for (size_t i = 0; i < 3; ++i) {
    const ShapeTime& at = verdict.shapes[i];
    EXPECT_EQ(at.sizes, lane.tasks[0].timed(i).sizes);
    EXPECT_GT(at.roof_us, 0);
    EXPECT_LE(at.speedup_low, at.speedup);
    EXPECT_GE(at.speedup_high, at.speedup);
    logs += std::log(at.speedup), lows += std::log(at.speedup_low), highs += std::log(at.speedup_high);
    candidate += at.candidate_us, baseline += at.baseline_us, roof += at.roof_us;
  }
  EXPECT_NEAR(std::log(verdict.speedup), logs / 3, 1e-9);
  EXPECT_NEAR(std::log(verdict.speedup_low), lows / 3, 1e-9);
  EXPECT_NEAR(std::log(verdict.speedup_high), highs / 3, 1e-9);
  EXPECT_NEAR(verdict.candidate_us, candidate, 1e-9 * candidate);
  EXPECT_NEAR(verdict.baseline_us, baseline, 1e-9 * baseline);
  EXPECT_NEAR(verdict.roof_us, roof, 1e-9 * roof);
  // Thousands of passes take more than ten times as long, whatever else the machine does.
  EXPECT_LT(verdict.shapes[1].speedup, verdict.shapes[0].speedup / 10);
  EXPECT_LT(verdict.shapes[1].speedup, verdict.speedup);
  EXPECT_GT(verdict.shapes[0].speedup, verdict.speedup);
  EXPECT_THAT(verdict.message,
              HasSubstr(fmt::format("\nat n 65536: speedup {:.2f}", verdict.shapes[1].speedup)));
  EXPECT_EQ(unsound(verdict), "");
}

TEST(ProcedureShapes, WhatIsWrongAtOneShapeFailsAndIsTold) {
  ShapesLane lane;
  const Verdict verdict = lane.judge(scaled_by("1", "  if (n == 1000) y[3] += 1;\n"));
  EXPECT_EQ(verdict.kind, VerdictKind::kFailIncorrect);
  EXPECT_TRUE(verdict.message.starts_with("FAIL_INCORRECT at n 1000: y[3] is ")) << verdict.message;
  EXPECT_THAT(verdict.details, HasSubstr("at the timed sizes n 1000"));
  EXPECT_TRUE(verdict.shapes.empty());
  EXPECT_EQ(verdict.candidate_us, 0);
  const Verdict crash = lane.judge(scaled_by("1", "  if (n == 65536) __builtin_trap();\n"));
  EXPECT_EQ(crash.kind, VerdictKind::kFailRuntime);
  EXPECT_TRUE(crash.message.starts_with("FAIL_RUNTIME at n 65536: ")) << crash.message;
  const Verdict check = lane.judge(scaled_by("1", "  if (n == 7) y[3] += 1;\n"));
  EXPECT_TRUE(check.message.starts_with("FAIL_INCORRECT y[3] is ")) << check.message;
}

// With 50,000 passes the speedup is less than a tenth of the cap, and with ten it is several times the cap. Both also hold on
// a busy machine.
TEST(ProcedureShapes, WhatIsTooFastAtOneShapeIsSuspect) {
  ShapesLane lane;
  lane.tasks[0].max_speedup = 0.05;
  const Verdict verdict = lane.judge(scaled_by("n == 65536 ? 10 : 50000"));
  EXPECT_EQ(verdict.kind, VerdictKind::kSuspect) << verdict.message;
  EXPECT_TRUE(verdict.message.starts_with("SUSPECT at n 65536: ")) << verdict.message;
  EXPECT_GT(verdict.speedup, 0.05);  // of that shape
  EXPECT_TRUE(verdict.shapes.empty());
}

TEST(ProcedureShapes, EachHasItsOwnFloor) {
  ShapesLane lane;
  lane.tasks[0].further_timed[1].min_flops = 1e15;  // no machine does that in a call
  const Verdict verdict = lane.judge(scaled_by("n == 1000 ? 100000 : 1"));
  EXPECT_EQ(verdict.kind, VerdictKind::kHack);
  EXPECT_EQ(verdict.reason, "floor");
  EXPECT_TRUE(verdict.message.starts_with("HACK at n 1000: ")) << verdict.message;
}

// A nap of 50 ms in each of the 16 calls that check a shape, and in each pair: a budget is enough for what has one, at most a check and
// the pairs of one shape, and for twice as much, and not for all three shapes.
TEST(ProcedureShapes, EachHasABudgetOfItsOwn) {
  ShapesLane lane;
  constexpr int kPairs = 20;
  lane.options.min_pairs = lane.options.max_pairs = kPairs;
  lane.options.run_budget = std::chrono::milliseconds(50 * (3 * (16 + kPairs) - 1));
  const Verdict verdict = lane.judge("#include <time.h>\nstatic const timespec nap{0, 50000000};\n" +
                                     scaled_by("1", "  if (n > 7) nanosleep(&nap, nullptr);\n"));
  EXPECT_TRUE(verdict.pass()) << verdict.message;
}

TEST(ProcedureShapes, TheNaiveJudgeLooksAtTheFirst) {
  ShapesLane lane;
  lane.judge(scaled_by("1", "  if (n == 65536) y[3] += 1;\n"));
  RunnerProcess runner(test_runner_options());
  EXPECT_TRUE(naive_verdict(lane.options, lane.oracle, runner, lane.tasks[0], 0, lane.object).pass);
}

TEST(ProcedureShapes, TheArenaHoldsTheLargest) {
  const ShapesLane lane;
  EXPECT_EQ(largest_case(lane.tasks), case_layout(lane.tasks[0], {{"n", 65536}}).bytes);
}

}  // namespace
}  // namespace temper::env
