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
#include "env/task/split.h"
#include "policy/text/tokenizer.h"
#include "rollout/chat_examples.h"
#include "rollout/context.h"
#include "rollout/traces/traces.h"
#include "rollout/trajectory.h"

namespace temper::policy {
class Communicator;
}  // namespace temper::policy

namespace temper::trainer {

struct Model;
struct RunConfig;

struct CollectOptions {
  std::string keep = "passes";  // or fast, or shortest
  double min_speedup = 1;       // `fast` only: the smallest speedup that is kept
  int64_t per_task = 0;         // most conversations per task; 0 for all, or for one with `shortest`
  std::string split = env::Split::kTrain;  // tasks that are asked
  int64_t samples = 0;                     // samples per task; 0 for rollout.samples_per_task
  bool weak = false;  // also answers to problems that answers without work pass; `collect` takes tasks.weak
  rollout::ContextOptions context = {};  // which the answers were sampled with; `collect` takes the rollout's
};

struct Collected {
  std::vector<rollout::ChatExample> examples;  // task by task
  int64_t sampled = 0;                         // conversations
  int64_t right = 0;                           // with an answer that is kept for what it is
  int64_t again = 0;                           // left out: their code is another's of the same task
  int64_t not_text = 0;                        // left out: not UTF-8
  int64_t over = 0;                            // left out: more than per_task
};

// Selects at most one conversation from each trajectory. It ends with the answer for which it is kept, and only that
// answer is learned; earlier answers are context if the policy saw them. `passes` keeps the first answer that passes,
// in the order sampled; `fast` the fastest one with at least min_speedup, a task's fastest conversations first;
// `shortest` the shortest one that passes, the shortest first. Of answers to a task with the same normalised code the
// first is kept. The trajectories must be in the order of their tasks.
Collected select_examples(const std::vector<rollout::Trajectory>& trajectories,
                          const std::vector<env::Task>& tasks, const policy::Tokenizer& tokenizer,
                          const CollectOptions& options, int64_t seed);

// Samples with the rollout's options, judges and selects; all ranks get the same. Deterministic in run.seed except for
// decisions that depend on measured times. Errors: ConfigError if the split has no task; Interrupted.
Collected collect(Model& model, env::Judge& judge, const RunConfig& config, const CollectOptions& options,
                  const std::function<void(int64_t, int64_t)>& progress = {});

// A trace as a rollout would have made it: the same messages of system and user.
rollout::ChatExample trace_example(const traces::Trace& trace, const env::Task& task,
                                   const rollout::PromptOptions& prompt, double repaired_weight);

// The cold start's conversations as the grammar writes them, with the feedback that their answers got. They are the
// ones that a new policy learns from, written out for policies that are not new. Answers that an interrupt left
// unjudged are left out.
std::vector<rollout::ChatExample> collect_traces(env::Judge& judge, const RunConfig& config,
                                                 policy::Communicator& ranks,
                                                 const std::function<void(int64_t, int64_t)>& progress = {});

// Without comments, and with every stretch of white space as one space or, beside punctuation, none: what is
// left is the same for answers that differ in layout alone. Literals stay as they are.
std::string normalised_code(std::string_view code);

}  // namespace temper::trainer
