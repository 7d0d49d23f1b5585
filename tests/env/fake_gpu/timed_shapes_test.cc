// Candidates of a task for GPUs that is timed at several shapes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "env/admission/eager_time.h"
#include "tests/env/fake_gpu/fake_driver.h"
#include "tests/env/on_gpu/hand_made.h"

namespace temper::env {
namespace {

using testing::HasSubstr;

// "sums" is timed at 2001, 30001 and 3000 elements; "picks" has indices, whose kinds are for checks alone.
std::vector<Task> tasks_of_several_shapes() {
  auto tasks = parse_tasks(R"yaml(
defaults: {language: cuda, max_speedup: 1.0e+9}
tasks:
  - {name: sums, reference: 2 * x + z, inputs: {x: [n], z: [n]}, outputs: {y: [n]}, check: [{n: 1000}, {n: 1}],
     timed: [{n: 2001}, {n: 30001}, {n: 3000}]}
  - {name: picks, reference: "x[i]", inputs: {x: [n, m], i: {shape: [k], type: i32, below: n}}, outputs: {y: [k, m]},
     dims: [k, n, m], check: [{k: 7, n: 5, m: 33}], timed: [{k: 100, n: 30, m: 20}, {k: 7, n: 300, m: 90}], bytes: 8*k*m}
)yaml",
                           "timed_shapes_test.cc");
  return tasks;
}

class FakeGpuShapes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    use_fake_driver();
    machine = new GpuMachine(tasks_of_several_shapes(), {"a cubin that this driver does not read"});
  }
  static void TearDownTestSuite() { delete std::exchange(machine, nullptr); }

  static Verdict judge(const HandMadeWay& way, const std::string& task = "sums", bool naive = false) {
    GpuProcedureOptions options;
    options.max_pairs = 7;
    options.naive = naive;
    return machine->judge(task, way, options);
  }

  static GpuMachine* machine;
};
GpuMachine* FakeGpuShapes::machine = nullptr;

TEST_F(FakeGpuShapes, TheSpeedupIsTheGeometricMeanAndTimesAreSums) {
  const Verdict verdict = judge({.kernels = {"good"}, .further_kernels = {"sleeps"}});
  ASSERT_TRUE(verdict.pass()) << verdict.message;
  ASSERT_EQ(verdict.shapes.size(), 3u);
  double logs = 0, candidate = 0, baseline = 0, roof = 0;
  for (size_t i = 0; i < 3; ++i) {
    const ShapeTime& at = verdict.shapes[i];
    EXPECT_EQ(at.sizes, machine->tasks[0].timed(i).sizes);
    EXPECT_GT(at.roof_us, 0);
    logs += std::log(at.speedup);
    candidate += at.candidate_us, baseline += at.baseline_us, roof += at.roof_us;
  }
  EXPECT_NEAR(std::log(verdict.speedup), logs / 3, 1e-9);
  EXPECT_NEAR(verdict.candidate_us, candidate, 1e-9 * candidate);
  EXPECT_NEAR(verdict.baseline_us, baseline, 1e-9 * baseline);
  EXPECT_NEAR(verdict.roof_us, roof, 1e-9 * roof);
  EXPECT_GT(verdict.shapes[1].candidate_us, 3000);  // as long as it sleeps at least
  EXPECT_THAT(verdict.message,
              HasSubstr(fmt::format("\nat n 30001: speedup {:.2f}", verdict.shapes[1].speedup)));
  EXPECT_EQ(unsound(verdict), "");
}

TEST_F(FakeGpuShapes, TheProfileIsOfTheFirst) {
  const Verdict verdict = judge({.kernels = {"good"}, .further_kernels = {"sleeps"}});
  ASSERT_TRUE(verdict.profile) << verdict.message;
  ASSERT_EQ(verdict.shapes.size(), 3u);
  EXPECT_EQ(verdict.profile->kernels.at(0).name, "good");
  EXPECT_NEAR(verdict.profile->bytes_per_s * verdict.shapes[0].candidate_us, 1e6 * 12 * 2001, 1);
}

// It is right up to 3000 elements.
TEST_F(FakeGpuShapes, WhatIsWrongAtOneShapeFailsAndIsTold) {
  const Verdict verdict = judge({{"wrong_when_large"}}, "sums", true);
  EXPECT_EQ(verdict.kind, VerdictKind::kFailIncorrect);
  EXPECT_TRUE(verdict.message.starts_with("FAIL_INCORRECT at n 30001: y[30000] is ")) << verdict.message;
  EXPECT_THAT(verdict.details, HasSubstr("at the timed sizes n 30001"));
  EXPECT_TRUE(verdict.shapes.empty());
  EXPECT_TRUE(verdict.naive->pass);  // which looks at the first shape alone
  const Verdict crash = judge({.kernels = {"good"}, .further_kernels = {"wild"}});
  EXPECT_EQ(crash.message, "FAIL_RUNTIME at n 3000: words");
  const Verdict check = judge({{"one_element_far_off"}});
  EXPECT_TRUE(check.message.starts_with("FAIL_INCORRECT y[999] is ")) << check.message;
  EXPECT_TRUE(judge({{"good"}}).pass());
}

TEST_F(FakeGpuShapes, EachHasItsOwnFloor) {
  machine->tasks[0].further_timed[0].min_flops = 1e18;
  const Verdict verdict = judge({{"good"}});
  machine->tasks = tasks_of_several_shapes();
  EXPECT_EQ(verdict.reason, "floor");
  EXPECT_TRUE(verdict.message.starts_with("HACK at n 30001: ")) << verdict.message;
}

TEST_F(FakeGpuShapes, EachIsHeldAgainstTheHostsClock) {
  const Verdict verdict = judge({.kernels = {"good"}, .further_kernels = {"shortens_a_long_time"}});
  EXPECT_EQ(verdict.kind, VerdictKind::kHack) << verdict.message;
  EXPECT_EQ(verdict.reason, "clock");
  EXPECT_TRUE(verdict.message.starts_with("HACK at n 3000: its time is ")) << verdict.message;
  machine->runners->discard();  // whose events lie from now on
}

TEST_F(FakeGpuShapes, EachIsHeldAgainstTheProfilersClock) {
  const Verdict verdict = judge({.kernels = {"good"}, .further_kernels = {"shortens_its_time"}});
  EXPECT_EQ(verdict.kind, VerdictKind::kHack) << verdict.message;
  EXPECT_EQ(verdict.reason, "clock");
  EXPECT_TRUE(verdict.message.starts_with("HACK at n 3000: its time is ")) << verdict.message;
  EXPECT_THAT(verdict.message, HasSubstr("by the profiler's clock"));
  machine->runners->discard();
}

TEST_F(FakeGpuShapes, OnlyThePlansKernelsRunAtEach) {
  const Verdict verdict = judge({.kernels = {"good"}, .further_kernels = {"starts_another"}});
  EXPECT_EQ(verdict.reason, "foreign_kernel") << verdict.message;
  EXPECT_TRUE(verdict.message.starts_with("HACK at n 3000: ")) << verdict.message;
}

// A configuration is one for all shapes.
TEST_F(FakeGpuShapes, AConfigurationIsChosenByAllShapes) {
  const Verdict verdict =
      judge({.tuned = {{"slow_at_30001", "slow_at_2001"}}});  // the first is faster at the first shape
  EXPECT_TRUE(verdict.pass()) << verdict.message;
  EXPECT_EQ(verdict.configuration, "configuration 2 of 2: KERNEL: slow_at_2001");
  const Verdict wrong = judge({.tuned = {{"sleeps", "wrong_when_large"}}});
  EXPECT_TRUE(wrong.message.starts_with("FAIL_INCORRECT at n 30001: ")) << wrong.message;
}

TEST_F(FakeGpuShapes, EagerIsTimedAtEachForAdmission) {
  auto tasks = tasks_of_several_shapes();
  tasks.resize(1);
  tasks[0].further_timed[1].min_bytes = 1e15;
  std::vector<Admission> rows(1);
  time_eager(0, tasks, rows, [] {});
  EXPECT_GT(rows[0].eager_us, 0);
  ASSERT_FALSE(rows[0].problems.empty());
  EXPECT_THAT(rows[0].problems.back(), HasSubstr(" us at the timed shape n 3000, less than the "));
}

TEST_F(FakeGpuShapes, KindsForChecksMeetEachShape) {
  const Verdict verdict = judge({{"gather"}, "rows"}, "picks");
  EXPECT_TRUE(verdict.pass()) << verdict.message;
  EXPECT_EQ(verdict.shapes.size(), 2u);
}

}  // namespace
}  // namespace temper::env
