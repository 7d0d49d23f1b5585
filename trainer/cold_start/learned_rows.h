#pragma once
// The conversations of a cold start as rows of tokens, be they written by the grammar or given in a file.

#include <cstdint>
#include <string>
#include <vector>

#include "env/task/task.h"
#include "policy/chat/chat_text.h"
#include "policy/text/tokenizer.h"
#include "rollout/chat_examples.h"
#include "rollout/context.h"
#include "rollout/traces/traces.h"
#include "rollout/trajectory.h"

namespace temper::trainer {

// Tokens [begin, end) of a row, an answer with its stop token, and the weight of each in the loss.
struct LearnedSpan {
  int32_t begin = 0, end = 0;
  double weight = 1;
};

struct LearnedRow {
  std::vector<int32_t> ids;             // [T]
  std::vector<LearnedSpan> spans;       // spans that are not learned have weight 0
  std::vector<double> weights() const;  // [T], 0 outside
};

std::vector<policy::ChatMessage> messages_of(const rollout::ChatExample& example);

struct LearnedRows {
  std::vector<LearnedRow> rows;
  int64_t left_out = 0;        // those that were left out because of their length
  std::string too_long = "";   // place and length of the first of them in a file
  int64_t longest() const;     // tokens
  std::string digest() const;  // digest of all rows
};

// The trace as a trajectory that a rollout under this context would have made. If the rule asks for summaries, the
// summary of an answer is its plan, which is the text before its code.
rollout::Trajectory to_trajectory(const traces::Trace& trace, const env::Task& task,
                                  const policy::Tokenizer& tokenizer,
                                  const rollout::ContextOptions& context = {});

struct TraceRowOptions {
  double repaired_weight = 1;  // weight of answers that a later turn repairs
  int64_t max_tokens = 0;      // traces with a longer row are left out
  rollout::ContextOptions context = {};
};

// Errors: ConfigError if a trace names no known task, or all are longer.
LearnedRows rows_of_traces(const std::vector<traces::Trace>& traces, const std::vector<env::Task>& tasks,
                           const policy::Tokenizer& tokenizer, const TraceRowOptions& options);

// Those of more than `max_tokens` are left out. Errors: ConfigError naming the place of one that the chat format
// does not write.
LearnedRows rows_of_examples(const std::vector<rollout::ChatExample>& examples,
                             const policy::Tokenizer& tokenizer, int64_t max_tokens);

}  // namespace temper::trainer
