#include "trainer/evaluate/module_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/policy/text/tokenizer_fixture.h"
#include "tests/trainer/fixtures.h"

namespace temper::trainer {

using env::ComparableResult;
using env::VerdictKind;
using testing::HasSubstr;

namespace {

ModuleAnswer module_answer(int64_t level, int64_t id, int64_t sample, const env::Verdict& verdict, double ms,
                           double ref_ms) {
  ModuleAnswer answer{.task = fmt::format("level{}_{}", level, id),
                      .problem = {.level = level, .id = id, .file = "x.py"},
                      .sample = sample,
                      .code = "",
                      .verdict = verdict};
  ComparableResult result;
  result.compiled = true;
  result.correctness = ms > 0;
  if (ms > 0) result.runtime = {ms, 0, ms, ms, 100};
  if (ref_ms > 0) result.ref_runtime = {ref_ms, 0, ref_ms, ref_ms, 100};
  answer.verdict.comparable = result;
  return answer;
}

// Comparable speedups 4 (a hack by our verdict), 1, and one that is wrong; strict ones 3, 0.7.
std::vector<ModuleAnswer> four() {
  std::vector<ModuleAnswer> answers{
      module_answer(1, 1, 0, failed(VerdictKind::kHack), 1, 4), module_answer(1, 2, 0, passed(3), 2, 2),
      module_answer(1, 3, 0, passed(0.7), 0, 2), module_answer(1, 4, 0, failed(VerdictKind::kInfra), 0, 0)};
  answers[3].verdict.comparable.reset();
  return answers;
}

TEST(ModuleScores, CountAsKernelBenchDoesAndAsTheVerdictsSay) {
  const ModuleScore comparable = comparable_score(four(), module_baselines(four()));
  EXPECT_EQ(comparable.problems, 4);
  EXPECT_EQ(comparable.infra, 1);
  EXPECT_DOUBLE_EQ(comparable.compiled, 0.75);
  EXPECT_DOUBLE_EQ(comparable.correct, 0.5);
  EXPECT_THAT(comparable.fast, testing::ElementsAre(0.5, 0.5, 0.5, 0.25, 0.25, 0.25));
  EXPECT_DOUBLE_EQ(comparable.speedup, 2);  // of 4 and 1
  const ModuleScore strict = strict_score(four());
  EXPECT_DOUBLE_EQ(strict.compiled, 0.75);
  EXPECT_DOUBLE_EQ(strict.correct, 0.5);
  EXPECT_THAT(strict.fast, testing::ElementsAre(0.5, 0.5, 0.25, 0.25, 0.25, 0.25));
  EXPECT_DOUBLE_EQ(strict.speedup, std::sqrt(2.1));
}

TEST(ModuleScores, ARightAnswerWithoutATimeIsCorrectAndNotFast) {
  std::vector<ModuleAnswer> answers{module_answer(1, 1, 0, passed(1), 1, 0)};
  const ModuleScore score = comparable_score(answers, module_baselines(answers));
  EXPECT_EQ(score.correct, 1);
  EXPECT_EQ(score.fast[0], 0);
  EXPECT_EQ(score.speedup, 0);
}

// Of the four the first two are weak, one of them by KernelBench's count alone.
TEST(ModuleScores, WeakProblemsHaveARowOfTheirOwn) {
  std::vector<ModuleAnswer> answers = four();
  answers[0].verdict.problem = env::ProblemNotes{.weak_comparable = {"zeros"}};
  answers[1].verdict.problem = env::ProblemNotes{.weak = {"stale"}, .weak_comparable = {"stale"}};
  answers[2].verdict.problem = env::ProblemNotes{};
  const ModuleScore comparable = comparable_score(answers, module_baselines(answers));
  EXPECT_EQ(comparable.weak, 2);
  EXPECT_DOUBLE_EQ(comparable.correct_on_others, 0);
  const ModuleScore strict = strict_score(answers);
  EXPECT_EQ(strict.weak, 1);
  EXPECT_DOUBLE_EQ(strict.correct_on_others, 1.0 / 3);
  const std::string table = fmt::format("{}", fmt::join(module_table({{"greedy", &answers}}), "\n"));
  EXPECT_THAT(table, HasSubstr("  weak problems                        2                   1\n"));
  EXPECT_THAT(table, HasSubstr("  correct on others                0.0 %              33.3 %"));
  Metrics metrics;
  add_metrics("val/greedy", answers, metrics);
  EXPECT_EQ(metrics.at("val/greedy/level1/comparable/weak"), 2);
  EXPECT_DOUBLE_EQ(metrics.at("val/greedy/level1/strict/correct_on_others"), 1.0 / 3);
}

TEST(ModuleScores, PublishedTimesTakeThePlaceOfOurOwn) {
  std::vector<ModuleAnswer> answers = four();  // 1 ms of 4, 2 ms of 2
  for (ModuleAnswer& answer : answers) answer.published = PublishedTime{};
  answers[0].published = PublishedTime{{.mean = 1.5, .num_trials = 100}, "NVIDIA H100"};
  EXPECT_EQ(module_baselines(answers).at("level1_1").mean, 4) << "what is written is our own";
  EXPECT_EQ(comparable_baselines(answers).size(), 1u);
  const ModuleScore score = comparable_score(answers, comparable_baselines(answers));
  EXPECT_DOUBLE_EQ(score.speedup, 1.5);
  EXPECT_DOUBLE_EQ(score.correct, 0.5);
  EXPECT_DOUBLE_EQ(score.fast[0], 0.25) << "a right answer without a time is not fast";
  const std::string table = fmt::format("{}", fmt::join(module_table({{"greedy", &answers}}), "\n"));
  EXPECT_THAT(
      table,
      HasSubstr("over published times of NVIDIA H100; 3 of the problems have none and count as not fast, "
                "such as level1_2"));
  EXPECT_THAT(table, HasSubstr("geometric mean                 1.5000×"));
  EXPECT_EQ(comparable_baselines(four()).at("level1_1").mean, 4);
}

TEST(ModuleScores, BaselinesAreTheFirstThatIsKnown) {
  const auto baselines =
      module_baselines({module_answer(1, 1, 0, failed(), 0, 0), module_answer(1, 1, 1, failed(), 0, 7),
                        module_answer(1, 1, 2, failed(), 0, 9)});
  EXPECT_EQ(baselines.at("level1_1").mean, 7);
}

// Two samples of two problems: 1 of 2, 0 of 2.
TEST(ModuleScores, ChancesAreMeansOverProblems) {
  const std::vector<ModuleAnswer> answers{
      module_answer(1, 1, 0, passed(1), 1, 1), module_answer(1, 1, 1, failed(), 0, 1),
      module_answer(1, 2, 0, failed(), 0, 1), module_answer(1, 2, 1, failed(), 0, 1)};
  const ModuleScore score = strict_score(answers);
  EXPECT_DOUBLE_EQ(score.pass_at.at(1), 0.25);
  EXPECT_DOUBLE_EQ(score.pass_at.at(2), 0.5);
  EXPECT_EQ(score.pass_at.size(), 2);
}

TEST(ModuleScores, TheTableHasALevelABlockAndBothCountsAColumn) {
  std::vector<ModuleAnswer> greedy = four(), sampled = four();
  greedy.push_back(module_answer(2, 1, 0, passed(2), 1, 3));
  sampled.push_back(module_answer(1, 1, 1, passed(2), 1, 3));
  const auto lines = module_table({{"greedy", &greedy}, {"sampled", &sampled}});
  const std::string table = fmt::format("{}", fmt::join(lines, "\n"));
  EXPECT_THAT(table,
              HasSubstr("level 1: 4 problems; 2 of the answers could not be judged and count as wrong\n"));
  EXPECT_THAT(
      table, HasSubstr("   greedy comparable       greedy strict  sampled comparable      sampled strict\n"));
  EXPECT_THAT(table, HasSubstr("  fast_1.0                        25.0 %              25.0 %"));
  EXPECT_THAT(table, HasSubstr("  geometric mean                 2.0000×"));
  EXPECT_THAT(table, HasSubstr("  pass@2"));
  EXPECT_THAT(table, HasSubstr("level 2: 1 problem\n"));
  EXPECT_TRUE(module_table({}).empty());
  Metrics metrics;
  add_metrics("val/greedy", greedy, metrics);
  EXPECT_DOUBLE_EQ(metrics.at("val/greedy/level1/strict/fast_0.8"), 0.25);
  EXPECT_DOUBLE_EQ(metrics.at("val/greedy/level2/comparable/speedup"), 3);
}

TEST(ModuleScores, AnswersAreTheLastTurnsToProblemsInPyTorch) {
  const policy::Tokenizer tokenizer = policy::code_tokenizer();
  rollout::Trajectory t;
  t.task = "level1_1";
  t.sample = 3;
  rollout::Segment& row = t.segments.emplace_back();
  for (const char* text : {"```python\nfirst\n```\n", "```python\nsecond\n```\n"}) {
    const auto begin = int32_t(row.ids.size());
    row.append(tokenizer.encode(text), rollout::Role::kPlan);
    t.turns.push_back(
        {.begin = begin, .end = int32_t(row.ids.size()), .verdict = passed(double(t.turns.size()) + 1)});
  }
  rollout::Trajectory other = t;
  other.task = "saxpy";
  std::vector<env::Task> tasks(2);
  tasks[0].name = "saxpy";
  tasks[1].name = "level1_1";
  tasks[1].module = env::ModuleProblem{.level = 1, .id = 1, .file = "1_P.py"};
  const auto answers =
      module_answers(tasks, {.step = 0, .groups = {{"saxpy", {other}}, {"level1_1", {t}}}}, tokenizer, false);
  ASSERT_EQ(answers.size(), 1);
  EXPECT_EQ(answers[0].task, "level1_1");
  EXPECT_EQ(answers[0].sample, 3);
  EXPECT_EQ(answers[0].code, "second\n");
  EXPECT_EQ(answers[0].verdict.speedup, 2);
}

}  // namespace
}  // namespace temper::trainer
