#pragma once
// Answers that a policy gave, judged, made into conversations to learn from.
//
// Source: Think, Prune, Train (2504.18116) keeps what is right once; ConCuR (2510.07356) the shortest right
//         answer of a task.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "env/judge/judge.h"
#include "policy/text/tokenizer.h"
#include "rollout/chat_examples.h"
#include "rollout/context.h"
#include "rollout/trajectory.h"

namespace temper {

class Communicator;
struct Model;
struct RunConfig;

struct CollectOptions {
  std::string keep = "passes";  // or fast, or shortest
  double min_speedup = 1;       // of `fast`: at least
  int64_t per_task = 0;         // conversations of a task at most; 0: all, of `shortest` one
  std::string split = "train";  // tasks that are asked
  int64_t samples = 0;          // of a task; 0: rollout.samples_per_task
  ContextOptions context = {};  // which the answers were sampled with; `collect` takes the rollout's
};

struct Collected {
  std::vector<ChatExample> examples;  // task by task
  int64_t sampled = 0;                // conversations
  int64_t right = 0;                  // with an answer that is kept for what it is
  int64_t again = 0;                  // left out: their code is another's of the same task
  int64_t not_text = 0;               // left out: not UTF-8
  int64_t over = 0;                   // left out: more than per_task
};

// Of each trajectory at most one conversation, which ends with the answer that it is kept for and learns that
// alone; answers in front of it are context, as far as they were shown. `passes`: the first that passes, in
// the order sampled; `fast`: the fastest of at least min_speedup, the fastest conversations of a task first;
// `shortest`: the shortest that passes, the shortest first. Of answers to a task with the same normalised
// code the first stays. The trajectories must be in the order of their tasks.
Collected select_examples(const std::vector<Trajectory>& trajectories, const std::vector<Task>& tasks,
                          const Tokenizer& tokenizer, const CollectOptions& options, int64_t seed);

// Samples as the rollout's options say, judges, selects; the same on all ranks. Deterministic in run.seed but
// for what timing decides. Errors: ConfigError if the split has no task; Interrupted.
Collected collect(Model& model, Judge& judge, const RunConfig& config, const CollectOptions& options,
                  const std::function<void(int64_t, int64_t)>& progress = {});

// The cold start's conversations as the grammar writes them, with the feedback that their answers got: the
// same that a new policy learns, for one that is not new. What is left unjudged by an interrupt is left out.
std::vector<ChatExample> collect_traces(Judge& judge, const RunConfig& config, Communicator& ranks,
                                        const std::function<void(int64_t, int64_t)>& progress = {});

// Without comments, and with every stretch of white space as one space or, beside punctuation, none: what is
// left is the same for answers that differ in layout alone. Literals stay as they are.
std::string normalised_code(std::string_view code);

}  // namespace temper
