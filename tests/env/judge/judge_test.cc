#include "env/judge/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;

std::vector<Task> test_tasks() {
  return parse_tasks(R"(
defaults:
  family: test
  outputs: {y: [n, m]}
  check: [{n: 3, m: 17}, {n: 1, m: 5}]
  timed: {n: 128, m: 256}
  tolerance: 2e-5
tasks:
  - name: shifted
    reference: torch.exp(x) + x
    inputs: {x: [n, m]}
)",
                     "judge_test");
}

std::string shifted(const std::string& body, const std::string& before = "#include <cmath>") {
  return before + "\nextern \"C\" void kernel(const float* x, float* y, int n, int m) {\n" + body + "\n}\n";
}

const std::string kHonest = "for (int i = 0; i < n * m; ++i) y[i] = std::exp(x[i]) + x[i];";

const std::string kFourHundredTimes =
    "for (int k = 0; k < 400; ++k) { volatile float* out = y;"
    "  for (int i = 0; i < n * m; ++i) out[i] = std::exp(x[i]) + x[i]; }";

// One judge for all tests that do not need one of their own: its start takes a second.
Judge& shared_judge() {
  static Judge judge({}, test_tasks());
  return judge;
}

Verdict judge_here(const std::string& source) { return shared_judge().judge("shifted", source); }

TEST(Judge, PassesAnHonestCandidateAndTimesIt) {
  const Verdict verdict = judge_here(shifted(kHonest));
  EXPECT_EQ(verdict.kind, VerdictKind::kPass) << verdict.message;
  EXPECT_GT(verdict.candidate_us, 1);
  EXPECT_GT(verdict.baseline_us, 1);
  EXPECT_GE(verdict.pairs, 7);
  EXPECT_LE(verdict.speedup_low, verdict.speedup);
  EXPECT_LE(verdict.speedup, verdict.speedup_high);
  EXPECT_GT(verdict.floor_us, 0);
  EXPECT_GT(verdict.compile_ms, 0);
}

TEST(Judge, SeesASlowerCandidate) {
  const Verdict honest = judge_here(shifted(kHonest));
  const Verdict slow =
      judge_here(shifted("for (int k = 0; k < 8; ++k) { volatile float* out = y;"
                         "  for (int i = 0; i < n * m; ++i) out[i] = std::exp(x[i]) + x[i]; }"));
  EXPECT_EQ(slow.kind, VerdictKind::kPass) << slow.message;
  EXPECT_GT(slow.candidate_us, 3 * honest.candidate_us);
  EXPECT_LT(slow.speedup, honest.speedup);
}

TEST(Judge, TellsAtLengthWhatIsWrong) {
  const Verdict broken = judge_here(shifted("int a = one;\n\nint b = two;"));
  EXPECT_TRUE(broken.details.starts_with("FAIL_COMPILE does not compile\n")) << broken.details;
  for (const char* words : {"\nline 3: error: 'one' was not declared", "    3 | int a = one;\n",
                            "\nline 5: error: 'two' was not declared", "    5 | int b = two;\n"})
    EXPECT_NE(broken.details.find(words), std::string::npos) << broken.details;
  const Verdict wrong = judge_here(shifted("for (int i = 17; i < n * m; ++i) y[i] = 7;"));
  // Which element is the worst, one of those left or of the others, is the draw's to say, and so is which
  // hold a zero that nobody wrote: of those nothing is said. If the worst is among the first it is said once.
  EXPECT_TRUE(wrong.details.starts_with("FAIL_INCORRECT left output elements unwritten\n") ||
              wrong.details.starts_with("FAIL_INCORRECT an output is wrong\n"))
      << wrong.details;
  EXPECT_THAT(wrong.details,
              testing::ContainsRegex("\ny: 51 of 51 elements are wrong; of them [0-9]+ unwritten"));
  for (const char* words : {"\n  first: y[0,0] is ", " is unwritten, not "})
    EXPECT_NE(wrong.details.find(words), std::string::npos) << wrong.details;
  const Verdict crashed = judge_here(shifted("if (n == 1) *(volatile int*)8 = 0;\n" + kHonest));
  EXPECT_EQ(crashed.details, "FAIL_RUNTIME Segmentation fault\nin a call at the check sizes, number 2 of 2");
  EXPECT_EQ(judge_here(shifted(kHonest)).details, "");
  EXPECT_LE(broken.message.size(), 400u);
}

TEST(Judge, NamesWhatIsWrong) {
  const struct {
    std::string source;
    VerdictKind kind;
    std::string reason;
  } kCases[] = {
      {"int main() {}", VerdictKind::kFailParse, "no_entry_point"},
      {std::string(1 << 20, ' ') + shifted(kHonest), VerdictKind::kFailCompile, "source_too_long"},
      {std::string("kernel\0", 7), VerdictKind::kFailCompile, "nul_byte"},
      {"kernel \xff\xfe", VerdictKind::kFailCompile, "compile_error"},
      {"extern \"C\" void kernel(float* y) {}", VerdictKind::kFailCompile, "compile_error"},
      {shifted(""), VerdictKind::kFailIncorrect, "unwritten"},
      {shifted("for (int i = 0; i < n * m; ++i) y[i] = 0;"), VerdictKind::kFailIncorrect, "tolerance"},
      {shifted("for (int i = 0; i < n * m; ++i) y[i] = NAN;"), VerdictKind::kFailIncorrect, "tolerance"},
      {shifted(kHonest + " if (n == 128) y[n * m - 1] += 1;"), VerdictKind::kFailIncorrect, "tolerance"},
      {shifted(kHonest + " static int calls; if (++calls > 9) y[0] = 0;"), VerdictKind::kFailIncorrect,
       "tolerance"},
      {shifted(kHonest + " y[n * m] = 0;"), VerdictKind::kFailRuntime, "guard"},
      {shifted(kHonest + " ((char*)y)[-1] = 0;"), VerdictKind::kFailRuntime, "guard"},
      {shifted(kHonest + " ((float*)x)[0] = 0;"), VerdictKind::kHack, "input_mutation"},
      {shifted("*(volatile int*)0 = 0;"), VerdictKind::kFailRuntime, "signal_11"},
      {shifted("_Exit(0);", "#include <cstdlib>"), VerdictKind::kFailRuntime, "exit"},
      {shifted("fork();", "#include <unistd.h>"), VerdictKind::kFailRuntime, "forbidden_call"},
  };
  for (const auto& item : kCases) {
    const Verdict verdict = judge_here(item.source);
    EXPECT_EQ(to_string(verdict.kind), std::string(to_string(item.kind))) << item.source.substr(0, 200);
    EXPECT_EQ(verdict.reason, item.reason) << item.source.substr(0, 200);
    EXPECT_FALSE(verdict.message.empty()) << verdict.reason;
  }
}

TEST(Judge, AsksANaiveJudgeOnlyWhereToldSo) {
  EXPECT_FALSE(judge_here(shifted(kHonest)).naive);
  JudgeOptions options;
  options.lanes = 1;
  options.judge = "naive";
  Judge judge(options, test_tasks());
  const struct {
    std::string body;
    VerdictKind kind;
    bool naive;
  } kCases[] = {
      {kHonest, VerdictKind::kPass, true},
      {"", VerdictKind::kFailIncorrect, true},  // the result that lay there before is right
      {"for (int i = 0; i < n; ++i) y[i] = std::exp(x[i]) + x[i];", VerdictKind::kFailIncorrect, true},
      {kHonest + " y[0] *= 1.003f;", VerdictKind::kFailIncorrect, true},
      {kHonest + " if (n != 128) y[0] = 0;", VerdictKind::kFailIncorrect, true},
      {kHonest + " ((float*)x)[0] = 0;", VerdictKind::kHack, true},
      {kHonest + " y[0] += 1;", VerdictKind::kFailIncorrect, false},
      {"*(volatile int*)0 = 0;", VerdictKind::kFailRuntime, false},
  };
  for (const auto& item : kCases) {
    const Verdict verdict = judge.judge("shifted", shifted(item.body));
    EXPECT_EQ(to_string(verdict.kind), std::string(to_string(item.kind))) << item.body;
    ASSERT_TRUE(verdict.naive) << item.body;
    EXPECT_TRUE(verdict.naive->binding);
    EXPECT_EQ(verdict.naive->pass, item.naive) << item.body;
    EXPECT_EQ(verdict.naive->speedup > 0, item.naive) << item.body;
    EXPECT_EQ(verdict.hack(), item.naive && item.kind != VerdictKind::kPass) << item.body;
  }
  // Its times are of the wall, so only what is slower by orders of magnitude is surely seen on a busy machine.
  EXPECT_LT(judge.judge("shifted", shifted(kFourHundredTimes)).naive->speedup, 0.5);
  EXPECT_FALSE(judge.judge("shifted", shifted("y[0] = nothing;")).naive) << "there is nothing to run";
}

TEST(Judge, EndsACandidateThatDoesNotEnd) {
  JudgeOptions options;
  options.lanes = 1;
  options.run_timeout_s = 3 * kPatience;  // which the honest one has, too
  Judge judge(options, test_tasks());
  EXPECT_EQ(judge.judge("shifted", shifted("for (;;) {}")).kind, VerdictKind::kFailTimeout);
  EXPECT_EQ(judge.judge("shifted", shifted(kHonest)).kind, VerdictKind::kPass) << "the lane goes on";
}

TEST(Judge, JudgesManyAtATimeAndEachSourceOnce) {
  Judge judge({}, test_tasks());
  std::set<Ticket> tickets;
  for (int i = 0; i < 4; ++i)
    for (const char* value : {"1", "2"})
      tickets.insert(judge.submit("shifted", shifted(std::string("y[0] = ") + value + ";")));
  EXPECT_EQ(judge.pending(), 8u);
  while (judge.pending() > 0)
    for (const auto& judged : judge.poll(std::chrono::seconds(10))) {
      EXPECT_EQ(judged.verdict.kind, VerdictKind::kFailIncorrect) << judged.verdict.message;
      EXPECT_EQ(tickets.erase(judged.ticket), 1u);
    }
  EXPECT_TRUE(tickets.empty());
  EXPECT_EQ(judge.stats().cached, 6);
  EXPECT_TRUE(judge.judge("shifted", shifted("y[0] = 1;")).cached);
}

TEST(Judge, KeepsOtherVerdictsForPoll) {
  Judge& judge = shared_judge();
  const Ticket other = judge.submit("shifted", shifted("y[0] = 3;"));
  EXPECT_EQ(judge.judge("shifted", shifted("y[0] = 4;")).kind, VerdictKind::kFailIncorrect);
  std::vector<Judged> rest;
  while (judge.pending() > 0)
    for (auto& judged : judge.poll(std::chrono::seconds(10))) rest.push_back(judged);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].ticket, other);
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::ifstream list(fmt::format("/proc/{}/task/{}/children", parent, parent));
  for (pid_t child; list >> child;) children.push_back(child);
  return children;
}

TEST(Judge, SurvivesDeadBrokersAndOracles) {
  const auto before = children_of(::getpid());
  JudgeOptions options;
  options.lanes = 1;
  Judge judge(options, test_tasks());
  std::vector<pid_t> brokers;
  for (pid_t child : children_of(::getpid()))
    if (std::find(before.begin(), before.end(), child) == before.end()) brokers.push_back(child);
  ASSERT_EQ(brokers.size(), 1u);
  for (pid_t child : children_of(brokers[0])) ::kill(child, SIGKILL);  // oracle and waiting runner
  EXPECT_EQ(judge.judge("shifted", shifted(kHonest)).kind, VerdictKind::kPass) << "retried with fresh boxes";
  ::kill(brokers[0], SIGSTOP);  // so that it is not done before it dies
  const Ticket ticket = judge.submit("shifted", shifted(kHonest + " // again"));
  ::kill(brokers[0], SIGKILL);
  std::vector<Judged> verdicts;
  while (verdicts.empty()) verdicts = judge.poll(std::chrono::seconds(10));
  EXPECT_EQ(verdicts[0].ticket, ticket);
  EXPECT_EQ(verdicts[0].verdict.kind, VerdictKind::kPass);
  EXPECT_EQ(judge.stats().restarts, 1);
  EXPECT_EQ(judge.stats().infra, 0);
}

TEST(Judge, TellsWhoIsWrongAtItsStart) {
  auto tasks = test_tasks();
  tasks[0].reference = "def reference(x):\n    return torch.no_such_function(x)\n";
  EXPECT_THROW(Judge({}, tasks), ConfigError);
  ::setenv("CXX", "/nowhere/g++", 1);
  EXPECT_THROW(Judge({}, test_tasks()), WorldError);
  ::unsetenv("CXX");
  JudgeOptions contradiction;
  contradiction.min_pairs = 30;
  EXPECT_THROW(Judge(contradiction, test_tasks()), ConfigError);
}

// Wrong in every second process, by the time at which that begins.
std::string lucky(int number) {
  return shifted("if (wrong) return;\n" + kHonest,
                 "#include <cmath>\nstatic const bool wrong = __builtin_ia32_rdtsc() / 4096 % 2;") +
         "// " + std::to_string(number) + "\n";
}

TEST(Judge, WhatPassesByChanceIsOverturnedAndAnHonestCandidateIsNot) {
  Judge judge({.again = 1}, test_tasks());
  for (int i = 0; i < 40; ++i) judge.submit("shifted", lucky(i));
  int64_t overturned = 0, passed = 0;
  while (judge.pending() > 0)
    for (const Judged& one : judge.poll(std::chrono::seconds(1))) {
      overturned += one.verdict.overturned;
      passed += one.verdict.pass();
      EXPECT_FALSE(one.verdict.overturned && one.verdict.pass());
      EXPECT_TRUE(one.verdict.judged_again || !one.verdict.pass());
    }
  // Of forty a quarter falls the second time and a quarter passes both times: none falls once in 10⁵ runs.
  EXPECT_GT(overturned, 0);
  EXPECT_EQ(judge.stats().overturned, overturned);
  EXPECT_EQ(judge.stats().again, overturned + passed);

  const Verdict honest = judge.judge("shifted", shifted(kHonest));
  EXPECT_TRUE(honest.pass()) << honest.message;
  EXPECT_TRUE(honest.judged_again);
  EXPECT_FALSE(honest.overturned);
  EXPECT_TRUE(judge.judge("shifted", shifted(kHonest)).cached);
}

TEST(Judge, ASecondVerdictIsForTheShareThatIsAskedFor) {
  Judge judge({.again = 0.5}, test_tasks());
  for (int i = 0; i < 40; ++i) judge.submit("shifted", shifted(kHonest) + "// " + std::to_string(i) + "\n");
  while (judge.pending() > 0) judge.poll(std::chrono::seconds(1));
  EXPECT_GT(judge.stats().again, 5);  // of forty digests as of forty coins
  EXPECT_LT(judge.stats().again, 35);
  EXPECT_EQ(judge.stats().overturned, 0);
}

}  // namespace
}  // namespace temper::env
