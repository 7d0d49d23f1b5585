#include "env/procedure/procedure.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "env/box/core_lease.h"
#include "env/box/namespaces.h"
#include "tests/env/boxes.h"

namespace temper::env {
namespace {

constexpr const char* kScale =
    "{name: scale, reference: x * 2 + 1, inputs: {x: [n]}, outputs: {y: [n]}, check: [{n: 7}], "
    "timed: {n: 65536}}";
constexpr const char* kScaled =
    "extern \"C\" void kernel(const float* x, float* y, int n) {\n"
    "  for (int i = 0; i < n; ++i) y[i] = x[i] * 2 + 1;\n}\n";

ProcedureOptions test_options() {
  ProcedureOptions options;
  options.user = kTestUser;
  return options;
}

// A lane whose machine was busy when it was measured.
struct BusyLane {
  std::vector<Task> tasks = parse_tasks(kScale, "scale.yaml");
  ProcedureOptions options = test_options();
  Roofs roofs{.bytes_per_s = 1e6, .flops_per_s = 1e6};
  OracleProcess oracle{TEMPER_BINARY_DIR "/temper-oracle", tasks};

  Verdict judge(const std::string& source) {
    RunnerProcess runner(test_runner_options());
    return Procedure(options, {test_toolchain()}, roofs, oracle, runner, tasks, 0).judge(source);
  }
};

TEST(Procedure, ARoofThatWasMeasuredOnABusyCoreAccusesNobody) {
  BusyLane lane;
  lane.oracle.wait_ready();
  const Verdict verdict = lane.judge(kScaled);
  EXPECT_EQ(verdict.kind, VerdictKind::kPass) << verdict.message;
  EXPECT_GT(verdict.candidate_us, verdict.floor_us);
  EXPECT_GT(lane.roofs.bytes_per_s, 1e9);  // and the lane has learned it
}

// Candidates are compiled for this machine. Were the roof measured with narrower vectors, or through memory,
// this one would be faster than the machine can be.
TEST(Procedure, WhatComputesAtThisMachinesPeakIsAboveTheFloor) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "with a sanitizer's checks in it, what measures the roof is slower than a candidate";
#endif
  BusyLane lane;
  lane.tasks[0].min_flops = 2.0 * 192 * 200'000;
  lane.oracle.wait_ready();
  const Verdict verdict = lane.judge(
      "#pragma GCC target(\"prefer-vector-width=512\")\n"
      "extern \"C\" void kernel(const float* x, float* y, int n) {\n"
      "  float sums[192] = {}, factor = 0.5f, total = 0;\n"
      "  asm volatile(\"\" : \"+x\"(factor));\n"
      "  for (int round = 0; round < 200000; ++round)\n"
      "    for (float& sum : sums) sum = sum * factor + 1;\n"
      "  for (float sum : sums) total += sum;\n"
      "  asm volatile(\"\" : : \"x\"(total));\n"
      "  for (int i = 0; i < n; ++i) y[i] = x[i] * 2 + 1;\n}\n");
  EXPECT_EQ(verdict.kind, VerdictKind::kPass) << verdict.message;
  EXPECT_GT(verdict.candidate_us, verdict.floor_us);
}

TEST(Procedure, WhatIsBelowTheMeasuredFloorStaysAHack) {
  BusyLane lane;
  lane.tasks[0].min_flops = 1e15;  // no machine does that in a call
  lane.oracle.wait_ready();
  const Verdict verdict = lane.judge(kScaled);
  EXPECT_EQ(verdict.kind, VerdictKind::kHack);
  EXPECT_EQ(verdict.reason, "floor");
}

CallTime call_of(int64_t us) { return {{}, std::chrono::microseconds(us), {}}; }

TEST(EmptyCall, IsTheLeastBesideAndNeverMoreThanWhatIsTrusted) {
  const EmptyCall empty({call_of(9), call_of(5), call_of(7)});
  EXPECT_EQ(empty.us({call_of(6), call_of(8)}), 6);
  EXPECT_EQ(empty.us({call_of(40), call_of(50)}), 7);  // a candidate makes its own ones long
  EXPECT_EQ(empty.us({}), 7);
  EXPECT_EQ(EmptyCall().us({call_of(6)}), 0);
}

// Each attempt has a budget of its own: an honest candidate that is timed again does not run out of it.
TEST(Procedure, WhoIsTimedAgainHasAsMuchTimeAsBefore) {
  BusyLane lane;
  lane.tasks[0].max_speedup = 1e-9;
  lane.options.min_pairs = lane.options.max_pairs = 12;
  lane.options.run_budget = std::chrono::milliseconds(800);  // for 22 naps, and not for 34
  lane.oracle.wait_ready();
  const Verdict verdict =
      lane.judge(std::string("#include <time.h>\nstatic const timespec nap{0, 25000000};\n") +
                 "extern \"C\" void kernel(const float* x, float* y, int n) {\n"
                 "  if (n > 7) nanosleep(&nap, nullptr);\n"
                 "  for (int i = 0; i < n; ++i) y[i] = x[i] * 2 + 1;\n}\n");
  EXPECT_EQ(verdict.kind, VerdictKind::kSuspect) << verdict.message;
  EXPECT_TRUE(verdict.audited);
  EXPECT_GT(verdict.candidate_us, 25'000);  // and who sleeps pays for it
}

// Calls of some milliseconds, in each of which the neighbours have their turns.
TEST(Procedure, ABusyCoreNeitherAccusesNorChangesATime) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  const auto busy = [] {
    return BoxProcess::start([] {
      for (volatile unsigned i = 0;;) i = i + 1;
      return 0;
    });
  };
  const std::string long_one =
      "extern \"C\" void kernel(const float* x, float* y, int n) {\n"
      "  for (int pass = 0; pass < 400; ++pass) {\n"
      "    for (int i = 0; i < n; ++i) y[i] = x[i] * 2 + 1;\n"
      "    asm volatile(\"\" : : : \"memory\");\n  }\n}\n";
  {
    pin_to_core(0);
    BusyLane lane;
    lane.tasks[0].max_speedup = 20;  // far from what a plain loop reaches
    lane.oracle.wait_ready();
    const Verdict quiet = lane.judge(long_one);
    const BoxProcess one = busy(), another = busy();
    const Verdict loud = lane.judge(long_one);
    EXPECT_EQ(loud.kind, VerdictKind::kPass) << loud.message;
    EXPECT_LT(loud.candidate_us, 2 * quiet.candidate_us);  // by the wall's clock three times
    EXPECT_EQ(lane.judge(kScaled).kind, VerdictKind::kPass);
  }
  ::sched_setaffinity(0, sizeof before, &before);
}

}  // namespace
}  // namespace temper::env
