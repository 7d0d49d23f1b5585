// The loop itself: a policy that is right half of the time, judged for real, learns to be right.

#include "trainer/train.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "env/judge/judge_backend.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/parameters/parameter_store.h"
#include "trainer/evaluate/evaluate.h"

namespace temper::trainer {

using rollout::Trajectory;

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kTask = R"(
name: add
family: elementwise
reference: x + z
inputs: {x: [n], z: [n]}
outputs: {y: [n]}
check: [{n: 33}, {n: 5}]
timed: {n: 65536}
)";

class Train : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    root_ = fs::temp_directory_path() / fmt::format("temper_train_{}", ::getpid());
    fs::create_directories(root_);
    judge_ = new env::Judge({.lanes = 1}, env::parse_tasks(kTask, "train_test.cc"));
    save_divided_model();
  }
  static void TearDownTestSuite() {
    delete judge_;
    fs::remove_all(root_);
  }

  static std::string answer(const std::string& expression) {
    return "One pass.\n```cpp\n" + judge_->tasks()[0].signature() +
           " {\n  for (int i = 0; i < n; ++i) y[i] = " + expression + ";\n}\n```\n";
  }

  // Knows a right and a wrong answer by heart, and says one as often as the other.
  static void save_divided_model() {
    env::Verdict verdict;
    verdict.kind = env::VerdictKind::kFailIncorrect;
    const std::vector<traces::Trace> traces = {{"add", {{answer("x[i] + z[i]"), verdict}}},
                                               {"add", {{answer("x[i] - z[i]"), verdict}}}};
    policy::Tokenizer tokenizer = policy::Tokenizer::train(
        {judge_->tasks()[0].prompt(), traces[0].turns[0].answer, traces[1].turns[0].answer}, 400);
    policy::Policy policy(config().model.shape, {});
    policy.parameters().init_random(1);
    ColdStartOptions options;
    options.epochs = 400;
    options.optimizer.lr = 1e-2;
    const LearnedRows rows = rows_of_traces(traces, judge_->tasks(), tokenizer, {.max_tokens = 1024});
    run_cold_start(policy, rows.rows, options, 1);
    policy::export_hugging_face(policy, tokenizer, root_ / "model");
  }

  static RunConfig config(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"model.vocab_size=400",
                                      "model.hidden_size=48",
                                      "model.intermediate_size=96",
                                      "model.num_hidden_layers=2",
                                      "model.num_attention_heads=2",
                                      "model.num_key_value_heads=1",
                                      "model.head_dim=24",
                                      "run.dir=" + (root_ / "run").string(),
                                      "run.overwrite=true",
                                      "rollout.tasks_per_step=1",
                                      "rollout.samples_per_task=32",
                                      "rollout.turns=1",
                                      "rollout.max_response_tokens=96",
                                      "rollout.max_context_tokens=400",
                                      "optimizer.lr=1e-3",
                                      "run.steps=15",
                                      "reward.name=kevin",
                                      "eval.split=train",
                                      "eval.samples=64",
                                      "model.path=" + (root_ / "model").string()};
    words.insert(words.end(), more.begin(), more.end());
    return read_config("", words);
  }

  static std::vector<nlohmann::json> metrics() {
    std::vector<nlohmann::json> lines;
    std::istringstream text(read_file(root_ / "run" / "metrics.jsonl"));
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    std::erase_if(lines, [](const nlohmann::json& line) { return line.contains("start"); });
    return lines;
  }

  // The first line of the metrics that has this figure; null if none has.
  static nlohmann::json first_with(const char* figure) {
    const auto lines = metrics();
    const auto found =
        std::ranges::find_if(lines, [&](const nlohmann::json& line) { return line.contains(figure); });
    return found == lines.end() ? nlohmann::json() : *found;
  }

  static inline fs::path root_;
  static inline env::Judge* judge_ = nullptr;
};

TEST_F(Train, LearnsToBeRight) {
  const RunConfig c = config();
  {
    temper::trainer::Run run(c);
    train(c, *judge_, run);
  }
  const auto lines = metrics();
  ASSERT_EQ(lines.size(), 17u);
  const double before = lines.front().at("val/sampled/correct"),
               after = lines.back().at("val/sampled/correct");
  EXPECT_GT(before, 0.2);
  EXPECT_LT(before, 0.8);
  EXPECT_GT(after, before + 0.25);
  EXPECT_EQ(lines.back().at("val/greedy/correct"), 1.0);
  EXPECT_GT(double(lines.back().at("val/sampled/reward")), double(lines.front().at("val/sampled/reward")));
  for (size_t i = 1; i <= 15; ++i) {
    EXPECT_LT(std::abs(double(lines[i].at("rollout_corr/kl"))), 1e-5);
    EXPECT_EQ(lines[i].contains("throughput/model_tflops"), lines[i].at("perf/total_num_tokens") > 0);
    EXPECT_GT(double(lines[i].at("throughput/gen_model_tflops")), 0);
    EXPECT_FALSE(lines[i].contains("throughput/mfu")) << "the peak of a CPU is not known";
  }
}

TEST_F(Train, EvaluatesTheSameAnswersUnderTheSameSeed) {
  const RunConfig c = config({"eval.samples=4", "eval.turns=2", "rollout.max_context_tokens=800"});
  Model model = load_model(c.model.path);
  std::vector<Trajectory> a, b;
  const Evaluation evaluation = evaluate(model, *judge_, c, &a);
  evaluate(model, *judge_, c, &b);
  ASSERT_EQ(a.size(), 5u);  // four sampled, one greedy
  ASSERT_EQ(b.size(), 5u);
  for (size_t i = 0; i < a.size(); ++i) {
    const auto begin = size_t(a[i].turns[0].begin), end = size_t(a[i].turns[0].end);
    EXPECT_TRUE(std::equal(a[i].segments[0].ids.begin(), a[i].segments[0].ids.begin() + std::ptrdiff_t(end),
                           b[i].segments[0].ids.begin()));
    EXPECT_LT(begin, end);
  }
  ASSERT_EQ(evaluation.sampled.by_turn.size(), 2u);
  EXPECT_EQ(evaluation.sampled.by_turn[0].samples, 4);
  EXPECT_EQ(evaluation.greedy.last.samples, 1);
  EXPECT_GE(evaluation.sampled.best.reward, evaluation.sampled.last.reward);
}

TEST_F(Train, EvaluatesUnderItsOwnTopKAndTopP) {
  const RunConfig c = config({"eval.samples=4", "eval.top_k=1", "rollout.top_k=7", "rollout.top_p=0.5"});
  EXPECT_EQ(c.eval.rollout(c.rollout).sampling(), (policy::SamplingParams{.top_p = 0.5, .top_k = 1}));
  EXPECT_EQ(config({"eval.top_p=0.95"}).eval.rollout({}).sampling(), (policy::SamplingParams{.top_p = 0.95}));
  EXPECT_EQ(config({"eval.top_k=0"}).eval.rollout(c.rollout).sampling(),
            (policy::SamplingParams{.top_p = 0.5}));
  Model model = load_model(c.model.path);
  std::vector<Trajectory> rows;
  evaluate(model, *judge_, c, &rows);
  for (const Trajectory& row : rows)
    EXPECT_EQ(row.segments[0].ids, rows.back().segments[0].ids);  // all greedy
  const RunConfig scaled =
      config({"eval.samples=2", "eval.top_k=1", "eval.scaling.ways=[parallel]", "eval.scaling.budget=3"});
  std::vector<Trajectory> answers;
  scale_at_test_time(model, *judge_, scaled, &answers);
  EXPECT_EQ(answers.size(), 6u);
  for (const Trajectory& row : answers) EXPECT_EQ(row.segments[0].ids, answers[0].segments[0].ids);
}

// Under a reward that no configuration may have, which pays right answers least.
TEST_F(Train, TheBestAnswersAreRightOnesWhateverTheyEarn) {
  RunConfig c = config({"eval.samples=16", "eval.turns=2", "rollout.max_context_tokens=800",
                        "eval.scaling.ways=[parallel]", "eval.scaling.budget=4"});
  c.reward = {.name = "log_speedup", .base = -5, .slope = 0};
  Model model = load_model(c.model.path);
  std::vector<Trajectory> rows;
  const Evaluation evaluation = evaluate(model, *judge_, c, &rows);
  const auto has_right = [](const Trajectory& row) {
    return std::ranges::any_of(row.turns, [](const rollout::Turn& turn) { return turn.verdict.pass(); });
  };
  ASSERT_EQ(rows.size(), 17u);
  const auto right = std::count_if(rows.begin(), rows.begin() + 16, has_right);
  EXPECT_GT(right, 0);
  EXPECT_LT(evaluation.sampled.last.correct, double(right) / 16);
  EXPECT_EQ(evaluation.sampled.best.correct, double(right) / 16);

  std::vector<Trajectory> answers;
  const auto curves = scale_at_test_time(model, *judge_, c, &answers);
  ASSERT_EQ(answers.size(), 64u);
  int64_t found = 0;
  for (auto trial = answers.begin(); trial != answers.end(); trial += 4)
    found += std::any_of(trial, trial + 4, has_right);
  EXPECT_GT(found, 0);
  EXPECT_EQ(curves.at(0).points.back().best.correct, double(found) / 16);
}

// All is right; problem 0 would let zeros pass.
class OneIsWeak : public env::JudgeBackend {
 public:
  std::string sandbox_level() const override { return "none"; }
  std::string machine(const std::string&) const override { return "none"; }
  std::vector<std::string> notes() const override { return {}; }
  int64_t width() const override { return 1; }
  int64_t restarts() const override { return 0; }
  void submit(env::WorkOrder order) override {
    env::Verdict verdict = env::verdict_of(env::VerdictKind::kPass, "");
    verdict.candidate_us = 1;
    verdict.baseline_us = verdict.speedup = verdict.speedup_low = verdict.speedup_high =
        order.task == 0 ? 9 : 2;
    if (order.task == 0) verdict.problem = env::ProblemNotes{.weak = {"zeros"}};
    done_.push_back({order.id, verdict});
  }
  std::vector<env::WorkDone> wait(double) override { return std::exchange(done_, {}); }

 private:
  std::vector<env::WorkDone> done_;
};

TEST_F(Train, AWeakProblemEarnsNothingAndIsNotAskedAgain) {
  std::string two = kTask;
  two.replace(two.find("name: add"), 9, "name: other");
  const std::vector<env::Task> both = {judge_->tasks()[0], env::parse_tasks(two, "train_test.cc")[0]};
  const fs::path place = root_ / "both";  // a run resumes where they are the same
  fs::create_directories(place);
  write_file_atomic(place / "a.yaml", kTask);
  write_file_atomic(place / "b.yaml", two);
  const auto train_for = [&](const std::string& steps, const std::vector<std::string>& more,
                             const std::vector<env::Task>& tasks) {
    std::vector<std::string> words = {"run.steps=" + steps,
                                      "rollout.samples_per_task=4",
                                      "rollout.tasks_per_step=2",
                                      "eval.samples=1",
                                      "eval.before=false",
                                      "env.again=0",
                                      "tasks.path=" + place.string(),
                                      "rollout.temperature=0.3"};
    words.insert(words.end(), more.begin(), more.end());
    const RunConfig c = config(words);
    env::Judge judge({}, tasks, std::make_unique<OneIsWeak>());
    temper::trainer::Run run(c);
    train(c, judge, run);
  };
  const auto said = [&] { return read_file(root_ / "run" / "log" / "rank_0.txt"); };
  const auto steps = [&] {
    auto lines = metrics();
    std::erase_if(lines, [](const nlohmann::json& line) { return !line.contains("env/tasks_left_out"); });
    return lines;
  };
  train_for("2", {}, both);
  ASSERT_EQ(steps().size(), 2u);
  for (const nlohmann::json& step : steps()) {
    EXPECT_EQ(step.at("env/tasks_left_out"), 1);
    EXPECT_DOUBLE_EQ(step.at("critic/rewards/max"), 2.3) << "0.3 + speedup, of the other problem alone";
  }
  EXPECT_THAT(said(), HasSubstr("add is left out, and its answers so far earn nothing"));
  train_for("3", {"run.overwrite=false"}, both);  // what was left out before is not asked again
  ASSERT_EQ(steps().size(), 3u);
  EXPECT_EQ(steps()[2].at("env/tasks_left_out"), 1);
  EXPECT_DOUBLE_EQ(steps()[2].at("critic/rewards/max"), 2.3);
  train_for("1", {"tasks.weak=keep"}, both);
  EXPECT_EQ(steps().at(0).at("env/tasks_left_out"), 0);
  EXPECT_DOUBLE_EQ(steps()[0].at("critic/rewards/max"), 9.3);
  try {
    train_for("2", {"rollout.tasks_per_step=1"}, {both[0]});
    FAIL() << "no error";
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), HasSubstr("no problem is left to learn from: 1 were left out"));
  }
}

TEST_F(Train, TheScheduleEndsWithTheRunsLastUpdate) {
  const RunConfig c = config({"run.steps=3", "optimizer.schedule=linear", "learner.updates_per_batch=2",
                              "rollout.samples_per_task=16", "eval.samples=1", "eval.before=false"});
  {
    temper::trainer::Run run(c);
    train(c, *judge_, run);
  }
  std::vector<double> rates;
  for (const auto& line : metrics())
    if (line.contains("actor/lr")) rates.push_back(line.at("actor/lr"));
  ASSERT_EQ(rates.size(), 3u);
  for (size_t i = 0; i < 3; ++i)  // of each step's second update, in the middle of it
    EXPECT_NEAR(rates[i], 1e-3 * (1 - (2.0 * double(i) + 1.5) / 6), 1e-9) << i;
}

TEST_F(Train, ALongerRunSaysThatItsRateJumps) {
  const fs::path tasks = root_ / "tasks.yaml";  // a run resumes where they are the same
  write_file_atomic(tasks, kTask);
  const std::vector<std::string> words = {"optimizer.lr=8e-4",
                                          "optimizer.schedule=linear",
                                          "learner.updates_per_batch=2",
                                          "rollout.samples_per_task=16",
                                          "eval.samples=1",
                                          "eval.before=false"};
  const auto train_for = [&](const std::string& steps, const std::string& overwrite) {
    auto more = words;
    more.insert(more.end(),
                {"run.steps=" + steps, "run.overwrite=" + overwrite, "tasks.path=" + tasks.string()});
    const RunConfig c = config(more);
    temper::trainer::Run run(c);
    run.say_start();
    train(c, *judge_, run);
  };
  const auto said = [&] { return read_file(root_ / "run" / "log" / "rank_0.txt"); };
  train_for("2", "true");
  EXPECT_THAT(said(), testing::Not(HasSubstr("the learning rate goes")));
  train_for("4", "false");
  // The last of four updates, in its middle, and the fifth of eight.
  EXPECT_THAT(
      said(),
      HasSubstr("the learning rate goes from 0.0001 to 0.00035: optimizer.schedule=linear follows run.steps, "
                "which was 2 and is 4"));
}

// The loop gives each of them what it needs, and the learner the distribution that was drawn from.
TEST_F(Train, EveryAdvantageLearnsFromWhatWasDrawn) {
  for (const std::string name :
       {"grpo", "dr_grpo", "rloo", "trloo", "reinforce++", "reinforce++_baseline", "hrd", "rft"}) {
    const RunConfig c =
        config({"advantage.name=" + name, "run.steps=1", "rollout.samples_per_task=16",
                "rollout.temperature=1.5", "rollout.top_k=2", "eval.samples=1", "eval.before=false"});
    {
      temper::trainer::Run run(c);
      train(c, *judge_, run);
    }
    const nlohmann::json step = first_with("actor/updates");
    ASSERT_TRUE(step.contains("actor/updates")) << name;
    EXPECT_EQ(step.at("actor/updates"), 1) << name;
    EXPECT_GT(double(step.at("actor/grad_norm")), 0) << name;
    EXPECT_EQ(step.at("actor/left_out_tokens"), 0) << name;
    EXPECT_LT(double(step.at("rollout_corr/max_abs_log_diff")), 1e-4) << name;
    EXPECT_NEAR(double(step.at("actor/ratio_mean")), 1, 1e-5) << name;
  }
}

// An answer is imitated for its own reward, whatever a later turn earns.
TEST_F(Train, ImitationLearnsFromRewardsAndWithoutARatio) {
  const RunConfig c =
      config({"advantage.name=rft", "run.steps=1", "rollout.turns=2", "rollout.samples_per_task=8",
              "rollout.max_context_tokens=800", "learner.epochs=3", "eval.samples=1", "eval.before=false"});
  {
    temper::trainer::Run run(c);
    train(c, *judge_, run);
  }
  const nlohmann::json step = first_with("actor/pg_loss");
  ASSERT_TRUE(step.contains("actor/pg_loss"));
  for (const char* which : {"mean", "min", "max"})
    EXPECT_EQ(step.at(std::string("critic/returns/") + which),
              step.at(std::string("critic/rewards/") + which));
  EXPECT_EQ(step.at("actor/updates"), 3);
  EXPECT_EQ(step.at("actor/pg_clipfrac"), 0);
  EXPECT_GT(double(step.at("actor/pg_loss")), 0);  // −log π, where ratios of about 1 would give −1
}

TEST_F(Train, RefusesARatioWhereAnswersAreImitated) {
  for (const char* word : {"loss.ratio=sequence", "loss.importance_cap=2", "loss.objective=cispo"}) {
    try {
      config({"advantage.name=rft", word});
      FAIL() << "no error of " << word;
    } catch (const ConfigError& e) {
      EXPECT_THAT(e.what(), HasSubstr(std::string(word).substr(0, std::string(word).find('='))));
    }
  }
}

TEST_F(Train, ComparesWaysToSpendAnswers) {
  const RunConfig c =
      config({"eval.samples=3", "eval.scaling.ways=[parallel, sequential, beam]", "eval.scaling.budget=4",
              "eval.scaling.width=2", "eval.scaling.shown=1", "rollout.max_context_tokens=800"});
  Model model = load_model(c.model.path);
  std::vector<Trajectory> rows;
  const auto curves = scale_at_test_time(model, *judge_, c, &rows);
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_EQ(rows.size(), 3u * 3 * 4);
  for (const ScalingCurve& curve : curves) {
    ASSERT_EQ(curve.points.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(curve.points[i].answers, int64_t(1) << i);
      EXPECT_EQ(curve.points[i].best.samples, 3);
      EXPECT_GE(curve.points[i].best.reward, i > 0 ? curve.points[i - 1].best.reward : 0);
    }
  }
  Metrics metrics;
  add_metrics(curves, metrics);
  EXPECT_EQ(metrics.at("val/scaling/beam/best_of_4/correct"), curves[2].points[2].best.correct);
}

TEST_F(Train, RefusesABeamThatDoesNotFitItsBudget) {
  try {
    config({"eval.scaling.ways=[beam]", "eval.scaling.budget=6", "eval.scaling.keep=5"});
    FAIL() << "no error";
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), HasSubstr("eval.scaling.width: 4 does not divide eval.scaling.budget, 6"));
    EXPECT_THAT(e.what(), HasSubstr("eval.scaling.keep: 5 is more than eval.scaling.width, 4"));
  }
}

TEST_F(Train, SaysWhichSplitHasNoTask) {
  const RunConfig c = config({"eval.split=heldout"});
  Model model = load_model(c.model.path);
  try {
    evaluate(model, *judge_, c);
    FAIL() << "no error";
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), HasSubstr("eval.split: no task of split heldout"));
  }
}

}  // namespace
}  // namespace temper::trainer
