#pragma once
// A batch with its advantages → updates of the policy.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/options.h"
#include "policy/policy.h"
#include "rollout/trajectory.h"
#include "trainer/algorithm/advantage.h"
#include "trainer/algorithm/loss.h"
#include "trainer/learn/optimizer.h"
#include "trainer/learn/packing.h"

namespace at {
class Tensor;
}

namespace temper::trainer {

struct LearnerOptions {
  int64_t micro_batch_tokens = 4096;  // packed into one forward and backward; a longer row goes alone
  bool share_prompts = true;          // what neighbouring rows of a pack begin with is computed once
  int64_t updates_per_batch = 1;      // parts into which the batch is split, with one update each
  int64_t epochs = 1;                 // passes over the batch
  int64_t max_skipped_updates = 10;   // consecutive ones after which the run ends; 0 for no limit
  void visit(OptionVisitor& v);
  Packing packing() const { return {micro_batch_tokens, share_prompts}; }
};

// How much of a run of `steps` steps is done in the middle of an update, from 0, of a step, from 1: what its learning rate
// depends on, in [0, 1].
double progress(const LearnerOptions& options, int64_t steps, int64_t step, int64_t update);

// Means are over the tokens in the loss, without those of rows that were not computed.
struct LearnStats {
  double loss = 0;
  double entropy = 0;
  double clip_fraction = 0;
  double ratio_mean = 1, ratio_max = 1;
  double approx_kl = 0;     // log π_old − log π
  double reference_kl = 0;  // k3 estimate of the KL to the frozen reference; 0 without one
  double grad_norm = 0;     // before the clip, mean over the updates
  double lr = 0;            // learning rate of the last update
  int64_t updates = 0;
  int64_t skipped_updates = 0;  // gradient not finite, or a spike (optimizer.max_spike)
  int64_t tokens = 0;           // in the loss and computed, each counted once per epoch
  int64_t left_out = 0;         // of those: drawn, but now excluded by top-k and top-p
  int64_t idle_rows = 0;        // rows whose advantages are all 0, which were not computed
  int64_t packed_tokens = 0;    // computed, prompts and feedback included, what rows share once
  int64_t scored_tokens = 0;    // of rows in passes that only score, prompts and feedback included
  // Operations of forward and backward over the computed tokens, once per epoch (policy/layouts.h). Recomputation that
  // saves memory is not counted, and neither are passes that only score.
  double model_flops = 0;
  double seconds = 0;
  double hand_over_s = 0;  // of those: the host's, in which memory goes from a rollout to the update and back

  // The sampling pass against the trainer, over the first update's tokens: the weights are still those that
  // sampled.
  double rollout_kl = 0;  // mean of log π_rollout − log π_train
  double rollout_max_abs_log_diff = 0;
  int64_t rollout_unequal = 0;  // tokens whose log-prob has other bits
};

class Learner {
 public:
  // `sampling` is the rollout's, so that log-probs are those of the distribution that was sampled. `steps` are the
  // whole run's, for the schedule: each step has options.epochs · options.updates_per_batch updates, and batch.step,
  // counted from 1, says which of them belong to a batch. Skipped updates are therefore counted, and a run that
  // resumes agrees with one that was never stopped. With a KL coefficient the present weights become the reference.
  // The policy must outlive the learner.
  Learner(policy::Policy& policy, LearnerOptions options, LossOptions loss, OptimizerOptions optimizer,
          policy::SamplingParams sampling, int64_t steps);

  ~Learner();

  // log π of every response token under the present weights, [row][T], 0 elsewhere.
  std::vector<std::vector<float>> log_probs(const rollout::Batch& batch);

  // Makes options.epochs · options.updates_per_batch optimizer steps, or fewer if there is nothing to learn from. Rows
  // whose advantages are all 0 count in the denominators, but are computed only if KL or entropy needs them. Errors:
  // WorldError saying why, after options.max_skipped_updates consecutive skipped updates.
  LearnStats update(const rollout::Batch& batch, const TokenAdvantages& advantages);

  AdamW& optimizer() { return optimizer_; }
  // Flat weights, or under ZeRO-3 this rank's share of them; null without a KL term.
  const at::Tensor* reference() const { return reference_.get(); }
  void set_reference(const at::Tensor& weights);  // whole

 private:
  struct Row;
  struct Sums;
  struct Part;
  std::vector<Row> make_rows(const rollout::Batch& batch, const TokenAdvantages& advantages) const;
  static std::vector<PackRow> pack_rows(const std::vector<Row*>& rows);
  void score(const std::vector<Row*>& rows, std::vector<float> Row::*log_probs,
             const policy::SamplingParams& sampling, LearnStats& stats);
  void score_given(std::span<const Part> parts, LearnStats& stats);
  void see_pack(std::span<Row* const> rows, const Pack& pack, std::span<const double> log_prob,
                bool first) const;
  TokenTerms terms(const Row& row, int32_t t) const;
  void accumulate(const std::vector<Row*>& rows, bool first, Sums& sums);
  std::vector<Part> deal(std::vector<Row>& rows) const;
  void update_once(const Part& part, double progress, Sums& sums, LearnStats& stats);
  void count_skipped(bool skipped, const Sums& sums);
  void note_alike(const rollout::Batch& batch, const TokenAdvantages& advantages) const;

  policy::Policy& policy_;
  LearnerOptions options_;
  LossOptions loss_;
  AdamW optimizer_;
  policy::SamplingParams sampling_;
  int64_t steps_;
  int64_t skipped_in_a_row_ = 0;
  std::unique_ptr<at::Tensor> reference_;
};

}  // namespace temper::trainer
