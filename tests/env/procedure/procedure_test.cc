#include "env/procedure/procedure.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/env/boxes.h"
#include "tests/env/busy_neighbours.h"

namespace temper::env {
namespace {

constexpr const char* kScale =
    "{name: scale, reference: x * 2 + 1, inputs: {x: [n]}, outputs: {y: [n]}, check: [{n: 7}], "
    "timed: {n: 65536}}";
constexpr const char* kScaled =
    "extern \"C\" void kernel(const float* x, float* y, int n) {\n"
    "  for (int i = 0; i < n; ++i) y[i] = x[i] * 2 + 1;\n}\n";
// Some milliseconds.
constexpr const char* kScaledManyTimes =
    "extern \"C\" void kernel(const float* x, float* y, int n) {\n"
    "  for (int pass = 0; pass < 400; ++pass) {\n"
    "    for (int i = 0; i < n; ++i) y[i] = x[i] * 2 + 1;\n"
    "    asm volatile(\"\" : : : \"memory\");\n  }\n}\n";

ProcedureOptions test_options() {
  ProcedureOptions options{.compile = test_quota(), .run_budget = kPatience_ms};
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
    return judged_at_last([&] {
      RunnerProcess runner(test_runner_options());
      return Procedure(options, {test_toolchain()}, roofs, oracle, runner, tasks, 0).judge(source);
    });
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
  // So slow that no noise of a busy core makes it look faster than the baseline, which would leave it in doubt.
  const Verdict verdict = lane.judge(kScaledManyTimes);
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

// Each attempt has a budget of its own: an honest candidate that is timed again does not run out of it. It naps in 16 calls that
// check it, and in each pair: one budget is enough for the first attempt and for 39 more naps, and not for the 40 of the second.
TEST(Procedure, WhoIsTimedAgainHasAsMuchTimeAsBefore) {
  BusyLane lane;
  lane.tasks[0].max_speedup = 1e-9;
  constexpr int kNap_ms = 60, kPairs = 40;
  lane.options.min_pairs = lane.options.max_pairs = kPairs;
  lane.options.run_budget = std::chrono::milliseconds(kNap_ms * (16 + 2 * kPairs - 1));
  lane.oracle.wait_ready();
  const Verdict verdict = lane.judge(
      fmt::format("#include <time.h>\nstatic const timespec nap{{0, {}}};\n", kNap_ms * 1'000'000) +
      "extern \"C\" void kernel(const float* x, float* y, int n) {\n"
      "  if (n > 7) nanosleep(&nap, nullptr);\n"
      "  for (int i = 0; i < n; ++i) y[i] = x[i] * 2 + 1;\n}\n");
  EXPECT_EQ(verdict.kind, VerdictKind::kSuspect) << verdict.message;
  EXPECT_TRUE(verdict.audited);
  EXPECT_GT(verdict.candidate_us, kNap_ms * 1e3);  // and who sleeps pays for it
}

// Calls in each of which the neighbours have their turns. By the wall's clock they are six times as long, while what shares caches and
// execution units with them makes them hardly twice as long.
TEST(Procedure, ABusyCoreNeitherAccusesNorChangesATime) {
  const OnCore all_of_it(last_core());
  BusyLane lane;
  lane.tasks[0].max_speedup = 20;  // far from what a plain loop reaches
  lane.oracle.wait_ready();
  const Verdict quiet = lane.judge(kScaledManyTimes);
  const std::vector<BoxProcess> neighbours = busy_neighbours(last_core(), 5);
  const Verdict loud = lane.judge(kScaledManyTimes);
  EXPECT_EQ(loud.kind, VerdictKind::kPass) << loud.message;
  EXPECT_LT(loud.candidate_us, 3 * quiet.candidate_us);
  EXPECT_EQ(lane.judge(kScaled).kind, VerdictKind::kPass);
}

}  // namespace
}  // namespace temper::env
