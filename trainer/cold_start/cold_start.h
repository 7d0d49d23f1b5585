#pragma once
// Supervised fine-tuning before any reinforcement: on traces that a grammar wrote, or on a file of
// conversations.
//
// Loss:   Σ w (−log p) / Σ w over the learned tokens of one update's rows on all ranks: a weighted mean over
//         tokens, in which a long answer counts more than a short one. w is the weight of the token's answer.
// Order:  each epoch's rows are shuffled by {seed, epoch} and put one after another into updates of about
//         batch_tokens tokens, prompts included.

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/options.h"
#include "policy/policy.h"
#include "trainer/cold_start/conversations.h"
#include "trainer/cold_start/learned_rows.h"
#include "trainer/learn/optimizer.h"

namespace temper::trainer {

// The default rate for the weights of model.path, as in Dr. Kernel (2602.05885) for 8 B parameters. The rate of a new and small
// policy would undo what published weights know.
inline constexpr double kFineTuningRate = 2e-5;

struct ColdStartOptions {
  int64_t epochs = 4;     // 0: no cold start
  std::string data = "";  // file or folder of conversations; if empty, a new policy learns from traces
  DataFields fields = {};
  int64_t max_tokens = 0;          // length limit of a conversation; 0 for the model's longest sequence
  int64_t checkpoint_every = 500;  // updates; 0 saves only when interrupted
  int64_t batch_tokens = 8192;     // size of one update
  int64_t micro_batch_tokens = 4096;
  double max_seconds = 0;  // time limit, which the schedule then follows; 0 for none, which is reproducible
  double repaired_weight = 1;  // weight of answers that a later turn repairs
  OptimizerOptions optimizer = {.lr = 3e-3, .schedule = "linear", .warmup = 0.02};
  void visit(OptionVisitor& v);
  // Interpreters for data in parquet; not an option, but given by the program.
  std::vector<std::string> pythons = {};
  ConversationSource source() const { return {.path = data, .fields = fields, .pythons = pythons}; }
};

struct ColdStartStats {
  int64_t updates = 0, total_updates = 0;
  int64_t optimizer_updates = 0;           // without those that were skipped
  std::deque<double> gradient_norms = {};  // AdamW::norms
  int64_t tokens = 0;                      // computed so far, prompts included
  double loss = 0;                         // nats per learned token, of the last update
  double grad_norm = 0, lr = 0;
  double seconds = 0;
  double progress = 0;  // share done, in [0, 1]
  bool interrupted = false;
  double tokens_per_s() const { return seconds > 0 ? double(tokens) / seconds : 0; }
};

// Tokens of a conversation at most.
int64_t longest_row(const ColdStartOptions& options, const policy::ModelConfig& shape);

// Trains on the rows and leaves the optimizer's moments at zero. `progress` is called after each update. It ends
// after max_seconds. If interrupted, it ends between updates and keeps the moments. `from` is the state of an
// interrupted cold start: with the weights and moments of that state it continues as if it had never been stopped,
// bit for bit if there is no time limit.
ColdStartStats run_cold_start(policy::Policy& policy, const std::vector<LearnedRow>& rows,
                              const ColdStartOptions& options, uint64_t seed, const ColdStartStats& from = {},
                              const std::function<void(const ColdStartStats&)>& progress = {});

}  // namespace temper::trainer
