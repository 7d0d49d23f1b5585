#include "trainer/cold_start/cold_start.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/process.h"
#include "policy/chat/chat_format.h"
#include "policy/parameters/parameter_store.h"
#include "rollout/conversation.h"
#include "tests/env/small_tasks.h"
#include "tests/trainer/fixtures.h"

namespace temper::trainer {

using policy::Policy;

namespace {

std::string answer_text(const std::string& expression) {
  return "One pass.\n```cpp\nextern \"C\" void kernel(const float* x, float* y, long n) {\n"
         "  for (long i = 0; i < n; ++i) y[i] = " +
         expression + ";\n}\n```\n";
}

env::Verdict judged(env::Verdict verdict, const std::string& message) {
  verdict.message = message;
  return verdict;
}

// A defect with its repair, and one answer that is right at once.
std::vector<traces::Trace> make_traces() {
  return {{"double_it",
           {{answer_text("x[i]"), judged(failed(), "Incorrect: y[0] is 1, should be 2.")},
            {answer_text("x[i] + x[i]"), judged(passed(1.5), "Correct.")}}},
          {"double_it", {{answer_text("2 * x[i]"), judged(passed(1.5), "Correct.")}}}};
}

class ColdStart : public ::testing::Test {
 protected:
  std::vector<env::Task> tasks = env::small_tasks({{"double_it", "x + x"}});
  std::vector<traces::Trace> traces = make_traces();
  policy::Tokenizer tokenizer =
      policy::Tokenizer::train({tasks[0].prompt(), answer_text("x[i]"), answer_text("2 * x[i]")}, 400);

  Policy tiny_policy(int64_t positions = policy::ModelConfig().max_position_embeddings) const {
    policy::ModelConfig config;
    config.max_position_embeddings = positions;
    config.vocab_size = tokenizer.vocab_size();
    config.hidden_size = 32;
    config.intermediate_size = 48;
    config.num_hidden_layers = 1;
    config.num_attention_heads = 2;
    config.num_key_value_heads = 1;
    config.head_dim = 16;
    Policy policy(config, {});
    policy.parameters().init_random(1);
    return policy;
  }

  LearnedRows rows(const Policy& policy, const ColdStartOptions& options) const {
    return rows_of_traces(
        traces, tasks, tokenizer,
        {.repaired_weight = options.repaired_weight, .max_tokens = longest_row(options, policy.config())});
  }

  ColdStartStats run(Policy& policy, const ColdStartOptions& options) {
    return run_cold_start(policy, rows(policy, options).rows, options, 7);
  }

  // Mean −log p of the answer tokens of these turns of the traces' rows.
  double answer_loss(Policy& policy, const std::vector<std::pair<size_t, size_t>>& turns) {
    double sum = 0, count = 0;
    for (const auto& [trace, turn] : turns) {
      const rollout::Trajectory all = to_trajectory(traces[trace], tasks[0], tokenizer);
      const std::vector<int32_t>& ids = all.segments[0].ids;
      policy::PackedTokens tokens{ids, {0, int32_t(ids.size())}, std::vector<uint8_t>(ids.size())};
      const rollout::Turn& place = all.turns[turn];
      std::fill(tokens.scored.begin() + place.begin, tokens.scored.begin() + place.end, uint8_t(1));
      const policy::TokenScores scores = policy.forward(tokens);
      for (int32_t t = place.begin; t < place.end; ++t) sum -= scores.log_prob[t];
      count += place.end - place.begin;
    }
    return sum / count;
  }
};

TEST_F(ColdStart, ExamplesLongerThanThePositionsAreLeftOut) {
  const auto length = [&](size_t trace) {
    return std::ssize(to_trajectory(traces[trace], tasks[0], tokenizer).segments[0].ids);
  };
  ASSERT_LT(length(1), length(0));
  Policy all = tiny_policy(length(0)), short_ones = tiny_policy(length(0) - 1),
         none = tiny_policy(length(1) - 1);
  EXPECT_EQ(rows(all, {}).left_out, 0);
  EXPECT_EQ(rows(all, {.max_tokens = length(0) - 1}).left_out, 1);
  EXPECT_EQ(rows(short_ones, {}).left_out, 1);
  const ColdStartStats stats = run(short_ones, {.epochs = 1});
  EXPECT_EQ(stats.tokens, length(1));
  EXPECT_THROW(run(none, {.epochs = 1}), ConfigError);
}

TEST_F(ColdStart, RowsHaveTheLayoutOfRollouts) {
  const rollout::Trajectory row = to_trajectory(traces[0], tasks[0], tokenizer);
  const policy::ChatFormat format(tokenizer);
  std::vector<int32_t> expected, answers;
  const auto append = [&expected](const std::vector<int32_t>& ids) {
    expected.insert(expected.end(), ids.begin(), ids.end());
  };
  append(format.first_turn(tasks[0].prompt()));
  EXPECT_EQ(row.turns[0].begin, int32_t(expected.size()));
  append(tokenizer.encode(traces[0].turns[0].answer));
  append({format.stop_id()});
  EXPECT_EQ(row.turns[0].end, int32_t(expected.size()));
  append(format.user_turn(rollout::feedback_text(traces[0].turns[0].verdict)));
  append(tokenizer.encode(traces[0].turns[1].answer));
  append({format.stop_id()});
  EXPECT_EQ(row.segments[0].ids, expected);
  EXPECT_EQ(row.turns[1].end, int32_t(expected.size()));
  for (size_t t = 0; t < expected.size(); ++t) {
    const int32_t place = int32_t(t);
    const bool answer =
        (place >= row.turns[0].begin && place < row.turns[0].end) || place >= row.turns[1].begin;
    EXPECT_EQ(rollout::is_response(row.segments[0].roles[t]), answer) << t;
  }
  EXPECT_TRUE(row.turns[1].verdict.pass());
}

TEST_F(ColdStart, RowsHaveTheFormOfTheRolloutsContext) {
  TraceRowOptions options{.max_tokens = 1024};
  const size_t in_one_row = rows_of_traces(traces, tasks, tokenizer, options).rows.size();
  EXPECT_EQ(in_one_row, traces.size());
  size_t turns = 0;
  for (const traces::Trace& trace : traces) turns += trace.turns.size();
  for (const char* rule : {"drop_reasoning", "summaries", "best_of_history"}) {
    options.context = {.rule = rule, .summary_tokens = 8};
    const LearnedRows all = rows_of_traces(traces, tasks, tokenizer, options);
    EXPECT_EQ(all.rows.size(), turns);
    size_t spans = 0;
    for (const LearnedRow& row : all.rows) {
      spans += row.spans.size();
      EXPECT_EQ(row.spans.back().end, std::ssize(row.ids));
    }
    EXPECT_EQ(spans, options.context.summarises() ? 2 * turns - traces.size() : turns);
  }
}

TEST_F(ColdStart, TheLossIsTheMeanOverAnswerTokens) {
  const std::vector<std::pair<size_t, size_t>> all = {{0, 0}, {0, 1}, {1, 0}}, final_ones = {{0, 1}, {1, 0}};
  for (int64_t micro_batch_tokens : {1, 100000}) {
    ColdStartOptions options;
    options.epochs = 1;
    options.batch_tokens = 100000;
    options.micro_batch_tokens = micro_batch_tokens;
    Policy policy = tiny_policy();
    const double expected = answer_loss(policy, all);
    EXPECT_NEAR(run(policy, options).loss, expected, 1e-5);
  }
  ColdStartOptions options;
  options.epochs = 1;
  options.batch_tokens = 100000;
  options.repaired_weight = 0;
  Policy policy = tiny_policy();
  const double expected = answer_loss(policy, final_ones);
  EXPECT_NEAR(run(policy, options).loss, expected, 1e-5);
}

TEST_F(ColdStart, LearnsTheAnswers) {
  ColdStartOptions options;
  options.epochs = 60;
  options.batch_tokens = 1;
  options.optimizer.lr = 1e-2;
  Policy policy = tiny_policy();
  const double before = answer_loss(policy, {{1, 0}});
  const ColdStartStats stats = run(policy, options);
  EXPECT_EQ(stats.updates, 120);
  EXPECT_DOUBLE_EQ(stats.progress, 1);
  EXPECT_GT(before, 5);
  EXPECT_LT(answer_loss(policy, {{1, 0}}), 0.5);
  EXPECT_EQ(policy.parameters().moment2().abs().max().item<double>(), 0);
}

TEST_F(ColdStart, TheSeedDecidesTheResult) {
  ColdStartOptions options;
  options.epochs = 2;
  options.batch_tokens = 1;
  Policy first = tiny_policy(), second = tiny_policy(), other = tiny_policy();
  run(first, options);
  run(second, options);
  run_cold_start(other, rows(other, options).rows, options, 8);
  EXPECT_TRUE(first.parameters().weights().equal(second.parameters().weights()));
  EXPECT_FALSE(first.parameters().weights().equal(other.parameters().weights()));
}

TEST_F(ColdStart, GoesOnBitForBitFromAnyUpdate) {
  ColdStartOptions options;
  options.epochs = 3;
  options.batch_tokens = 1;
  Policy whole = tiny_policy();
  std::vector<ColdStartStats> places;
  std::vector<at::Tensor> states;  // master, moments
  const auto keep = [&](const ColdStartStats& now) {
    policy::ParameterStore& store = whole.parameters();
    places.push_back(now);
    for (const at::Tensor& part : {store.weights(), store.moment1(), store.moment2()})
      states.push_back(part.clone());
  };
  run_cold_start(whole, rows(whole, options).rows, options, 7, {}, keep);
  ASSERT_EQ(places.size(), 6u);
  for (size_t k = 0; k < places.size(); ++k) {
    Policy policy = tiny_policy();
    policy::ParameterStore& store = policy.parameters();
    store.weights().copy_(states[3 * k]);
    store.moment1().copy_(states[3 * k + 1]);
    store.moment2().copy_(states[3 * k + 2]);
    const ColdStartStats ended = run_cold_start(policy, rows(policy, options).rows, options, 7, places[k]);
    EXPECT_EQ(ended.updates, 6);
    EXPECT_EQ(ended.tokens, places.back().tokens);
    EXPECT_TRUE(store.weights().equal(whole.parameters().weights())) << k;
    EXPECT_EQ(store.moment2().abs().max().item<double>(), 0);
  }
}

TEST_F(ColdStart, EndsWithTheClockAndTheScheduleFollows) {
  ColdStartOptions options;
  options.epochs = 20000;
  options.batch_tokens = 100000;
  options.max_seconds = 0.5;
  options.optimizer.warmup = 0;
  Policy policy = tiny_policy();
  double seconds = 0;
  const auto check = [&](const ColdStartStats& now) {
    // The update began when the one before had ended: linear decay by the clock.
    EXPECT_LE(now.lr, options.optimizer.lr * (1 - seconds / options.max_seconds));
    seconds = now.seconds;
  };
  const double start = now_s();
  const ColdStartStats stats = run_cold_start(policy, rows(policy, options).rows, options, 7, {}, check);
  EXPECT_LT(stats.updates, stats.total_updates);
  // By the clock, since so many updates take hours.
  EXPECT_DOUBLE_EQ(stats.progress, std::min(1.0, stats.seconds / options.max_seconds));
  EXPECT_GE(now_s() - start, options.max_seconds);
}

TEST_F(ColdStart, ATraceOfAnUnknownTaskIsTheUsersMistake) {
  traces[0].task = "dubble_it";
  Policy policy = tiny_policy();
  EXPECT_THROW(run(policy, {}), ConfigError);
}

}  // namespace
}  // namespace temper::trainer
