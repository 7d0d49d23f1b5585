#include "trainer/cold_start/learned_rows.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "env/verdict/answer.h"
#include "policy/chat/chat_format.h"
#include "policy/ops/cpu/parallel.h"
#include "rollout/conversation.h"

namespace temper::trainer {

using env::Task;
using policy::ChatFormat;
using policy::Tokenizer;

namespace {

// Names of tokens in it are the tokens, since such texts are often conversations that a template has written.
LearnedRow render_text(const rollout::ChatMessage& text, const Tokenizer& tokenizer,
                       const ChatFormat& format) {
  LearnedRow row{.ids = tokenizer.encode_written(text.content), .spans = {}};
  const auto ends = [&](int32_t id) {
    return id == format.stop_id() || std::ranges::count(tokenizer.ends(), id) > 0;
  };
  if (row.ids.empty() || !ends(row.ids.back())) row.ids.push_back(format.stop_id());
  if (row.ids.size() < 2) throw ConfigError("the text has no second token, and the first is not learned");
  row.spans.push_back({1, int32_t(row.ids.size()), text.weight});
  return row;
}

// The one place that knows how a conversation of a file is laid out.
LearnedRow render(const rollout::ChatExample& example, const ChatFormat& format) {
  policy::ChatFormat::Conversation written = format.conversation(messages_of(example));
  LearnedRow row{.ids = std::move(written.ids), .spans = {}};
  auto answer = written.answers.begin();
  for (const rollout::ChatMessage& message : example.messages)
    if (message.role == "assistant") {
      row.spans.push_back({int32_t(answer->begin), int32_t(answer->end), message.weight});
      ++answer;
    }
  return row;
}

// Makes a row of each segment.
std::vector<LearnedRow> make_rows(rollout::Trajectory trajectory, double repaired_weight) {
  std::vector<LearnedRow> rows(trajectory.segments.size());
  for (size_t i = 0; i < trajectory.turns.size(); ++i) {
    const rollout::Turn& turn = trajectory.turns[i];
    const bool repaired = i + 1 < trajectory.turns.size() && !turn.verdict.pass();
    for (const rollout::Span span : turn.spans())
      if (span.begin < span.end)
        rows[size_t(turn.segment)].spans.push_back({span.begin, span.end, repaired ? repaired_weight : 1});
  }
  for (size_t k = 0; k < rows.size(); ++k) rows[k].ids = std::move(trajectory.segments[k].ids);
  return rows;
}

// The plan of an answer as its summary, without the empty lines around it.
std::vector<int32_t> summary_of(const std::string& answer, const rollout::ContextOptions& context,
                                const Tokenizer& tokenizer, const ChatFormat& format) {
  std::string plan = answer.substr(0, env::extract_code(answer).code_begin);
  while (!plan.empty() && (plan.back() == '\n' || plan.back() == ' ')) plan.pop_back();
  std::vector<int32_t> ids = tokenizer.encode(plan);
  ids.resize(std::min(ids.size(), size_t(context.summary_tokens) - 1));
  ids.push_back(format.stop_id());
  return ids;
}

}  // namespace

std::vector<policy::ChatMessage> messages_of(const rollout::ChatExample& example) {
  std::vector<policy::ChatMessage> messages;
  for (const rollout::ChatMessage& message : example.messages)
    messages.push_back({message.role, message.content});
  return messages;
}

std::vector<double> LearnedRow::weights() const {
  std::vector<double> weights(ids.size());
  for (const LearnedSpan& span : spans)
    std::fill(weights.begin() + span.begin, weights.begin() + span.end, span.weight);
  return weights;
}

int64_t LearnedRows::longest() const {
  int64_t most = 0;
  for (const LearnedRow& row : rows) most = std::max(most, std::ssize(row.ids));
  return most;
}

std::string LearnedRows::digest() const {
  Sha256 all;
  const auto add = [&](const auto& list) {
    const uint64_t size = list.size();
    all.add(&size, sizeof size);
    all.add(list.data(), size * sizeof list[0]);
  };
  for (const LearnedRow& row : rows) {
    add(row.ids);
    add(row.weights());
  }
  return all.hex();
}

rollout::Trajectory to_trajectory(const traces::Trace& trace, const Task& task, const Tokenizer& tokenizer,
                                  const rollout::ContextOptions& context) {
  const ChatFormat format(tokenizer);
  rollout::Conversation conversation(format, tokenizer, task, 0, 0, context);
  for (size_t i = 0; i < trace.turns.size(); ++i) {
    if (i > 0 && context.summarises()) {
      const std::vector<int32_t> summary = summary_of(trace.turns[i - 1].answer, context, tokenizer, format);
      conversation.request_summary();
      conversation.add_summary(summary, std::vector<float>(summary.size()));
    }
    if (i > 0) conversation.open_turn();
    std::vector<int32_t> ids = tokenizer.encode(trace.turns[i].answer);
    ids.push_back(format.stop_id());
    conversation.add_answer(ids, std::vector<float>(ids.size()), true);
    conversation.add_verdict(trace.turns[i].verdict);
  }
  return conversation.take();
}

LearnedRows rows_of_traces(const std::vector<traces::Trace>& traces, const std::vector<Task>& tasks,
                           const Tokenizer& tokenizer, const TraceRowOptions& options) {
  std::map<std::string, const Task*> by_name;
  for (const Task& task : tasks) by_name[task.name] = &task;
  std::vector<const Task*> task_of;
  for (const traces::Trace& trace : traces) {
    const auto known = by_name.find(trace.task);
    task_of.push_back(known != by_name.end() ? known->second
                                             : &env::find_task(tasks, trace.task));  // or throws
  }
  std::vector<std::vector<LearnedRow>> rows(traces.size());
  policy::cpu::parallel_tasks(std::ssize(traces), [&](int64_t i) {
    const auto k = size_t(i);
    rows[k] =
        make_rows(to_trajectory(traces[k], *task_of[k], tokenizer, options.context), options.repaired_weight);
  });
  LearnedRows all;
  for (std::vector<LearnedRow>& of_trace : rows) {
    const bool fits = std::ranges::all_of(
        of_trace, [&](const LearnedRow& row) { return std::ssize(row.ids) <= options.max_tokens; });
    all.left_out += !fits;
    if (fits) std::ranges::move(of_trace, std::back_inserter(all.rows));
  }
  if (all.rows.empty() && !traces.empty())
    throw ConfigError(
        "model.max_position_embeddings: each of the cold start's {} examples is longer than {} tokens",
        traces.size(), options.max_tokens);
  return all;
}

LearnedRows rows_of_examples(const std::vector<rollout::ChatExample>& examples, const Tokenizer& tokenizer,
                             int64_t max_tokens) {
  const ChatFormat format(tokenizer);
  std::vector<LearnedRow> rows(examples.size());
  policy::cpu::parallel_tasks(std::ssize(examples), [&](int64_t i) {
    const rollout::ChatExample& example = examples[size_t(i)];
    try {
      rows[size_t(i)] = example.plain() ? render_text(example.messages.front(), tokenizer, format)
                                        : render(example, format);
    } catch (const ConfigError& e) {
      throw ConfigError("{}: {}", example.place, e.what());
    }
  });
  LearnedRows all;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t length = std::ssize(rows[i].ids);
    if (length <= max_tokens)
      all.rows.push_back(std::move(rows[i]));
    else if (all.left_out++ == 0)
      all.too_long = fmt::format("{}: the conversation has {} tokens", examples[i].place, length);
  }
  return all;
}

}  // namespace temper::trainer
