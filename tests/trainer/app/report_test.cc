#include "trainer/app/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "rollout/conversation.h"
#include "rollout/trajectory_file.h"
#include "tests/policy/text/small_tokenizer_json.h"
#include "tests/policy/text/tokenizer_fixture.h"
#include "tests/trainer/fixtures.h"
#include "trainer/app/report/charts.h"
#include "trainer/app/report/conversations.h"
#include "trainer/app/report/curves.h"
#include "trainer/app/report/held_out.h"
#include "trainer/app/report/watch.h"

namespace temper::trainer {

using env::VerdictKind;
using policy::Tokenizer;
using rollout::pointers_to;
using rollout::Role;
using rollout::Trajectory;

namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Report : public testing::Test {
 protected:
  Report() { fs::create_directories(root_); }
  ~Report() override { fs::remove_all(root_); }

  fs::path write(const std::string& run, const std::string& config, const std::string& metrics) const {
    fs::create_directories(root_ / run);
    std::ofstream(root_ / run / "config.yaml") << config;
    std::ofstream(root_ / run / "metrics.jsonl") << metrics;
    return root_ / run;
  }
  static std::string config(int seed, const std::string& advantage) {
    return fmt::format("run: {{seed: {}, name: x{}, steps: 100}}\nadvantage: {{name: {}}}\n", seed, seed,
                       advantage);
  }
  static std::string steps(int count, double reward) {
    std::string text;
    for (int step = 1; step <= count; ++step)
      text += fmt::format(
          "{{\"critic/rewards/mean\":{},\"timing_s/step\":2.0,\"timing_s/gen\":0.5,"
          "\"env/verdict/PASS\":0.25,\"env/verdict/HACK\":0.75,\"step\":{}}}\n",
          reward, step);
    return text;
  }

  const fs::path root_ = fs::temp_directory_path() / fmt::format("temper_report_{}", ::getpid());
};

TEST_F(Report, RefusesAConfigWhoseAliasesNeverEnd) {
  const auto error = [&](const std::string& config) -> std::string {
    try {
      read_run(write("a", config, ""));
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_THAT(error("run: &a {b: *a}\n"), HasSubstr("config.yaml:1: "));
  std::string laughs = "a0: &a0 {x: 1, y: 1}\n";
  for (int i = 1; i < 40; ++i) laughs += fmt::format("a{}: &a{} {{x: *a{}, y: *a{}}}\n", i, i, i - 1, i - 1);
  EXPECT_THAT(error(laughs), HasSubstr("aliases followed"));
  EXPECT_EQ(error("run: &a {steps: 3}\nmore: *a\n"), "none");
}

TEST_F(Report, AStepThatIsNoNumberOfOneIsABadLine) {
  const fs::path file = root_ / "metrics.jsonl";
  std::ofstream(file) << "{\"a\":1.0,\"step\":1}\n{\"a\":2.0,\"step\":1e300}\n{\"a\":3.0,\"step\":-1e300}\n";
  MetricsFile metrics(file);
  EXPECT_EQ(metrics.read_on(), 1);
  EXPECT_EQ(metrics.bad_lines(), 2);
}

TEST_F(Report, ReadsMetricsAsFarAsTheyAreWritten) {
  const fs::path file = root_ / "metrics.jsonl";
  std::ofstream out(file);
  MetricsFile metrics(file);
  out << "{\"a\":1.0,\"step\":1}\n{\"a\":2.0,\"st" << std::flush;
  EXPECT_EQ(metrics.read_on(), 1);
  EXPECT_TRUE(metrics.half_a_line());
  out << "ep\":2}\nnonsense\n{\"a\":null,\"step\":3}\n" << std::flush;
  EXPECT_EQ(metrics.read_on(), 2);
  EXPECT_FALSE(metrics.half_a_line());
  EXPECT_EQ(metrics.bad_lines(), 1);
  EXPECT_EQ(metrics.series().at("a"), (Series{{1, 1}, {2, 2}}));
}

TEST_F(Report, AStepThatIsSaidAnewTakesThePlaceOfWhatFollowedIt) {
  const fs::path file = root_ / "metrics.jsonl";
  std::ofstream(file)
      << "{\"a\":1,\"step\":1}\n{\"a\":2,\"step\":2}\n{\"a\":3,\"step\":3}\n{\"a\":20,\"step\":2}\n";
  MetricsFile metrics(file);
  metrics.read_on();
  EXPECT_EQ(metrics.series().at("a"), (Series{{1, 1}, {2, 20}}));
}

TEST_F(Report, GroupsRunsThatDifferInTheirSeedAlone) {
  const std::vector<RunRecord> runs = {read_run(write("a", config(1, "grpo"), "")),
                                       read_run(write("b", config(1, "trloo"), "")),
                                       read_run(write("c", config(2, "grpo"), ""))};
  const auto groups = group_runs(runs);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_THAT(groups[0].runs, ElementsAre(&runs[0], &runs[2]));
  EXPECT_EQ(group_runs({runs[0]})[0].label, "a");
  EXPECT_EQ(groups[0].label, "grpo");
  EXPECT_EQ(groups[1].label, "trloo");
  const auto found = differences(groups);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].key, "advantage.name");
}

TEST_F(Report, CallsTheCellsOfASweepByTheirNames) {
  const auto run = [&](const std::string& name, int seed, const std::string& advantage,
                       const std::string& judge) {
    const std::string text = fmt::format("run: {{seed: {}}}\nadvantage: {{name: {}}}\nenv: {{judge: {}}}\n",
                                         seed, advantage, judge);
    return read_run(write(name, text, ""));
  };
  std::vector<RunRecord> runs = {run("fooled-seed1", 1, "grpo", "naive"),
                                 run("fooled-seed2", 2, "grpo", "naive"),
                                 run("plain-seed1", 1, "trloo", "full")};
  EXPECT_EQ(group_runs(runs)[0].label, "fooled");
  EXPECT_EQ(group_runs(runs)[1].label, "plain-seed1") << "one run is itself";
  runs.push_back(run("other", 1, "rloo", "full"));
  EXPECT_EQ(group_runs(runs)[0].label, "name grpo, judge naive");
}

TEST_F(Report, AStartingPointOfTheSeedsOwnSetsNothingApart) {
  const auto with_path = [&](int seed, const std::string& path) {
    return config(seed, "grpo") + "model: {path: " + path + "}\n";
  };
  const std::vector<RunRecord> runs = {read_run(write("a", with_path(1, "starts/base-seed1/final"), "")),
                                       read_run(write("b", with_path(12, "starts/base-seed12/final"), "")),
                                       read_run(write("c", with_path(3, "starts/base-seed12/final"), ""))};
  const auto groups = group_runs(runs);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_THAT(groups[0].runs, ElementsAre(&runs[0], &runs[1]));
}

TEST(Curve, ThinsToItsPoints) {
  Series series;
  for (int64_t step = 1; step <= 1000; ++step) series.emplace_back(step, double(step));
  const Curve curve = make_curve({&series}, 1000, {.points = 10});
  ASSERT_EQ(curve.mean.size(), 10u);
  EXPECT_DOUBLE_EQ(curve.mean[0], 50.5);
  EXPECT_DOUBLE_EQ(curve.step[0], 50.5);
  EXPECT_DOUBLE_EQ(curve.mean[9], 950.5);
  EXPECT_THAT(curve.low, IsEmpty());
}

TEST(Curve, MeanAndSpreadOverRunsEndWhereMostRunsHaveEnded) {
  const Series a = {{1, 1}, {2, 1}, {3, 5}}, b = {{1, 3}, {2, 3}}, c = {{1, 5}, {2, 5}};
  const Curve curve = make_curve({&a, &b, &c}, 3, {});
  EXPECT_THAT(curve.mean, ElementsAre(3, 3));
  EXPECT_THAT(curve.low, ElementsAre(1, 1));
  EXPECT_THAT(curve.high, ElementsAre(5, 5));
}

TEST(Curve, RunsOfAboutTheSameLengthEndTogether) {
  Series a, b;
  for (int64_t step = 1; step <= 10; ++step) a.emplace_back(step, 1), b.emplace_back(step, 3);
  b.emplace_back(11, 3);
  EXPECT_EQ(make_curve({&a, &b}, 11, {}).step.back(), 10);
  for (int64_t step = 12; step <= 20; ++step) b.emplace_back(step, 3);
  EXPECT_EQ(make_curve({&a, &b}, 20, {}).step.back(), 20);
}

TEST(Curve, SmoothsByAMovingMeanAndKeepsWhatWasThere) {
  const Series series = {{1, 0}, {2, 3}, {3, 0}, {4, 3}};
  const Curve curve = make_curve({&series}, 4, {.points = 240, .smooth = 0.5});
  EXPECT_THAT(curve.mean, ElementsAre(1.5, 1, 2, 1.5));
  EXPECT_THAT(curve.raw_low, ElementsAre(0, 3, 0, 3));
  EXPECT_THAT(curve.raw_high, ElementsAre(0, 3, 0, 3));
}

TEST(Curve, APointOfSeveralStepsKeepsTheirExtremes) {
  Series series;
  for (int64_t step = 1; step <= 8; ++step) series.emplace_back(step, step == 6 ? 100 : double(step));
  const Curve curve = make_curve({&series}, 8, {.points = 2, .smooth = 0.1});
  EXPECT_THAT(curve.raw_low, ElementsAre(1, 5));
  EXPECT_THAT(curve.raw_high, ElementsAre(4, 100));
}

TEST(Curve, LeavesOutWhatIsNotFinite) {
  const Series series = {{1, 1}, {2, std::nan("")}, {3, 3}};
  EXPECT_THAT(make_curve({&series}, 3, {}).mean, ElementsAre(1, 3));
}

TEST(Curve, EvaluationsOfRunsThatEndedApartStandTogether) {
  const Series a = {{0, 0.2}, {90, 0.6}}, b = {{0, 0.4}, {110, 0.8}};
  const Curve curve = make_evaluation_curve({&a, &b});
  EXPECT_THAT(curve.step, ElementsAre(0, 100));
  EXPECT_THAT(curve.mean, ElementsAre(testing::DoubleEq(0.3), testing::DoubleEq(0.7)));
}

TEST(Curve, PartsThatAStepDoesNotNameAreNone) {
  const Series whole = {{1, 1}, {2, 1}, {3, 1}}, part = {{2, 0.5}};
  const Stack stack = make_stack({{&part, nullptr}}, {&whole, &whole}, 3, 100);
  EXPECT_THAT(stack.step, ElementsAre(1, 2, 3));
  EXPECT_THAT(stack.values, ElementsAre(ElementsAre(0, 0.25, 0)));
}

TEST_F(Report, TimeAndVerdictsAddUpToTheStep) {
  const std::vector<RunRecord> runs = {read_run(write("a", config(1, "grpo"), steps(3, 1)))};
  const auto groups = group_runs(runs);
  const auto time = time_stacks(groups);
  EXPECT_EQ(time["parts"], nlohmann::json({"generate", "judge", "learn", "other"}));
  EXPECT_EQ(time["groups"][0]["values"][0][0], 0.5);
  EXPECT_EQ(time["groups"][0]["values"][3][0], 1.5);
  const auto verdicts = verdict_stacks(groups);
  EXPECT_EQ(verdicts["parts"], nlohmann::json({"PASS", "HACK"}));
  EXPECT_EQ(verdicts["groups"][0]["values"][1][2], 0.75);
}

TEST_F(Report, HeldOutScoresHaveASpreadOverSeeds) {
  const auto evaluated = [](double before, double after) {
    return fmt::format(
        "{{\"val/sampled/correct\":{},\"step\":0}}\n{{\"val/sampled/correct\":{},\"step\":9}}\n", before,
        after);
  };
  const std::vector<RunRecord> runs = {read_run(write("a", config(1, "grpo"), evaluated(0.2, 0.6))),
                                       read_run(write("b", config(2, "grpo"), evaluated(0.4, 0.8))),
                                       read_run(write("c", config(3, "grpo"), ""))};
  const BeforeAfter found = before_after(group_runs(runs)[0], "val/sampled", "correct");
  EXPECT_EQ(found.after.count, 2);
  EXPECT_EQ(before_after_text(found, true), "30.0 ± 14.1 → 70.0 ± 14.1 %");
  EXPECT_EQ(before_after_text({}, false), "– → –");
}

TEST(Interval, OfASmallCount) {
  // Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
  const auto expect = [](int64_t right, int64_t count, double low, double high) {
    const ShareInterval found = wilson_interval(double(right) / double(count), count);
    EXPECT_NEAR(found.low, low, 5e-5) << right << " of " << count;
    EXPECT_NEAR(found.high, high, 5e-5) << right << " of " << count;
  };
  expect(81, 263, 0.2553, 0.3662);
  expect(15, 148, 0.0624, 0.1605);
  expect(0, 20, 0, 0.1611);
  expect(1, 29, 0.0061, 0.1718);
  EXPECT_EQ(wilson_interval(0, 0).high, 1);
}

TEST_F(Report, HeldOutScoresOfOneRunHaveAnIntervalForTheirAnswers) {
  const fs::path dir = write("a", config(1, "grpo"),
                             "{\"val/sampled/turn_1/correct\":0.75,\"val/greedy/correct\":1.0,"
                             "\"val/greedy/reward\":1.0,\"step\":9}\n");
  // Four samples of a task, of which one was never judged, and the greedy answer behind them.
  std::vector<Trajectory> all = {make_trajectory({passed(2)}), make_trajectory({passed(8)}),
                                 make_trajectory({failed()}), make_trajectory({failed(VerdictKind::kInfra)}),
                                 make_trajectory({passed(1)})};
  for (size_t i = 0; i < all.size(); ++i) all[i].task = "t", all[i].sample = int64_t(i % 4);
  fs::create_directories(dir / "trajectories");
  rollout::write_trajectories(dir / "trajectories" / "eval_after.safetensors", pointers_to(all));
  const std::vector<RunRecord> runs = {read_run(dir)};
  const auto data = report_data(runs, {.title = "x", .conversations = 0});
  const auto& rows = data["held_out"]["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["judged_after"], 3);
  EXPECT_EQ(rows[1]["judged_after"], 1);
  const ShareInterval expected = wilson_interval(0.75, 3);
  EXPECT_EQ(rows[0]["after"][0]["low"], shortened(expected.low));
  EXPECT_EQ(rows[0]["after"][0]["high"], shortened(expected.high));
  EXPECT_FALSE(rows[1]["after"][6].contains("low")) << "a reward is no share";
  const auto& task = data["tasks"][0]["cells"][0];
  EXPECT_TRUE(task["before"].is_null());
  EXPECT_EQ(task["after"]["answers"], 3);
  EXPECT_EQ(task["after"]["rate"], shortened(2.0 / 3));
  EXPECT_EQ(task["after"]["speedup"], 4);
  EXPECT_EQ(data["tasks"][0]["family"], "") << "no task of the run is known";
}

TEST_F(Report, TasksHaveTheirFamilyWhereTheirFilesAreHere) {
  const fs::path dir = write("a", "tasks: {path: " + (root_ / "tasks.yaml").string() + "}\n", "");
  std::vector<Trajectory> all = {make_trajectory({passed(2)})};
  all[0].task = "twice";
  fs::create_directories(dir / "trajectories");
  rollout::write_trajectories(dir / "trajectories" / "eval_after.safetensors", pointers_to(all));
  const std::vector<RunRecord> runs = {read_run(dir)};
  const auto family = [&] { return report_data(runs, {.title = "x"})["tasks"][0]["family"]; };
  EXPECT_EQ(family(), "");
  std::ofstream(root_ / "tasks.yaml")
      << "tasks:\n  - {name: twice, family: scaled, reference: x * 2, inputs: {x: [n]}, outputs: {y: [n]}, "
         "check: [{n: 7}], timed: {n: 64}}\n";
  EXPECT_EQ(family(), "scaled");
}

TEST(TaskChanges, LargestFirstWithACommonOutcomeOfEach) {
  std::vector<Trajectory> before, after;
  const auto add = [](std::vector<Trajectory>& to, const std::string& task,
                      std::vector<env::Verdict> verdicts) {
    for (const env::Verdict& verdict : verdicts)
      to.push_back(make_trajectory({verdict})), to.back().task = task;
  };
  add(before, "learned", {failed(), failed()}), add(after, "learned", {passed(1), passed(3)});
  add(before, "half", {failed(), failed(), passed(1)}), add(after, "half", {passed(1), failed(), passed(2)});
  add(before, "lost", {passed(2), passed(3)}), add(after, "lost", {failed(VerdictKind::kInfra), failed()});
  add(before, "same", {passed(2)}), add(after, "same", {passed(5)});
  add(after, "new", {passed(5)});
  const TaskChanges changes = task_changes(pointers_to(before), pointers_to(after), 5);
  ASSERT_EQ(changes.improved.size(), 2u);
  EXPECT_EQ(changes.improved[0].before, &before[0]);
  EXPECT_EQ(changes.improved[0].after, &after[1]) << "the fastest";
  EXPECT_EQ(changes.improved[1].before, &before[2]) << "most were wrong";
  EXPECT_DOUBLE_EQ(changes.improved[1].share_after, 2.0 / 3);
  ASSERT_EQ(changes.regressed.size(), 1u);
  EXPECT_EQ(changes.regressed[0].before->task, "lost");
  EXPECT_EQ(task_changes(pointers_to(before), pointers_to(after), 1).improved.size(), 1u);
  EXPECT_EQ(one_of_each_task(pointers_to(after), 9).size(), 5u);
}

TEST(BestAndWorst, FastestFirstAndHacksFirst) {
  std::vector<Trajectory> all = {make_trajectory({passed(1.5)}),
                                 make_trajectory({passed(3)}),
                                 make_trajectory({failed(VerdictKind::kFailCompile)}),
                                 make_trajectory({failed(VerdictKind::kFailCompile)}),
                                 make_trajectory({passed(2), failed(VerdictKind::kFailIncorrect)}),
                                 make_trajectory({failed(VerdictKind::kHack)}),
                                 make_trajectory({failed(VerdictKind::kInfra)}),
                                 make_trajectory({})};
  for (size_t i = 0; i < all.size(); ++i) all[i].task = fmt::format("task {}", i);
  std::vector<const Trajectory*> pointers;
  for (const Trajectory& t : all) pointers.push_back(&t);
  const BestAndWorst chosen = best_and_worst(pointers, 4);
  EXPECT_THAT(chosen.best, ElementsAre(&all[1], &all[0]));
  EXPECT_THAT(chosen.worst, ElementsAre(&all[5], &all[4], &all[2], &all[3]));
  all[3].task = all[2].task;
  EXPECT_THAT(best_and_worst(pointers, 3).worst, ElementsAre(&all[5], &all[4], &all[2]));
}

TEST(Readable, ShowsWhatWasSaidWithoutTheFormatsTokens) {
  const std::string ask = "Write </script><b>softmax</b>", answer = "plan\n```cpp\nint x = 1 < 2;\n```\n";
  const Tokenizer tokenizer = Tokenizer::train({ask + answer + "user assistant"}, 400);
  const policy::ChatFormat format(tokenizer);
  env::Task task;
  task.name = "t";
  Trajectory trajectory;
  rollout::Segment& row = trajectory.segments.emplace_back();
  row.append(format.user_turn(ask), Role::kPrompt);
  // The code's first token begins in the plan.
  const std::vector<int32_t> plan = tokenizer.encode("pla"), code = tokenizer.encode(answer.substr(3));
  rollout::Turn turn;
  turn.begin = int32_t(row.ids.size());
  row.append(plan, Role::kPlan);
  row.append(code, Role::kCode);
  turn.end = int32_t(row.ids.size());
  trajectory.turns = {turn};
  const ReadableConversation conversation = readable(trajectory, tokenizer);
  EXPECT_EQ(conversation.prompt, ask);
  ASSERT_EQ(conversation.turns[0].answer.size(), 2u);
  EXPECT_EQ(conversation.turns[0].answer[0].text, "plan\n");
  EXPECT_EQ(conversation.turns[0].answer[1].text, answer.substr(5));
}

// A tokenizer without ChatML's tokens, and a token that it lacks.
TEST(Readable, OtherChatsAreShownWhole) {
  const policy::TokenizerDir dir;
  write_file_atomic(dir.path / "tokenizer.json", policy::small_tokenizer_json().dump());
  const Tokenizer tokenizer = Tokenizer::load(dir.path);
  Trajectory trajectory;
  trajectory.segments.emplace_back().append(tokenizer.encode("first line\nsecond"), Role::kPrompt);
  EXPECT_EQ(readable(trajectory, tokenizer).prompt, "first line\nsecond");
  trajectory.segments[0].ids.push_back(int32_t(tokenizer.vocab_size()));
  EXPECT_THROW(readable(trajectory, tokenizer), ConfigError);
}

TEST(Page, HostileTextStaysText) {
  const std::string hostile =
      "</script><script>alert(1)</script><!-- \" ' & \xff \xe2\x80\xa8 {{script}} {{nonce}}";
  const nlohmann::json data = {{"title", hostile}};
  const std::string safe = script_safe(data);
  EXPECT_EQ(safe.find_first_of("<>&\xe2\xff"), std::string::npos) << safe;
  const std::string title = nlohmann::json::parse(safe)["title"];
  EXPECT_THAT(title, HasSubstr("</script><script>alert(1)</script><!-- \" ' &"));
  const std::string page = report_page(data);
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(page, HasSubstr(safe));
  // The two scripts of the page, and no other.
  size_t ends = 0;
  for (size_t at = page.find("</script"); at != std::string::npos; at = page.find("</script", at + 1)) ++ends;
  EXPECT_EQ(ends, 2u);
}

TEST(Page, LoadsNothing) {
  const std::string page = report_page({{"title", "x"}});
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* outside : {"https:", "src=", "@import", "url(", "innerHTML", "eval("})
    EXPECT_THAT(page, Not(HasSubstr(outside))) << outside;
}

TEST_F(Report, OfALongRunIsBounded) {
  const std::vector<RunRecord> runs = {read_run(write("a", config(1, "grpo"), steps(20000, 1)))};
  EXPECT_LT(report_page(report_data(runs, {.title = "long"})).size(), 100'000u);
}

TEST_F(Report, OfARunWithoutAStepSaysSo) {
  const std::vector<RunRecord> runs = {read_run(write("a", config(1, "grpo"), ""))};
  const auto data = report_data(runs, {.title = "none"});
  EXPECT_EQ(data["groups"][0]["runs"][0]["state"], "no step yet");
  EXPECT_TRUE(data["charts"].empty());
}

TEST_F(Report, NamesWhatIsNoRun) {
  const auto error_of = [](const fs::path& path) -> std::string {
    try {
      find_runs(path);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of(root_ / "nowhere"), HasSubstr("nowhere: no such run directory"));
  EXPECT_THAT(error_of(root_), HasSubstr("is not a run directory, nor are there any in it"));
  write("b", config(1, "grpo"), "");
  write("a", config(1, "grpo"), "");
  EXPECT_THAT(find_runs(root_), ElementsAre(root_ / "a", root_ / "b"));
  EXPECT_THROW(read_run(write("c", "- no config", "")), ConfigError);
}

TEST_F(Report, WatchShowsStepsCourseAndEnd) {
  RunRecord run = read_run(write("a", config(1, "grpo"), steps(30, 0.5)));
  const std::string text = watch_text(run, 1);
  EXPECT_THAT(text, HasSubstr("step 30 of 100"));
  EXPECT_THAT(text, HasSubstr("0.500 →     0.500  ▁▁▁"));
  EXPECT_THAT(text, HasSubstr("generate 25 % judge 0 % learn 0 % other 75 %"));
  EXPECT_THAT(text, HasSubstr("2.00 s a step; about 2 min 20 s left"));
  EXPECT_THAT(watch_text(run, 600), HasSubstr("nothing written for 10 min 00 s"));
  run.options["run.max_seconds"] = "90";
  EXPECT_THAT(watch_text(run, 1), HasSubstr("about 30 s left"));
  EXPECT_THAT(watch_text(read_run(write("b", config(1, "grpo"), "")), 1), HasSubstr("no step yet"));
}

}  // namespace
}  // namespace temper::trainer
