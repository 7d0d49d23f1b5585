// The GPU half of the judge, from a cubin and plans made by hand to the verdict.

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/env/on_gpu/cases.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

class GpuJudge : public testing::Test {
 protected:
  // The processes of all tests; a machine without a GPU says so once.
  void SetUp() override {
    if (!hand_made && missing.empty()) {
      try {
        const auto folder = executable_dir() / "tests";
        hand_made = new HandMade(Device::kGpu, {read_file(folder / "gpu_candidates.cubin"),
                                                read_file(folder / "gpu_candidates_twin.cubin")});
        machine = &hand_made->machine;
      } catch (const std::exception& e) {
        missing = e.what();
      }
    }
    if (!machine && missing.find("no NVIDIA driver") == std::string::npos &&
        missing.find("sees no GPU") == std::string::npos)
      FAIL() << missing;
    if (!machine) GTEST_SKIP() << missing;
  }

  static Verdict judge(const std::string& task, const HandMadeWay& way, GpuProcedureOptions options = {}) {
    return machine->judge(task, way, options);
  }
  static void expect_pass(const std::string& task, const HandMadeWay& way) { hand_made->expect({task, way}); }

  static HandMade* hand_made;
  static GpuMachine* machine;
  static std::string missing;
};
HandMade* GpuJudge::hand_made = nullptr;
GpuMachine* GpuJudge::machine = nullptr;
std::string GpuJudge::missing;

TEST_F(GpuJudge, HonestWorkPassesBothJudges) { hand_made->expect_all("honest work", true); }
TEST_F(GpuJudge, WrongWorkFailsAndFoolsANaiveOne) { hand_made->expect_all("wrong work", true); }
TEST_F(GpuJudge, WhoLeavesItsBuffersIsFound) { hand_made->expect_all("outside of buffers", true); }
TEST_F(GpuJudge, KernelsThatMakeNothingAreFound) { hand_made->expect_all("kernels for show", true); }
TEST_F(GpuJudge, PlansThatBreakTheirRulesGetNowhere) { hand_made->expect_all("bad plans"); }

TEST_F(GpuJudge, KernelsAreThoseOfTheirCubins) { hand_made->expect_all("several cubins", true); }
TEST_F(GpuJudge, TensorMapsHoldTheAddressesOfEachCall) { hand_made->expect_all("tensor maps", true); }

TEST_F(GpuJudge, TheFastestAlternativeIsJudged) {
  const double start = now_s();
  const Verdict verdict = judge("add", {.tuned = {{"slow", "good", "wild"}}});
  std::printf("   %.0f ms to choose and judge\n", (now_s() - start) * 1e3);
  EXPECT_TRUE(verdict.pass()) << verdict.message;
  EXPECT_EQ(verdict.configuration, "configuration 2 of 3: KERNEL: good");
  EXPECT_GT(judge("add", {{"good"}}).speedup, 0.8 * verdict.speedup);
}

TEST_F(GpuJudge, WhoRefusesOrCrashesFailsAndTheNextIsJudged) {
  const std::string crashes = "crashes";
  for (const Case& crash : cases_of(crashes)) {
    hand_made->expect(crash);
    const double start = now_s();
    expect_pass("small_add", {{"good"}});
    std::printf("   the next verdict after %.0f ms\n", (now_s() - start) * 1e3);
  }
}

// Events, the host's clock and the profiler's agree, and where the time goes adds up.
TEST_F(GpuJudge, ProfilesSayWhereTheTimeGoes) {
  if (!machine->profiler->missing().empty()) GTEST_SKIP() << machine->profiler->missing();
  const Verdict one = judge("add", {{"good"}});
  ASSERT_TRUE(one.pass() && one.profile) << one.message;
  EXPECT_EQ(one.profile_share, 1);
  EXPECT_EQ(one.profile->kernels.size(), 1u);
  EXPECT_EQ(one.profile->kernels[0].name, "good");
  EXPECT_NEAR(one.profile->device_us / one.candidate_us, 1, 0.25);  // events see the launch, too
  EXPECT_EQ(one.profile->roof, "memory");
  EXPECT_GT(one.profile->roof_share, 0.5);
  EXPECT_LT(one.profile->roof_share, 1.05);
  const Verdict two = judge("add", {{"through_workspace", "from_workspace"}, "flat", true});
  ASSERT_TRUE(two.pass() && two.profile) << two.message;
  EXPECT_EQ(two.profile->kernels.size(), 2u);
  EXPECT_NEAR(two.profile->kernels[0].share + two.profile->kernels[1].share, 1, 1e-3);
  const Verdict copied = judge("add", {.kernels = {"good"}, .copies = true});
  ASSERT_TRUE(copied.pass() && copied.profile) << copied.message;
  EXPECT_NEAR(copied.profile_share, 0.6, 0.15);  // three streams of memory against two
  double most_ms = 0;
  for (int i = 0; i < 10; ++i) {
    const double with = judge("small_add", {{"good"}}).run_ms;
    most_ms = std::max(most_ms, with);
  }
  std::printf("   the slowest of ten profiled verdicts: %.1f ms\n", most_ms);
}

TEST_F(GpuJudge, EndlessKernelsCostTheirBudgetAndNoMore) {
  GpuProcedureOptions options;
  options.run_budget = std::chrono::milliseconds(500);
  for (const char* kernel : {"endless", "endless_when_timed"}) {
    const double start = now_s();
    const Verdict verdict = judge("add", {{kernel}}, options);
    EXPECT_EQ(verdict.kind, VerdictKind::kFailTimeout) << verdict.message;
    const double judged = now_s();
    expect_pass("small_add", {{"good"}});
    std::printf("   %s: %.0f ms, the next verdict after %.0f ms\n", kernel, (judged - start) * 1e3,
                (now_s() - judged) * 1e3);
    EXPECT_LT(now_s() - judged, kPatience_s);
  }
}

TEST_F(GpuJudge, TimesAreThoseOfTheKernel) {
  const Verdict verdict = judge("small_add", {{"fifty_us"}});
  EXPECT_GT(verdict.candidate_us, 50);
  EXPECT_LT(verdict.candidate_us, 60);
}

TEST_F(GpuJudge, SpeedupsRepeat) {
  for (const auto& [task, way] :
       std::vector<std::pair<std::string, HandMadeWay>>{{"small_add", {{"good"}}},
                                                        {"add", {{"good"}}},
                                                        {"softmax", {{"softmax"}, "rows"}},
                                                        {"product", {{"product"}, "tiles"}}}) {
    std::vector<double> speedups;
    for (int i = 0; i < 10; ++i) speedups.push_back(judge(task, way).speedup);
    const auto [least, most] = std::minmax_element(speedups.begin(), speedups.end());
    std::printf("   %s: speedups of 10 judgings %.3f to %.3f, %.1f %%\n", task.c_str(), *least, *most,
                100 * (*most / *least - 1));
    EXPECT_LT(*most / *least, 1.15) << task;
  }
}

TEST_F(GpuJudge, AManyThousandthCandidateIsAsGoodAsTheFirst) {
  machine->loud = false;
  for (int i = 0; i < 210; ++i) {  // past the age at which a runner retires
    const Verdict verdict = judge("small_add", {{i % 10 == 3 ? "zeros" : "good"}});
    ASSERT_EQ(verdict.pass(), i % 10 != 3) << i << ": " << verdict.message;
  }
}

}  // namespace
}  // namespace temper::env
