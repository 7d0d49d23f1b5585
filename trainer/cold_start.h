#pragma once
// Supervised fine-tuning on verified traces, before any reinforcement.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/options.h"
#include "env/task.h"
#include "policy/policy.h"
#include "policy/tokenizer.h"
#include "rollout/traces.h"
#include "rollout/trajectory.h"
#include "trainer/optimizer.h"

namespace temper {

struct ColdStartOptions {
  int64_t epochs = 4;           // 0: no cold start
  int64_t batch_tokens = 8192;  // of one update
  int64_t micro_batch_tokens = 4096;
  double max_seconds = 0;      // ends it early, the schedule following the clock; 0: by steps, reproducible
  double repaired_weight = 1;  // of answers that a later turn repairs
  OptimizerOptions optimizer = {.lr = 3e-3, .schedule = "linear", .warmup = 0.02};
  void visit(OptionVisitor& v);
};

struct ColdStartStats {
  int64_t updates = 0, total_updates = 0;
  int64_t left_out = 0;  // examples longer than the policy's positions
  int64_t tokens = 0;    // computed so far, prompts included
  double loss = 0;       // nats per answer token, of the last update
  double grad_norm = 0, lr = 0;
  double seconds = 0;
  double progress = 0;  // share done, in [0, 1]
  double tokens_per_s() const { return seconds > 0 ? double(tokens) / seconds : 0; }
};

// The trace as the row that a rollout of it would have made.
Trajectory to_trajectory(const Trace& trace, const Task& task, const Tokenizer& tokenizer);

// Trains on the answers of the traces, shuffled by the seed; leaves the optimizer's moments at zero.
// `progress` is called after each update. Ends between updates when interrupted() or after max_seconds.
// Errors: ConfigError if a trace names no known task, or all are longer than the policy's positions.
ColdStartStats run_cold_start(Policy& policy, const Tokenizer& tokenizer, const std::vector<Task>& tasks,
                              const std::vector<Trace>& traces, const ColdStartOptions& options,
                              uint64_t seed, const std::function<void(const ColdStartStats&)>& progress = {});

}  // namespace temper
