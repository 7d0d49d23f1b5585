#include "rollout/rollout.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/rng.h"
#include "env/judge/judge_backend.h"
#include "policy/parameters/parameter_store.h"
#include "rollout/conversation.h"
#include "rollout/search.h"
#include "tests/policy/small_model.h"
#include "tests/policy/text/tokenizer_fixture.h"

namespace temper::rollout {

using env::Verdict;
using env::VerdictKind;
using policy::ChatFormat;
using policy::Policy;

namespace {

constexpr const char* kTask = R"(
name: add
family: elementwise
reference: x + z
inputs: {x: [n, m], z: [n, m]}
outputs: {y: [n, m]}
check: [{n: 5, m: 33}, {n: 33, m: 2}]
timed: {n: 256, m: 256}
)";

// One judge for the whole program: starting its boxes and compiling references takes a second.
env::Judge& judge() {
  env::JudgeOptions options;
  options.lanes = 1;
  static env::Judge one(options, env::parse_tasks(kTask, "rollout_test.cc"));
  return one;
}

const env::Task& task() { return judge().tasks().front(); }

std::string right_answer() {
  std::string dims, loop;
  for (const std::string& dim : task().dims) loop += (loop.empty() ? "" : " * ") + dim;
  return "One pass.\n```cpp\n" + task().signature() + " {\n  for (long i = 0; i < " + loop +
         "; ++i) y[i] = x[i] + z[i];\n}\n```\n";
}

const policy::Tokenizer& tokenizer() {
  static const policy::Tokenizer one = [] {
    std::vector<std::string> texts = policy::code_texts();
    texts.insert(texts.end(), 9, right_answer());
    texts.insert(texts.end(), 9, task().prompt());
    return policy::Tokenizer::train(texts, 700);
  }();
  return one;
}

policy::ModelConfig config() {
  policy::ModelConfig c = policy::tool_config();
  c.vocab_size = tokenizer().vocab_size();
  c.num_hidden_layers = 2;
  return c;
}

RolloutOptions short_options() {
  RolloutOptions options;
  options.turns = 2;
  options.max_response_tokens = 96;
  options.max_context_tokens = 512;
  return options;
}

// Adam on one row until the policy knows it by heart.
void memorise(Policy& policy, const std::vector<int32_t>& prompt, const std::vector<int32_t>& answer) {
  policy::PackedTokens row{
      prompt, {0, int32_t(prompt.size() + answer.size())}, std::vector<uint8_t>(prompt.size(), 0)};
  row.ids.insert(row.ids.end(), answer.begin(), answer.end());
  row.scored.resize(row.ids.size(), 1);
  const policy::ScoreGradient nll = [](int64_t, auto, auto, std::span<double> d_log_prob,
                                       std::span<double> d_entropy) {
    std::fill(d_log_prob.begin(), d_log_prob.end(), -1);
    std::fill(d_entropy.begin(), d_entropy.end(), 0);
  };
  policy::ParameterStore& store = policy.parameters();
  for (int step = 1; step <= 60; ++step) {
    store.gradients().zero_();
    policy.forward_backward(row, nll);
    const at::Tensor gradient = store.gradients();
    store.moment1().mul_(0.9).add_(gradient, 0.1);
    store.moment2().mul_(0.99).addcmul_(gradient, gradient, 0.01);
    const double correction = std::sqrt(1 - std::pow(0.99, step)) / (1 - std::pow(0.9, step));
    store.weights().addcdiv_(store.moment1(), store.moment2().sqrt().add_(1e-8), -3e-3 * correction);
  }
}

Policy& taught_policy() {
  static Policy policy = [] {
    Policy one(config(), {});
    one.parameters().init_random(1);
    const ChatFormat format(tokenizer());
    auto answer = tokenizer().encode(right_answer());
    answer.push_back(format.stop_id());
    memorise(one, format.user_turn(task().prompt()), answer);
    return one;
  }();
  return policy;
}

std::vector<uint8_t> own_responses(const Segment& row) {
  std::vector<uint8_t> mask(row.ids.size());
  for (size_t t = size_t(row.prefix); t < mask.size(); ++t) mask[t] = is_response(row.roles[t]);
  return mask;
}

void expect_well_formed(const Trajectory& trajectory) {
  for (size_t k = 0; k < trajectory.segments.size(); ++k) {
    const Segment& row = trajectory.segments[k];
    ASSERT_EQ(row.roles.size(), row.ids.size());
    ASSERT_EQ(row.log_probs.size(), row.ids.size());
    std::vector<bool> in_turn(row.ids.size(), false);
    for (const Turn& turn : trajectory.turns) {
      EXPECT_LT(turn.begin, turn.end);
      if (size_t(turn.segment) != k) continue;
      for (const Span span : turn.spans())
        for (int32_t t = span.begin; t < span.end; ++t) in_turn[size_t(t)] = true;
    }
    for (size_t t = 0; t < in_turn.size(); ++t) {
      EXPECT_EQ(t >= size_t(row.prefix) && is_response(row.roles[t]), in_turn[t]) << t;
      EXPECT_EQ(row.log_probs[t] < 0, bool(in_turn[t])) << t;
    }
  }
}

// The trainer's log-probs of a trajectory are those of the sampling pass, in every turn.
void expect_policys_log_probs(Policy& policy, const Trajectory& trajectory) {
  for (const Segment& segment : trajectory.segments) {
    policy::PackedTokens row{segment.ids, {0, int32_t(segment.ids.size())}, own_responses(segment)};
    const policy::TokenScores scores = policy.forward(row);
    for (size_t t = 0; t < row.ids.size(); ++t)
      EXPECT_NEAR(segment.log_probs[t], scores.log_prob[t], 1e-5) << t;
  }
}

TEST(Rollout, ARandomPolicysAnswersDoNotParse) {
  Policy policy = policy::random_policy(config(), {}, 2, 0.05);
  Rollout rollout(policy, tokenizer(), judge(), short_options(), 5);
  int64_t reports = 0;
  const Batch batch = rollout.run(3, {{&task(), 4}, {&task(), 2}}, [&](int64_t done, int64_t all) {
    ++reports;
    EXPECT_LE(done, all);
  });
  EXPECT_GT(reports, 0);
  ASSERT_EQ(batch.groups.size(), 2u);
  EXPECT_EQ(batch.step, 3);
  EXPECT_EQ(batch.groups[0].samples.size(), 4u);
  for (const Group& group : batch.groups) {
    for (const Trajectory& trajectory : group.samples) {
      expect_well_formed(trajectory);
      expect_policys_log_probs(policy, trajectory);
      ASSERT_EQ(trajectory.turns.size(), 2u);
      EXPECT_EQ(trajectory.turns[0].verdict.kind, VerdictKind::kFailParse);
    }
  }
  EXPECT_EQ(batch.groups[1].samples[0].sample, 4);  // goes on counting, so that no sample is drawn twice
}

TEST(Rollout, SamplesDependOnSeedStepAndSampleOnly) {
  Policy policy = policy::random_policy(config(), {}, 2, 0.05);
  const auto run = [&](uint64_t seed, int64_t step, int64_t at_once, int64_t samples) {
    RolloutOptions options = short_options();
    options.max_sequences = at_once;
    return Rollout(policy, tokenizer(), judge(), options, seed)
        .run(step, {{&task(), samples}})
        .groups[0]
        .samples;
  };
  const auto all = run(5, 1, 128, 6);
  const auto few = run(5, 1, 2, 3);
  for (size_t n = 0; n < few.size(); ++n) EXPECT_EQ(few[n].segments[0].ids, all[n].segments[0].ids);
  EXPECT_NE(run(6, 1, 128, 1)[0].segments[0].ids, all[0].segments[0].ids);
  EXPECT_NE(run(5, 2, 128, 1)[0].segments[0].ids, all[0].segments[0].ids);
  EXPECT_NE(all[0].segments[0].ids, all[1].segments[0].ids);
}

TEST(Rollout, ARightAnswerPassesAndItsVerdictIsTheFeedback) {
  Rollout rollout(taught_policy(), tokenizer(), judge(), short_options(), 5);
  rollout.options.temperature = 0;
  const Batch batch = rollout.run(0, {{&task(), 3}});
  for (const Trajectory& trajectory : batch.groups[0].samples) {
    expect_well_formed(trajectory);
    ASSERT_EQ(trajectory.turns.size(), 2u) << to_text(trajectory, tokenizer());
    const Verdict& verdict = trajectory.turns[0].verdict;
    EXPECT_EQ(verdict.kind, VerdictKind::kPass) << to_text(trajectory, tokenizer());
    EXPECT_GT(verdict.speedup, 0);
    EXPECT_TRUE(trajectory.turns[0].stopped);
    const std::vector<int32_t>& row = trajectory.segments.at(0).ids;
    std::vector<int32_t> feedback(row.begin() + trajectory.turns[0].end,
                                  row.begin() + trajectory.turns[1].begin);
    EXPECT_NE(tokenizer().decode(feedback).find(feedback_text(verdict)), std::string::npos);
  }
  EXPECT_GE(rollout.stats().judged, 3);
  EXPECT_GT(rollout.stats().tokens, 0);
}

TEST(Rollout, ItsFirstPassCanEndATrajectory) {
  Rollout rollout(taught_policy(), tokenizer(), judge(), short_options(), 5);
  rollout.options.temperature = 0;
  rollout.options.stop_on_pass = true;
  EXPECT_EQ(rollout.run(0, {{&task(), 1}}).groups[0].samples[0].turns.size(), 1u);
}

TEST(Rollout, ATurnThatMightNotFitIsNotBegun) {
  RolloutOptions options = short_options();
  const auto prompt = int64_t(ChatFormat(tokenizer()).first_turn(task().prompt()).size());
  options.max_context_tokens = prompt + options.max_response_tokens;
  Rollout rollout(taught_policy(), tokenizer(), judge(), options, 5);
  EXPECT_EQ(rollout.run(0, {{&task(), 1}}).groups[0].samples[0].turns.size(), 1u);
  --options.max_context_tokens;
  try {
    Rollout(taught_policy(), tokenizer(), judge(), options, 5);
    FAIL() << "a prompt without room for an answer was taken";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("rollout.max_context_tokens"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("task add"), std::string::npos);
  }
}

PastTurn past_turn(const std::string& text, VerdictKind kind) {
  PastTurn turn{tokenizer().encode(text), true, {}};
  turn.ids.push_back(ChatFormat(tokenizer()).stop_id());
  turn.verdict.kind = kind;
  return turn;
}

// What a trajectory's first row shows of answers that were judged before.
std::string text_of(const Trajectory& trajectory, Role role) {
  const Segment& row = trajectory.segments.at(0);
  std::vector<int32_t> ids;
  for (size_t t = 0; t < row.ids.size(); ++t)
    if (row.roles[t] == role) ids.push_back(row.ids[t]);
  return tokenizer().decode(ids);
}
std::string history_of(const Trajectory& trajectory) { return text_of(trajectory, Role::kHistory); }

TEST(Rollout, GoesOnBehindPastTurns) {
  RolloutOptions options = short_options();
  options.turns = 1;
  Rollout rollout(taught_policy(), tokenizer(), judge(), options, 3);
  const PastTurn wrong = past_turn("no code", VerdictKind::kFailParse),
                 slow = past_turn("more", VerdictKind::kPass);
  const Batch batch = rollout.run(1, {{&task(), 2, {wrong, slow}}, {&task(), 1, {}}});
  for (const Trajectory& trajectory : batch.groups[0].samples) {
    ASSERT_EQ(trajectory.turns.size(), 1u);
    EXPECT_EQ(trajectory.turns[0].end, int32_t(trajectory.segments.at(0).ids.size()));
    EXPECT_EQ(history_of(trajectory), tokenizer().decode(wrong.ids) + tokenizer().decode(slow.ids));
  }
  EXPECT_EQ(history_of(batch.groups[1].samples[0]), "");
}

TEST(Rollout, FeedbackIsAsLongAsTheContextAllows) {
  RolloutOptions options = short_options();
  EXPECT_EQ(options.feedback_limit(), 128u);
  options.max_context_tokens = 32768;
  EXPECT_EQ(options.feedback_limit(), 8192u);
  options.feedback_bytes = 500;
  EXPECT_EQ(options.feedback_limit(), 500u);
  options.turns = 1;
  options.max_context_tokens = 1024;
  PastTurn broken = past_turn("x", VerdictKind::kFailCompile);
  broken.verdict.message = "FAIL_COMPILE short";
  broken.verdict.details = "FAIL_COMPILE long";
  for (int line = 0; line < 40; ++line)
    broken.verdict.details += "\nline " + std::to_string(line) + ": error";
  const auto feedback = [&](int64_t bytes) {
    options.feedback_bytes = bytes;
    Rollout rollout(taught_policy(), tokenizer(), judge(), options, 3);
    return text_of(rollout.run(1, {{&task(), 1, {broken, broken}}}).groups[0].samples[0], Role::kFeedback);
  };
  EXPECT_EQ(feedback(0).find("FAIL_COMPILE long"), std::string::npos);
  const std::string details = feedback(500);
  EXPECT_NE(details.find("FAIL_COMPILE short"), std::string::npos) << details;  // of the first
  EXPECT_NE(details.find("FAIL_COMPILE long\nline 0: error"), std::string::npos) << details;
  EXPECT_NE(details.find("line 39: error"), std::string::npos) << details;
  EXPECT_LT(details.size(), 700u);
  options.max_context_tokens = 512;
  EXPECT_LT(feedback(16384).size(), details.size() + 300);
}

TEST(Rollout, LeavesOutThePastTurnsThatDoNotFit) {
  RolloutOptions options = short_options();
  options.turns = 1;
  Rollout rollout(taught_policy(), tokenizer(), judge(), options, 3);
  std::string words;
  while (tokenizer().encode(words).size() < 400) words += " word";
  const PastTurn longest = past_turn(words, VerdictKind::kFailParse),
                 brief = past_turn("x", VerdictKind::kPass);
  const Batch batch = rollout.run(1, {{&task(), 1, {longest, brief}}, {&task(), 1, {brief, longest}}});
  for (const Group& group : batch.groups)
    EXPECT_EQ(history_of(group.samples[0]), tokenizer().decode(brief.ids));
}

// The worst, whenever it was made; of those that are alike the earliest.
TEST(Conversation, LeavesOutTheWorstPastTurnsThatDoNotFit) {
  const ChatFormat format(tokenizer());
  const auto answer = [](const std::string& name, VerdictKind kind, double speedup) {
    PastTurn turn = past_turn(name, kind);
    turn.verdict.speedup = speedup;
    return turn;
  };
  const PastTurn slow = answer("slow", VerdictKind::kPass, 0.5), fast = answer("fast", VerdictKind::kPass, 2),
                 wrong = answer("wrong", VerdictKind::kFailIncorrect, 0),
                 later = answer("later", VerdictKind::kFailIncorrect, 0);
  const auto row_of = [&](const std::vector<PastTurn>& past, size_t max_ids) {
    Conversation conversation(format, tokenizer(), task(), 1, 0);
    conversation.show(past, max_ids, {});
    return conversation.row();
  };
  // Where there is room for `fit` and no more.
  const auto expect_shown = [&](const std::vector<PastTurn>& past, const std::vector<PastTurn>& fit) {
    const std::vector<int32_t> row = row_of(fit, Conversation::kNoLimit);
    EXPECT_EQ(tokenizer().decode(row_of(past, row.size())), tokenizer().decode(row));
  };
  expect_shown({fast, slow, wrong}, {fast, slow, wrong});
  expect_shown({fast, slow, wrong}, {fast, slow});
  expect_shown({fast, slow, wrong}, {fast});
  expect_shown({slow, wrong, fast}, {slow, fast});
  expect_shown({wrong, later}, {later});
  expect_shown({fast}, {});
}

// The rows of each round of a search for one task.
std::vector<Batch> rounds_of(const SearchOptions& options, std::vector<Search>* found = nullptr,
                             double temperature = 1) {
  RolloutOptions sampled = short_options();
  sampled.temperature = temperature;
  Rollout rollout(taught_policy(), tokenizer(), judge(), sampled, 5);
  std::vector<Batch> rounds;
  const auto searches = search(
      rollout, {&task()}, 1, options, [](const Verdict& verdict) { return verdict.pass(); },
      [&](const Batch& batch) { rounds.push_back(batch); });
  EXPECT_EQ(searches.size(), 1u);
  EXPECT_EQ(int64_t(searches[0].verdicts.size()), options.budget);
  if (found) *found = searches;
  return rounds;
}

TEST(Search, SpendsItsBudgetInRounds) {
  const auto parallel = rounds_of({.budget = 4, .width = 4, .keep = 4, .shown = 0});
  ASSERT_EQ(parallel.size(), 1u);
  EXPECT_EQ(parallel[0].groups.size(), 4u);
  const auto sequential = rounds_of({.budget = 4, .width = 1, .keep = 1, .shown = 1});
  ASSERT_EQ(sequential.size(), 4u);
  for (size_t round = 0; round < 4; ++round) {
    ASSERT_EQ(sequential[round].groups.size(), 1u);
    EXPECT_EQ(history_of(sequential[round].groups[0].samples[0]).empty(), round == 0);  // one is shown
  }
}

// Whatever they earn: here a right answer earns least.
TEST(Search, RightAnswersStandAboveWrongOnesAndInfraBelowBoth) {
  Verdict right, wrong, infra;
  right.kind = VerdictKind::kPass;
  wrong.kind = VerdictKind::kHack;
  infra.kind = VerdictKind::kInfra;
  EXPECT_GT(standing(right, -2), standing(wrong, 5));
  EXPECT_GT(standing(wrong, -1), standing(infra, 0));
  EXPECT_GT(standing(infra, -1), Standing{});
  EXPECT_GT(standing(right, 2), standing(right, 1));
  const std::vector<Standing> all = {standing(infra, 9), standing(wrong, 1), standing(right, -3),
                                     standing(wrong, 2)};
  EXPECT_EQ(best_indices(all, 1), std::vector<size_t>{2});
  EXPECT_EQ(best_indices(all, 3), (std::vector<size_t>{1, 2, 3}));
}

TEST(Search, TheBestChainsGoOn) {
  std::vector<Search> found;
  const auto rounds = rounds_of({.budget = 8, .width = 4, .keep = 1, .shown = 1}, &found);
  ASSERT_EQ(rounds.size(), 2u);
  const auto begin = found[0].verdicts.begin();
  const auto best = std::find_if(begin, begin + 4, [](const Verdict& verdict) { return verdict.pass(); });
  ASSERT_NE(best, begin + 4);
  const Trajectory& chosen = rounds[0].groups[size_t(best - begin)].samples[0];
  const std::string answer = tokenizer().decode(chosen.answer_ids(chosen.turns[0]));
  for (const Group& group : rounds[1].groups) EXPECT_EQ(history_of(group.samples[0]), answer);
}

// Gives the same verdict of everything.
class OneVerdict : public env::JudgeBackend {
 public:
  explicit OneVerdict(Verdict verdict) : verdict_(std::move(verdict)) {}
  std::string sandbox_level() const override { return "none"; }
  std::string machine(const std::string&) const override { return "none"; }
  std::vector<std::string> notes() const override { return {}; }
  int64_t width() const override { return 1; }
  int64_t restarts() const override { return 0; }
  void submit(env::WorkOrder order) override { done_.push_back({order.id, verdict_}); }
  std::vector<env::WorkDone> wait(double) override { return std::exchange(done_, {}); }

 private:
  const Verdict verdict_;
  std::vector<env::WorkDone> done_;
};

// The rows of three answers, one after the other, of which each is shown the best before it.
std::vector<Trajectory> shown_after(const Verdict& verdict) {
  env::Judge one(env::JudgeOptions{}, judge().tasks(), std::make_unique<OneVerdict>(verdict));
  Rollout rollout(taught_policy(), tokenizer(), one, short_options(), 5);
  std::vector<Trajectory> rows;
  search(
      rollout, {&one.tasks().front()}, 1, {.budget = 3, .width = 1, .keep = 1, .shown = 1},
      [](const Verdict& found) { return found.speedup; },
      [&](const Batch& batch) { rows.push_back(batch.groups[0].samples[0]); });
  return rows;
}

TEST(Search, WhatCouldNotBeJudgedIsNotShown) {
  EXPECT_NE(history_of(shown_after(env::verdict_of(VerdictKind::kFailIncorrect, "tolerance")).back()), "");
  for (const Trajectory& row : shown_after(env::infra("a box was lost"))) EXPECT_EQ(history_of(row), "");
}

// Whoever judged, and whatever way it came.
TEST(Search, AVerdictThatCannotBeIsInfra) {
  Verdict endless = env::verdict_of(VerdictKind::kPass, "");
  endless.candidate_us = endless.baseline_us = 1;
  endless.speedup = std::numeric_limits<double>::infinity();
  for (const Trajectory& row : shown_after(endless)) {
    EXPECT_TRUE(row.turns.at(0).verdict.infra());
    EXPECT_EQ(row.turns[0].verdict.reason, "a verdict that cannot be: speedup is inf");
  }
}

TEST(Search, ChainsStayApartUntilTheyAreChosenFrom) {
  const auto rounds = rounds_of({.budget = 16, .width = 8, .keep = 1, .every = 2, .shown = 1}, nullptr, 2);
  ASSERT_EQ(rounds.size(), 2u);
  std::set<std::string> answers;
  for (size_t chain = 0; chain < 8; ++chain) {
    const Trajectory& first = rounds[0].groups[chain].samples[0];
    const std::string answer = tokenizer().decode(first.answer_ids(first.turns[0]));
    EXPECT_EQ(history_of(rounds[1].groups[chain].samples[0]), answer);
    answers.insert(answer);
  }
  EXPECT_GT(answers.size(), 1u) << "else it would not be seen";
}

// Under each rule: rows as they were sampled, learned from once, and whatever a kept slot holds makes no
// difference.
TEST(Rollout, EachContextRuleKeepsItsRowsWhole) {
  for (const char* rule : {"append", "drop_reasoning", "summaries", "best_of_history"}) {
    RolloutOptions options = short_options();
    options.turns = 3;
    options.max_context_tokens = 900;
    options.context = {.rule = rule, .summary_tokens = 12, .shown_turns = 1};
    Policy wild = policy::random_policy(config(), {}, 2, 0.05);
    for (Policy* policy : {&wild, &taught_policy()}) {
      std::vector<std::vector<Trajectory>> runs;
      for (const int64_t at_once : {128, 1}) {
        options.max_sequences = at_once;
        Rollout rollout(*policy, tokenizer(), judge(), options, 5);
        runs.push_back(rollout.run(1, {{&task(), 3}}).groups[0].samples);
      }
      for (size_t n = 0; n < 3; ++n) {
        const Trajectory& trajectory = runs[0][n];
        expect_well_formed(trajectory);
        expect_policys_log_probs(*policy, trajectory);
        ASSERT_EQ(trajectory.turns.size(), 3u) << rule;
        EXPECT_EQ(trajectory.segments.size(), options.context.appends() ? 1u : 3u);
        for (size_t i = 0; i < 3; ++i) {
          const Span summary = trajectory.turns[i].summary;
          EXPECT_EQ(summary.end > summary.begin, options.context.summarises() && i < 2);
          EXPECT_LE(summary.end - summary.begin, 12);
        }
        ASSERT_EQ(runs[1][n].segments.size(), trajectory.segments.size());
        for (size_t k = 0; k < trajectory.segments.size(); ++k) {
          EXPECT_LE(trajectory.segments[k].ids.size(), 900u);
          EXPECT_EQ(trajectory.segments[k].roles, runs[1][n].segments[k].roles) << rule;
        }
      }
    }
  }
}

}  // namespace
}  // namespace temper::rollout
