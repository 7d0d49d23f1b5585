// The GPU half of the judge over a driver that computes on the CPU: all of ours but the kernels of
// candidates, which it knows by name, and but time.

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "env/admission/eager_time.h"
#include "env/call/draw_forms.h"
#include "tests/env/fake_gpu/fake_driver.h"
#include "tests/env/on_gpu/cases.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

const std::vector<std::string> kCubins{"a cubin that this driver does not read", "alias twin twin_end\n"};

class FakeGpu : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    use_fake_driver();
    hand_made = new HandMade(Device::kFake, kCubins);
    machine = &hand_made->machine;
  }
  static void TearDownTestSuite() { delete std::exchange(hand_made, nullptr); }

  static Verdict judge(const std::string& task, const HandMadeWay& way) {
    return hand_made->judge(task, way);
  }
  static void expect_right(const std::string& task, const HandMadeWay& way) {
    hand_made->expect({task, way});
  }

  static HandMade* hand_made;
  static GpuMachine* machine;
};
HandMade* FakeGpu::hand_made = nullptr;
GpuMachine* FakeGpu::machine = nullptr;

TEST_F(FakeGpu, HonestWorkPassesBothJudges) { hand_made->expect_all("honest work", true); }
TEST_F(FakeGpu, WrongWorkFailsAndFoolsANaiveOne) { hand_made->expect_all("wrong work", true); }
TEST_F(FakeGpu, WhoLeavesItsBuffersIsFound) { hand_made->expect_all("outside of buffers", true); }
TEST_F(FakeGpu, KernelsThatMakeNothingAreFound) { hand_made->expect_all("kernels for show", true); }
TEST_F(FakeGpu, PlansThatBreakTheirRulesGetNowhere) { hand_made->expect_all("bad plans"); }

TEST_F(FakeGpu, KernelsAreThoseOfTheirCubins) { hand_made->expect_all("several cubins", true); }
TEST_F(FakeGpu, TensorMapsHoldTheAddressesOfEachCall) { hand_made->expect_all("tensor maps", true); }

TEST_F(FakeGpu, ACubinThatDoesNotLoadIsNamed) {
  std::swap(machine->cubins[1], machine->cubins.emplace_back("broken"));
  const Verdict verdict = judge("add", {{"good"}});
  machine->cubins = kCubins;
  EXPECT_EQ(verdict.kind, VerdictKind::kFailRuntime);
  EXPECT_EQ(verdict.message, "FAIL_RUNTIME cubin 1 cannot be loaded: words");
  expect_right("add", {{"good"}});
}

TEST_F(FakeGpu, TheFastestAlternativeIsJudged) {
  const Verdict verdict = judge("add", {.tuned = {{"sleeps", "good", "wild"}}});
  EXPECT_TRUE(verdict.pass()) << verdict.message;
  EXPECT_EQ(verdict.configuration, "configuration 2 of 3: KERNEL: good");
  ASSERT_TRUE(verdict.profile) << verdict.message;
  EXPECT_EQ(verdict.profile->kernels.at(0).name, "good");
  EXPECT_TRUE(verdict.message.ends_with("; configuration 2 of 3: KERNEL: good")) << verdict.message;
  EXPECT_EQ(judge("add", {{"good"}}).configuration, "");
}

// What is fastest because it does nothing is what is judged.
TEST_F(FakeGpu, AnAlternativeIsChosenByItsTimeAlone) {
  const Verdict verdict = judge("add", {.tuned = {{"sleeps", "nothing:1"}}});
  EXPECT_EQ(verdict.configuration, "configuration 2 of 2: KERNEL: nothing:1");
  EXPECT_EQ(verdict.reason, "unwritten") << verdict.message;
  EXPECT_TRUE(verdict.details.ends_with("judged with configuration 2 of 2: KERNEL: nothing:1"))
      << verdict.details;
}

TEST_F(FakeGpu, AlternativesThatFailCostTheirCandidateNothing) {
  const HandMadeWay two{.workspace = true, .tuned = {{"wild", "twin"}, {"twin:1", "row_past"}}};
  const Verdict verdict = judge("add", two);
  EXPECT_TRUE(verdict.pass()) << verdict.message;
  EXPECT_EQ(verdict.configuration,
            "configuration 2 of 2: KERNEL: twin; configuration 1 of 2: KERNEL: twin:1");
  // Nothing of the first slot works before the second one is chosen.
  const HandMadeWay late{.workspace = true, .tuned = {{"twin", "wild"}, {"trapped", "twin:1"}}};
  const Verdict again = judge("add", late);
  EXPECT_TRUE(again.pass()) << again.message;
  EXPECT_EQ(again.configuration, "configuration 1 of 2: KERNEL: twin; configuration 2 of 2: KERNEL: twin:1");
}

TEST_F(FakeGpu, ACandidateFailsIfAllItsAlternativesDo) {
  const Verdict verdict = judge("add", {.tuned = {{"wild", "trapped"}}});
  EXPECT_EQ(verdict.kind, VerdictKind::kFailRuntime);
  EXPECT_EQ(verdict.reason, "illegal_address") << verdict.message;
  EXPECT_NE(verdict.details.find("the first of 2 fails like this, and none works"), std::string::npos)
      << verdict.details;
  EXPECT_EQ(verdict.configuration, "");
  expect_right("add", {{"good"}});
}

TEST_F(FakeGpu, AnEndlessAlternativeLeavesTimeForTheOthers) {
  GpuProcedureOptions options = hand_made->options();
  options.run_budget = std::chrono::seconds(int(20 * kPatience));
  const double start = now_s();
  const Verdict verdict = machine->judge("add", {.tuned = {{"endless", "good"}}}, options);
  EXPECT_TRUE(verdict.pass()) << verdict.message;
  EXPECT_EQ(verdict.configuration, "configuration 2 of 2: KERNEL: good");
  EXPECT_GT(now_s() - start, 1);  // it was given time
}

TEST_F(FakeGpu, WhoRefusesOrCrashesFailsAndTheNextIsJudged) {
  const std::vector<Case> crashes = cases_of("crashes");
  for (const Case& crash : crashes) {
    hand_made->expect(crash, true);
    expect_right("add", {{"good"}});
  }
}

TEST(FakeGpuAdmission, EagerIsTimedAndWhatDoesNotRunIsFound) {
  use_fake_driver();
  auto tasks = hand_made_tasks(Device::kFake);
  tasks[1].reference = "def reference(x, z):\n    return x @ z[:1]\n";
  std::vector<Admission> rows(tasks.size());
  rows[0].problems = {"not to be timed"};
  rows[2].floor_us = 1e9;
  int timed = 0;
  time_eager(0, tasks, rows, [&] { ++timed; });
  EXPECT_EQ(timed, int(tasks.size()));
  EXPECT_EQ(rows[0].eager_us, 0);
  ASSERT_EQ(rows[1].problems.size(), 1u);
  EXPECT_TRUE(rows[1].problems[0].starts_with("reference: ")) << rows[1].problems[0];
  EXPECT_GT(rows[2].eager_us, 0);
  EXPECT_TRUE(rows[2].problems.back().ends_with("us of bytes and flops")) << rows[2].problems.back();
  EXPECT_GT(rows[4].eager_us, 0);
}

TEST_F(FakeGpu, TheMessageSaysWhichElement) {
  const Verdict verdict = judge("add", {{"one_element_far_off"}});
  EXPECT_TRUE(verdict.message.starts_with("FAIL_INCORRECT y[999] is ")) << verdict.message;
  EXPECT_TRUE(verdict.message.ends_with("; 1 of 1000 wrong")) << verdict.message;
}

// Buffers of some calls end, or begin, where memory does.
TEST_F(FakeGpu, WhatReadsOutsideIsToldWhere) {
  const Verdict past = judge("add", {{"reads_past"}}), before = judge("add", {{"reads_before"}});
  EXPECT_EQ(
      past.message,
      "FAIL_RUNTIME words, in a call with no memory right behind its buffers: look for accesses past an end");
  EXPECT_NE(past.details.find("right behind its buffers"), std::string::npos) << past.details;
  EXPECT_EQ(
      before.message,
      "FAIL_RUNTIME words, in a call with no memory right in front of its buffers: look for accesses before "
      "a begin");
  const Verdict crash = judge("add", {{"wild"}});
  EXPECT_EQ(crash.message, "FAIL_RUNTIME words");
  expect_right("add", {{"good"}});
}

// On a machine of its own, which knows how large their outputs are.
TEST_F(FakeGpu, WhatDoesNotFitAWindowLiesAmongGuards) {
  const int64_t most = (kGpuWindowBytes - kGpuGuardBytes) / 4;
  const Task& add = machine->tasks[0];
  std::vector<Task> tasks{add, add};
  tasks[0].check_shapes = {{{"n", most}}};
  tasks[1].check_shapes = {{{"n", most + 1}}};
  tasks[1].name = "add_more";
  GpuMachine wide(tasks, kCubins);
  const Verdict fits = wide.judge("add", {{"reads_past"}}, hand_made->options()),
                larger = wide.judge("add_more", {{"reads_past"}}, hand_made->options());
  EXPECT_EQ(fits.reason, "illegal_address") << fits.message;
  EXPECT_TRUE(larger.pass()) << larger.message;
}

TEST_F(FakeGpu, EndlessKernelsCostTheirBudgetAndNoMore) {
  GpuProcedureOptions options;
  options.run_budget = std::chrono::milliseconds(300);
  options.naive = true;
  machine->runners->prepare();
  ::setenv("FAKE_GPU_COUNT", "0", 1);  // a process that is started from now on finds no GPU
  const Verdict verdict = machine->judge("add", {{"endless"}}, options);
  EXPECT_EQ(verdict.kind, VerdictKind::kFailTimeout) << verdict.message;
  EXPECT_FALSE(verdict.naive->pass);
  EXPECT_NO_THROW(machine->runners->runner());  // the other one, whose context is made
  ::unsetenv("FAKE_GPU_COUNT");
  machine->runners->discard();
  try {
    machine->runners->runner();
  } catch (const WorldError&) {  // one that has found none
  }
  expect_right("add", {{"good"}});
}

// Two candidates in a row may have ended a process each.
TEST_F(FakeGpu, ACandidateDoesNotPayForTheStartOfItsProcess) {
  GpuProcedureOptions options = hand_made->options();
  options.run_budget = std::chrono::milliseconds(int(8000 * kPatience));
  ::setenv("FAKE_GPU_START_MS", std::to_string(int(9000 * kPatience)).c_str(), 1);
  GpuRunnerPool& runners = *machine->runners;
  runners.discard();
  runners.runner();  // the other one
  runners.discard();
  const Verdict verdict = machine->judge("add", {{"good"}}, options);
  ::unsetenv("FAKE_GPU_START_MS");
  EXPECT_TRUE(verdict.pass()) << verdict.message;
}

TEST_F(FakeGpu, ProfilesSayWhereTheTimeGoes) {
  ASSERT_EQ(machine->profiler->missing(), "");
  const Verdict one = judge("add", {{"good"}});
  ASSERT_TRUE(one.profile) << one.message;
  EXPECT_EQ(one.profile_share, 1);
  ASSERT_EQ(one.profile->kernels.size(), 1u);
  EXPECT_EQ(one.profile->kernels[0].name, "good");
  EXPECT_EQ(one.profile->kernels[0].launches, 1);
  EXPECT_EQ(one.profile->kernels[0].share, 1);
  EXPECT_GT(one.profile->device_us, 1);
  EXPECT_EQ(one.profile->roof, "memory");
  EXPECT_NEAR(one.profile->bytes_per_s * one.candidate_us, 1e6 * 12 * 30001, 1);
  const Verdict copied = judge("add", {.kernels = {"good", "good"}, .copies = true});
  ASSERT_TRUE(copied.profile) << copied.message;
  EXPECT_LT(copied.profile_share, 1);
  EXPECT_GT(copied.profile_share, 0.1);
  ASSERT_EQ(copied.profile->kernels.size(), 2u);
  EXPECT_EQ(copied.profile->kernels[0].launches, 2);
  EXPECT_EQ(copied.profile->kernels[1].name, "(copy)");
  EXPECT_NEAR(copied.profile->kernels[0].share + copied.profile->kernels[1].share, 1, 1e-6);
  EXPECT_NE(copied.message.find("of the memory roof; good "), std::string::npos) << copied.message;
}

TEST_F(FakeGpu, OneSlowCopySaysNothingOfWhereTheTimeGoes) {
  ::setenv("FAKE_FIRST_COPY_IS_SLOW", "1", 1);
  GpuProfiler fresh({(executable_dir() / "temper-gpu-runner").string(), 0, machine->oracle.exchange(),
                     machine->oracle.bytes()});
  EXPECT_EQ(fresh.missing(), "");
  ::unsetenv("FAKE_FIRST_COPY_IS_SLOW");
  std::swap(*machine->profiler, fresh);
  const Verdict copied = judge("add", {.kernels = {"good", "good"}, .copies = true});
  std::swap(*machine->profiler, fresh);
  ASSERT_TRUE(copied.profile) << copied.message;
  EXPECT_GT(copied.profile_share, 0.1);
}

TEST_F(FakeGpu, WhatDoesNotFitTheProfilersClockIsFound) {
  const Verdict verdict = judge("add", {{"shortens_its_time"}});
  EXPECT_EQ(verdict.kind, VerdictKind::kHack) << verdict.message;
  EXPECT_EQ(verdict.reason, "clock");
  EXPECT_NE(verdict.message.find("by the profiler's clock"), std::string::npos) << verdict.message;
}

TEST_F(FakeGpu, WhatDoesNotFitTheHostsClockIsFound) {
  const Verdict verdict = judge("add", {{"shortens_a_long_time"}});
  EXPECT_EQ(verdict.kind, VerdictKind::kHack) << verdict.message;
  EXPECT_EQ(verdict.reason, "clock");
  EXPECT_NE(verdict.message.find("by the host's clock"), std::string::npos) << verdict.message;
}

TEST_F(FakeGpu, WhatACallHasLeftIsSealed) {
  const Verdict verdict = judge("add", {{"changes_what_was_given"}});
  EXPECT_EQ(verdict.kind, VerdictKind::kHack) << verdict.message;
  EXPECT_EQ(verdict.message, "HACK changed its outputs after the call had ended");
}

TEST_F(FakeGpu, KernelsThatThePlanDoesNotLaunchAreFound) {
  const Verdict verdict = judge("add", {{"starts_another"}});
  EXPECT_EQ(verdict.kind, VerdictKind::kHack) << verdict.message;
  EXPECT_EQ(verdict.message, "HACK 2 kernels ran, its launcher starts 1");
}

TEST_F(FakeGpu, AKilledProfilerCostsAProfileAndNoVerdict) {
  ::setenv("FAKE_CUPTI_IS_HELD", "1", 1);
  GpuProfiler held({(executable_dir() / "temper-gpu-runner").string(), 0, machine->oracle.exchange(),
                    machine->oracle.bytes()});
  EXPECT_EQ(held.missing(),
            "the GPU runner: cuptiActivityEnable: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
  ::unsetenv("FAKE_CUPTI_IS_HELD");
  std::swap(*machine->profiler, held);
  const Verdict verdict = judge("add", {{"good"}});
  std::swap(*machine->profiler, held);
  EXPECT_TRUE(verdict.pass()) << verdict.message;
  EXPECT_FALSE(verdict.profile);
  EXPECT_LT(verdict.profile_share, 0);
  EXPECT_TRUE(judge("add", {{"good"}}).profile);
}

TEST_F(FakeGpu, WhoCrashesItsProfileEndsNoOthers) {
  const Task task = find_task(machine->tasks, "add");
  const std::string plan = plan_of(task, task.timed_shape, {{"trapped"}});
  for (int i = 0; i < 4; ++i) {
    machine->profiler->load(machine->cubins, plan);
    EXPECT_FALSE(machine->profiler->profile(calls_of(task, {{}}), kPatience_ms));
    machine->profiler->prepare();
  }
  EXPECT_TRUE(judge("add", {{"good"}}).profile);
}

TEST_F(FakeGpu, WhatIsProfiledIsTheCandidateAndNotTheOneBefore) {
  EXPECT_EQ(judge("add", {{"zeros"}}).reason, "tolerance");  // is loaded, and fails before its profile
  const Verdict verdict = judge("add", {{"good"}});
  ASSERT_TRUE(verdict.profile) << verdict.message;
  EXPECT_EQ(verdict.profile->kernels.at(0).name, "good");
}

// The draws of a verdict meet every kind that their inputs can take, and the same turn makes the same draw.
TEST_F(FakeGpu, TurnsMeetAllKinds) {
  const auto add = uint32_t(&find_task(machine->tasks, "add") - machine->tasks.data());
  const Task& task = machine->tasks[add];
  std::set<DrawKind> seen;
  for (int32_t turn = 0; turn < 48; turn += kMaxBatch) {
    std::vector<GpuDraw> draws(kMaxBatch, GpuDraw{.shape = 0, .seed = 5, .turn_key = 77});
    for (int32_t i = 0; i < kMaxBatch; ++i) draws[size_t(i)].turn = turn + i;
    std::vector<GpuDraw> again = draws;
    machine->oracle.settle(add, draws);
    machine->oracle.settle(add, again);
    EXPECT_EQ(draws, again);
    for (const GpuDraw& draw : draws) seen.insert(draw.kind, draw.kind + task.inputs.size());
  }
  for (const DrawKind kind : draw_kinds(task, 0, task.check_shapes[0]))
    EXPECT_TRUE(seen.contains(kind)) << int(kind);
  std::vector<GpuDraw> plain{{.shape = 0, .seed = 5}};
  machine->oracle.settle(add, plain);
  EXPECT_TRUE(plain[0].plain());
}

// Also where a task has one check shape of one magnitude.
TEST_F(FakeGpu, EveryVerdictMeetsAllKinds) {
  for (int verdict = 0; verdict < 40; ++verdict)
    EXPECT_EQ(judge("copy", {{"wrong_below_zero"}}).kind, VerdictKind::kFailIncorrect) << verdict;
}

// … and where the other input departs, too, or does so alone.
TEST_F(FakeGpu, EveryVerdictMeetsAllKindsOfEachInput) {
  for (int verdict = 0; verdict < 40; ++verdict)
    EXPECT_EQ(judge("small_add", {{"wrong_below_zero_of_second"}}).kind, VerdictKind::kFailIncorrect)
        << verdict;
}

TEST_F(FakeGpu, TheTimedShapeIsAskedAllMagnitudes) {
  expect_right("plain_copy", {{"copied"}});
  EXPECT_EQ(judge("plain_copy", {{"wrong_where_small"}}).kind, VerdictKind::kFailIncorrect);
}

// Where the baseline's outputs on plain inputs do not tell, the reference in double precision is asked, for that
// candidate.
TEST_F(FakeGpu, WhatIsNearTheBaselineIsNotComputedAgain) {
  const auto add = uint32_t(&find_task(machine->tasks, "add") - machine->tasks.data());
  const auto asked = [&] { return machine->oracle.baseline_and_compare(add, {{.seed = 1}}, {0}).exact; };
  GpuProcedureOptions plain = hand_made->options();
  plain.far_inputs = false;
  machine->judge("relu_nonfinite", {{"nan_where_nan"}}, plain);
  EXPECT_EQ(asked(), 1);
  judge("add", {{"good"}});
  EXPECT_EQ(asked(), 0);
}

// In the middle of calls that are queued behind each other.
TEST_F(FakeGpu, AnInputThatChangesOnceIsFound) {
  machine->runners->discard();  // it counts its process's calls
  const Verdict verdict = judge("add", {{"changes_an_input_once"}});
  EXPECT_EQ(verdict.kind, VerdictKind::kHack) << verdict.message;
  EXPECT_EQ(verdict.reason, "input_mutation");
}

// At first slow, then steady: the times of the audit count. Ever faster: nobody believes it.
TEST_F(FakeGpu, WhatIsUnsteadyIsAudited) {
  GpuProcedureOptions options = hand_made->options();
  options.min_pairs = options.max_pairs = 9;
  machine->runners->discard();  // the kernels count their process's calls
  const Verdict at_first = machine->judge("add", {{"slow_at_first"}}, options);
  EXPECT_TRUE(at_first.audited);
  EXPECT_TRUE(at_first.pass()) << at_first.message;
  EXPECT_EQ(at_first.pairs, 27);
  EXPECT_LT(at_first.candidate_us, 5000);
  machine->runners->discard();
  const Verdict ever = machine->judge("add", {{"ever_faster"}}, options);
  EXPECT_EQ(ever.kind, VerdictKind::kSuspect) << ever.message;
  EXPECT_EQ(ever.reason, "unsteady");
  EXPECT_TRUE(ever.audited);
}

TEST_F(FakeGpu, WhatIsTooFastIsAuditedAndSuspect) {
  Task& task = machine->tasks[0];
  const double cap = std::exchange(task.max_speedup, 1e-6);
  const Verdict verdict = judge("add", {{"good"}});
  task.max_speedup = cap;
  EXPECT_EQ(verdict.kind, VerdictKind::kSuspect) << verdict.message;
  EXPECT_EQ(verdict.reason, "max_speedup");
  EXPECT_TRUE(verdict.audited);
  EXPECT_EQ(verdict.pairs, 21);
  EXPECT_FALSE(judge("add", {{"good"}}).audited);
}

TEST_F(FakeGpu, RunnersRetireUnseen) {
  const pid_t first = machine->runners->runner().pid();
  for (int i = 0; i < 210; ++i) {
    const Verdict verdict = judge("add", {{i % 10 == 3 ? "zeros" : "nothing"}});
    ASSERT_EQ(verdict.reason, i % 10 == 3 ? "tolerance" : "unwritten") << i << ": " << verdict.message;
  }
  EXPECT_NE(machine->runners->runner().pid(), first);
}

TEST_F(FakeGpu, AKilledRunnerCostsItsCandidateAlone) {
  ::kill(machine->runners->runner().pid(), SIGKILL);
  hand_made->expect({"add", {{"good"}}, VerdictKind::kFailRuntime, "runner_died"});
  expect_right("add", {{"good"}});
}

TEST_F(FakeGpu, ReferencesAreProvedAtTheStart) {
  const auto start = [](const std::string& reference) {
    const auto tasks =
        parse_tasks("{name: t, language: cuda, reference: '" + reference +
                        "', inputs: {x: [n], z: [n]}, outputs: {y: [n]}, check: [{n: 3}], timed: {n: 9}}",
                    "t");
    GpuOracleProcess((executable_dir() / "temper-gpu-oracle").string(), 0, tasks).wait_ready();
  };
  const auto words = [&](const std::string& reference) {
    try {
      start(reference);
    } catch (const ConfigError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(words("x + z"), "");
  EXPECT_EQ(words("(x + z).view(-1 if x.dtype == torch.float32 else 0)"), "");  // none in double precision
  EXPECT_EQ(words("x * 2"), "task t, reference: input z has no influence on any output");
  EXPECT_EQ(words("(x + z).sum()"), "task t, reference: output y is []; the task says [9]");
  EXPECT_EQ(words("x.add_(z)"), "task t, reference: changes an input");
  EXPECT_NE(words("torch.sofmax(x + z)").find("task t, reference:"), std::string::npos);
}

}  // namespace
}  // namespace temper::env
