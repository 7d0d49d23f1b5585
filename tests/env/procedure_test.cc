#include "env/broker/procedure.h"

#include <gtest/gtest.h>

#include "tests/env/boxes.h"

namespace temper {
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
  EmptyCalls empty;
  OracleProcess oracle{TEMPER_BINARY_DIR "/temper-oracle", tasks};

  Verdict judge(const std::string& source) {
    RunnerProcess runner(test_runner_options());
    return Procedure(options, test_toolchain(), roofs, empty, oracle, runner, tasks, 0).judge(source);
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

}  // namespace
}  // namespace temper
