#pragma once
// Tasks → trajectories: generates, judges finished turns while others still generate, and goes on to the next
// turn.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/options.h"
#include "env/judge/judge.h"
#include "policy/policy.h"
#include "policy/sampler.h"
#include "policy/text/chat_format.h"
#include "rollout/context.h"
#include "rollout/trajectory.h"

namespace temper {

struct RolloutOptions {
  int64_t tasks_per_step = 8;
  int64_t samples_per_task = 8;  // N
  int64_t turns = 2;             // M
  bool stop_on_pass = false;     // a trajectory ends with its first PASS
  double temperature = 1, top_p = 1;
  int64_t top_k = 0;
  int64_t max_response_tokens = 192;
  int64_t max_context_tokens = 768;
  int64_t max_sequences = 128;  // generated at once
  int64_t feedback_bytes = 0;   // of a turn's feedback at most; 0: by the context
  ContextOptions context = {};
  void visit(OptionVisitor& v);

  SamplingParams sampling() const { return {temperature, top_p, top_k}; }

  // feedback_bytes, or else a byte for four tokens of context: some three bytes make a token, so that is a
  // twelfth of the context a turn. In a context below 1600 tokens it is no more than a message takes.
  size_t feedback_limit() const;
};

struct RolloutRequest {
  const Task* task;
  int64_t samples;
  // Shown in front of the first answer; the worst of them are left out where not all fit.
  std::vector<PastTurn> past = {};
};

struct RolloutStats {
  double generate_s = 0;           // wall time in the generator
  double wait_s = 0;               // wall time with nothing to generate, waiting for verdicts
  int64_t tokens = 0;              // generated, on all ranks
  int64_t judged = 0, cached = 0;  // on all ranks
  int64_t again = 0, overturned = 0;  // PASSes that were judged once more, and those that fell; on all ranks
  // Interrupted while it waited for what may never come; the same on all ranks. The batch is not whole then:
  // answers lack, or have the verdict INFRA.
  bool given_up = false;
};

class Rollout {
 public:
  // All references must outlive the rollout.
  // Errors: ConfigError if a task's prompt leaves no room for an answer in max_context_tokens.
  Rollout(Policy& policy, const Tokenizer& tokenizer, Judge& judge, RolloutOptions options, uint64_t seed);

  // One group per request, in order. Deterministic in (seed, step, task, sample, turn) but for what timing
  // decides. A verdict of our own failure (INFRA) ends its trajectory. `progress` is told
  // (turns judged, turns in all). The policy's ranks each make a part, and all return the same batch;
  // progress is that of this rank's part.
  Batch run(int64_t step, const std::vector<RolloutRequest>& requests,
            const std::function<void(int64_t, int64_t)>& progress = {});
  const RolloutStats& stats() const { return stats_; }  // of the last run

  RolloutOptions options;
  // Returns at once after interrupted() with what there is; an answer whose verdict did not arrive keeps the
  // verdict INFRA. Else an interrupted run is finished, `progress` being told within a second, unless what it
  // waits for may never come: it is given up within two seconds where another process holds the GPU, and
  // where no token and no verdict has come for patience_s.
  bool stops_when_interrupted = false;
  double patience_s = 20;
  // Whether candidates are timed on the GPU on which the policy generates, so that one works at a time: known
  // from policy and judge. Tests say so where there is no GPU.
  bool shares_gpu;

 private:
  void check_prompt_fits(const Task& task) const;

  Policy& policy_;
  const Tokenizer& tokenizer_;
  Judge& judge_;
  ChatFormat format_;
  uint64_t seed_;
  RolloutStats stats_;
};

}  // namespace temper
