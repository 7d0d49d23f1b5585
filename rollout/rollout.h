#pragma once
// Turns tasks into trajectories: generates answers, has finished turns judged while others are still generated, and
// continues with their next turns.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/options.h"
#include "env/judge/judge.h"
#include "policy/policy.h"
#include "policy/sampler.h"
#include "policy/chat/chat_format.h"
#include "rollout/context.h"
#include "rollout/trajectory.h"

namespace temper::rollout {

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
  int64_t feedback_bytes = 0;   // largest length of a turn's feedback; 0 chooses it by the context
  ContextOptions context = {};
  void visit(OptionVisitor& v);

  policy::SamplingParams sampling() const { return {temperature, top_p, top_k}; }

  // feedback_bytes, or else a byte for four tokens of context: some three bytes make a token, so that is a
  // twelfth of the context a turn. In a context below 1600 tokens it is no more than a message takes.
  size_t feedback_limit() const;
};

struct RolloutRequest {
  const env::Task* task;
  int64_t samples;
  // Prepended to the first new answer's prompt. The worst are left out if they do not all fit.
  std::vector<PastTurn> past = {};
};

struct RolloutStats {
  double generate_s = 0;              // wall time in the generator
  double wait_s = 0;                  // wall time with nothing to generate, waiting for verdicts
  double cache_s = 0;                 // wall time in which keys and values get their memory
  int64_t tokens = 0;                 // generated, on all ranks
  int64_t judged = 0, cached = 0;     // on all ranks
  int64_t again = 0, overturned = 0;  // PASSes that were judged once more, and those that fell; on all ranks
  // Interrupted while it waited for what may never come; the same on all ranks. The batch is not whole then:
  // answers lack, or have the verdict INFRA.
  bool given_up = false;
};

class Rollout {
 public:
  // All references must outlive the rollout.
  // Errors: ConfigError if a task's prompt leaves no room for an answer in max_context_tokens.
  Rollout(policy::Policy& policy, const policy::Tokenizer& tokenizer, env::Judge& judge,
          RolloutOptions options, uint64_t seed);

  // Returns one group per request, in order. Deterministic in (seed, step, task, sample, turn) except for decisions
  // that depend on measured times. An INFRA verdict, our own failure, ends its trajectory. `progress` is called with
  // (turns judged, turns in all). Each of the policy's ranks makes a part, and all return the same batch; progress
  // counts this rank's part.
  Batch run(int64_t step, const std::vector<RolloutRequest>& requests,
            const std::function<void(int64_t, int64_t)>& progress = {});
  const RolloutStats& stats() const { return stats_; }  // of the last call of run()

  RolloutOptions options;
  // If set, run() returns at once after interrupted() with the trajectories so far; an answer whose verdict did not
  // arrive keeps the verdict INFRA. Otherwise an interrupted run is completed, and `progress` is called within a
  // second. It is given up only if it might wait for ever: within two seconds if another process holds the GPU, and
  // if no token and no verdict has arrived for patience_s.
  bool stops_when_interrupted = false;
  double patience_s = 20;
  // Whether candidates are timed on the GPU on which the policy generates, so that the two must take turns. It is
  // derived from policy and judge. Tests set it on machines without a GPU.
  bool shares_gpu;

 private:
  void check_prompt_fits(const env::Task& task) const;

  policy::Policy& policy_;
  const policy::Tokenizer& tokenizer_;
  env::Judge& judge_;
  policy::ChatFormat format_;
  uint64_t seed_;
  RolloutStats stats_;
};

}  // namespace temper::rollout
