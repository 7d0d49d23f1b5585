#include "trainer/learn/learner.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/process.h"
#include "policy/layouts.h"
#include "policy/parameters/flat.h"
#include "policy/parameters/parameter_store.h"
#include "policy/ranks/activity.h"
#include "policy/ranks/flip_a_bit.h"
#include "trainer/learn/batch_digest.h"
#include "trainer/learn/packing.h"

namespace temper::trainer {

using rollout::Batch;
using rollout::BatchRow;

namespace {

// The policy has other weights for as long as this lives. The two change places: nothing is copied, and
// nothing can fail on the way back, as it may be an exception that ends this.
class BorrowedWeights {
 public:
  BorrowedWeights(policy::ParameterStore& store, at::Tensor& weights) noexcept
      : store_(store), borrowed_(weights) {
    store_.swap_weights(borrowed_);
  }
  ~BorrowedWeights() { store_.swap_weights(borrowed_); }
  BorrowedWeights(const BorrowedWeights&) = delete;
  BorrowedWeights& operator=(const BorrowedWeights&) = delete;

 private:
  policy::ParameterStore& store_;
  at::Tensor& borrowed_;
};

// Of a pack's sequences, without their prefixes.
double forward_flops(const policy::ModelConfig& config, const policy::PackedTokens& pack) {
  double flops = 0;
  for (size_t s = 0; s + 1 < pack.starts.size(); ++s) {
    const int64_t scored =
        std::count(&pack.scored[size_t(pack.starts[s])], pack.scored.data() + pack.starts[s + 1], uint8_t(1));
    flops += policy::forward_flops(config, pack.length(s), scored) -
             policy::forward_flops(config, pack.prefix(s), 0);
  }
  return flops;
}

// A policy that is broken gives all its answers the same reward, and its log-probs are no numbers: computing
// such rows is what shows it.
bool moves_anything(const std::vector<float>& sampled, const RowAdvantages& row) {
  for (size_t t = 0; t < row.mask.size(); ++t)
    if (row.mask[t] && (row.advantage[t] != 0 || !std::isfinite(sampled[t]))) return true;
  return false;
}

}  // namespace

// A row with what its tokens' loss takes as given.
struct Learner::Row {
  BatchRow of;
  const RowAdvantages* advantages;
  std::vector<float> trainer = {};         // log-probs before the first update; for importance sampling only
  std::vector<float> reference = {};       // log-probs; with a KL term only
  std::vector<float> sequence_ratio = {};  // logarithms; GSPO only
  std::vector<double> weights = {};        // from normalisation_weights
  bool computed = true;                    // false: it moves nothing

  float sampled(int32_t t) const { return of.row().log_probs[t]; }
  // A token that the trainer's own top-k and top-p leave out has importance 0: the sampler's value keeps its
  // ratio, and that of its answer, finite.
  double old_log_prob(int32_t t) const {
    return trainer.empty() || std::isinf(trainer[t]) ? sampled(t) : trainer[t];
  }
  void set_sequence_ratio(const std::vector<float>& log_probs);
};

// The mean of log π − log π_old over each answer and its summary, for each of their tokens.
void Learner::Row::set_sequence_ratio(const std::vector<float>& log_probs) {
  sequence_ratio.assign(log_probs.size(), 0);
  for (const rollout::Turn* turn : of.turns()) {
    double sum = 0, count = 0;
    for (const rollout::Span span : turn->spans())
      for (int32_t t = span.begin; t < span.end; ++t) {
        if (!advantages->mask[t]) continue;
        sum += double(log_probs[size_t(t)]) - old_log_prob(t);
        ++count;
      }
    if (count == 0) continue;
    for (const rollout::Span span : turn->spans())
      std::fill(sequence_ratio.begin() + span.begin, sequence_ratio.begin() + span.end, float(sum / count));
  }
}

// The rows of an update, and those of them that are computed.
struct Learner::Part {
  std::vector<Row*> rows, computed;
};

// Over tokens.
struct Learner::Sums {
  double loss = 0, entropy = 0, clipped = 0, ratio = 0, ratio_max = 0, approx_kl = 0, reference_kl = 0,
         tokens = 0, left_out = 0;
  double rollout_kl = 0, rollout_max = 0, rollout_tokens = 0, rollout_unequal = 0;  // of the first update
  double packed_tokens = 0, model_flops = 0;                                        // of packs

  void add(const TokenTerms& terms, const TokenLoss& token, double log_prob, double token_entropy) {
    loss += token.value;
    entropy += token_entropy;
    clipped += token.clipped;
    ratio += token.ratio;
    ratio_max = std::max(ratio_max, token.ratio);
    ++tokens;
    if (log_prob == -std::numeric_limits<double>::infinity()) {
      ++left_out;
      return;
    }
    approx_kl += terms.old_log_prob - log_prob;
    const double d = terms.reference_log_prob - log_prob;
    reference_kl += std::exp(d) - d - 1;
  }
  void add_rollout(float sampled, double log_prob) {
    const double difference = sampled - log_prob;
    rollout_unequal += sampled != float(log_prob);
    if (std::isinf(difference)) return;  // where rounding moved a cut; counted in left_out
    rollout_kl += difference;
    rollout_max = std::max(rollout_max, std::abs(difference));
    ++rollout_tokens;
  }
  // Each rank has counted its own tokens.
  void sum_over(policy::Communicator& ranks) {
    const std::pair<double*, const char*> sums[] = {{&loss, "statistics of loss"},
                                                    {&entropy, "statistics of entropy"},
                                                    {&clipped, "statistics of clipped tokens"},
                                                    {&ratio, "statistics of ratio"},
                                                    {&approx_kl, "statistics of KL"},
                                                    {&reference_kl, "statistics of KL to the reference"},
                                                    {&tokens, "statistics of tokens"},
                                                    {&left_out, "statistics of tokens left out"},
                                                    {&packed_tokens, "statistics of tokens computed"},
                                                    {&model_flops, "statistics of operations"},
                                                    {&rollout_kl, "statistics of KL of sampling"},
                                                    {&rollout_tokens, "statistics of tokens sampled"},
                                                    {&rollout_unequal, "statistics of unequal tokens"}};
    for (const auto& [sum, what] : sums) *sum = ranks.sum(*sum, what);
    ratio_max = ranks.largest(ratio_max, "statistics of largest ratio");
    rollout_max = ranks.largest(rollout_max, "statistics of largest difference");
  }
  void write_means(bool reference, LearnStats& stats) const {
    const double updates = double(std::max<int64_t>(stats.updates + stats.skipped_updates, 1)),
                 n = std::max(tokens, 1.0);
    stats.loss = loss / updates;
    stats.grad_norm /= double(std::max<int64_t>(stats.updates, 1));
    stats.entropy = entropy / n;
    stats.clip_fraction = clipped / n;
    stats.ratio_mean = ratio / n;
    stats.ratio_max = ratio_max;
    const double inside = std::max(tokens - left_out, 1.0);
    stats.approx_kl = approx_kl / inside;
    stats.reference_kl = reference ? reference_kl / inside : 0;
    stats.tokens = int64_t(tokens);
    stats.left_out = int64_t(left_out);
    stats.packed_tokens = int64_t(packed_tokens);
    stats.model_flops = model_flops;
    stats.rollout_kl = rollout_kl / std::max(rollout_tokens, 1.0);
    stats.rollout_max_abs_log_diff = rollout_max;
    stats.rollout_unequal = int64_t(rollout_unequal);
  }
};

void LearnerOptions::visit(OptionVisitor& v) {
  v.option("micro_batch_tokens", micro_batch_tokens,
           {.help = "tokens packed into one forward and backward pass",
            .unit = "tokens",
            .min = 1,
            .may_change = true});
  v.option(
      "share_prompts", share_prompts,
      {.help =
           "compute once, in each pass, the tokens with which neighbouring rows of a pack begin, such as a "
           "group's prompt: log-probs keep their bits, and the gradient is the same but for the rounding "
           "of sums",
       .may_change = true});
  v.option("updates_per_batch", updates_per_batch,
           {.help = "parts into which a batch is divided, with one optimizer step each", .min = 1});
  v.option("epochs", epochs, {.help = "number of passes over a batch", .min = 1});
  v.option("max_skipped_updates", max_skipped_updates,
           {.help = "number of consecutive skipped updates after which the run ends; 0 for no limit",
            .min = 0,
            .may_change = true});
}

Learner::Learner(policy::Policy& policy, LearnerOptions options, LossOptions loss, OptimizerOptions optimizer,
                 policy::SamplingParams sampling, int64_t steps)
    : policy_(policy),
      options_(options),
      loss_(std::move(loss)),
      optimizer_(policy.parameters(), std::move(optimizer)),
      sampling_(sampling),
      steps_(std::max<int64_t>(steps, 1)) {
  if (loss_.kl_coefficient > 0) set_reference(policy_.parameters().weights());
}

Learner::~Learner() = default;

void Learner::set_reference(const at::Tensor& weights) {
  reference_ = std::make_unique<at::Tensor>(policy_.parameters().copy_for_learning(weights));
  if (policy::fail_if_asked("reference") == "flip") policy::flip_a_bit(*reference_);
}

std::vector<std::vector<float>> Learner::log_probs(const Batch& batch) {
  const std::vector<BatchRow> all = rollout::rows_of(batch);
  std::vector<std::vector<uint8_t>> masks;
  for (const BatchRow& one : all) masks.push_back(response_mask(one.row()));
  std::vector<PackRow> rows;
  for (const BatchRow& one : all) rows.push_back({one.ids(), masks[rows.size()]});
  policy_.shard_weights();  // a pass of learning, with the memory of one
  auto scores = score_rows(policy_, rows, options_.packing(), sampling_);
  policy_.unshard_weights();
  return scores;
}

std::vector<PackRow> Learner::pack_rows(const std::vector<Row*>& rows) {
  std::vector<PackRow> packed;
  for (const Row* row : rows) packed.push_back({row->of.ids(), row->advantages->mask});
  return packed;
}

void Learner::score(const std::vector<Row*>& rows, std::vector<float> Row::*log_probs,
                    const policy::SamplingParams& sampling, LearnStats& stats) {
  auto scores = score_rows(policy_, pack_rows(rows), options_.packing(), sampling);
  for (size_t i = 0; i < rows.size(); ++i) {
    stats.scored_tokens += std::ssize(rows[i]->of.ids());
    rows[i]->*log_probs = std::move(scores[i]);
  }
}

// Scores what stays the same over all updates of the batch. The first update's own forward finds its rows' log-probs
// under the weights that sampled, so that only the other rows are scored for importance sampling. The reference is not
// truncated by top-k and top-p, so that it has a probability for every token that the policy draws, and the KL to it is
// finite.
void Learner::score_given(std::span<const Part> parts, LearnStats& stats) {
  std::vector<Row*> all, later;
  const Part* first = nullptr;
  for (const Part& part : parts) {
    if (!first && !part.rows.empty()) first = &part;
    all.insert(all.end(), part.computed.begin(), part.computed.end());
    if (&part != first) later.insert(later.end(), part.computed.begin(), part.computed.end());
  }
  if (loss_.importance_cap > 0 && !later.empty()) score(later, &Row::trainer, sampling_, stats);
  if (!reference_) return;
  const BorrowedWeights borrowed(policy_.parameters(), *reference_);
  score(all, &Row::reference, {.temperature = sampling_.temperature}, stats);
}

// Before the loss of a pack: what it takes from all of the pack's log-probs.
void Learner::see_pack(std::span<Row* const> rows, const Pack& pack, std::span<const double> log_prob,
                       bool first) const {
  std::map<size_t, std::vector<float>> by_row;
  for (size_t k = 0; k < log_prob.size(); ++k) {
    std::vector<float>& row = by_row[pack.scored[k].row];
    row.resize(rows[pack.scored[k].row]->of.ids().size());
    row[size_t(pack.scored[k].t)] = float(log_prob[k]);
  }
  for (auto& [index, log_probs] : by_row) {
    Row& row = *rows[index];
    if (first && loss_.importance_cap > 0) row.trainer = log_probs;
    if (loss_.ratio == "sequence") row.set_sequence_ratio(log_probs);
  }
}

TokenTerms Learner::terms(const Row& row, int32_t t) const {
  TokenTerms terms = {.advantage = row.advantages->advantage[t],
                      .old_log_prob = row.old_log_prob(t),
                      .weight = row.weights[t]};
  if (!row.trainer.empty())
    terms.importance = std::min(std::exp(row.trainer[t] - row.sampled(t)), float(loss_.importance_cap));
  if (!row.reference.empty()) terms.reference_log_prob = row.reference[t];
  if (!row.sequence_ratio.empty()) terms.sequence_log_ratio = row.sequence_ratio[t];
  return terms;
}

// Adds the gradient of the rows' loss to the policy's.
void Learner::accumulate(const std::vector<Row*>& rows, bool first, Sums& sums) {
  uint64_t done = 0;
  for (const Pack& pack : make_shared_packs(policy_, pack_rows(rows), options_.packing())) {
    if (policy::fail_if_asked("micro-batch") == "skip") continue;
    policy_.ranks().note("micro-batch", ++done);
    const auto of_chunk = [&](int64_t begin, std::span<const double> log_prob,
                              std::span<const double> entropy, std::span<double> d_log_prob,
                              std::span<double> d_entropy) {
      for (size_t k = 0; k < log_prob.size(); ++k) {
        const auto [index, t] = pack.scored[size_t(begin) + k];
        const TokenTerms given = terms(*rows[index], t);
        const TokenLoss loss = token_loss(loss_, given, log_prob[k], entropy[k]);
        d_log_prob[k] = loss.d_log_prob;
        d_entropy[k] = loss.d_entropy;
        sums.add(given, loss, log_prob[k], entropy[k]);
        if (first) sums.add_rollout(rows[index]->sampled(t), log_prob[k]);
      }
    };
    policy::ScoreGradient gradient(of_chunk);
    if (loss_.ratio == "sequence" || (first && loss_.importance_cap > 0))
      gradient = {[&](std::span<const double> log_prob) { see_pack(rows, pack, log_prob, first); }, of_chunk};
    policy_.forward_backward(pack.tokens, gradient, sampling_);
    policy::made_progress();
    sums.packed_tokens += double(pack.tokens.ids.size());
    sums.model_flops += 3 * forward_flops(policy_.config(), pack.tokens);
  }
}

double progress(const LearnerOptions& options, int64_t steps, int64_t step, int64_t update) {
  const int64_t each = options.epochs * options.updates_per_batch;
  const double done = double(std::max<int64_t>(step - 1, 0) * each + update);
  return std::min(1.0, (done + 0.5) / double(steps * each));
}

void Learner::update_once(const Part& part, double progress, Sums& sums, LearnStats& stats) {
  std::vector<BatchRow> of;
  std::vector<const RowAdvantages*> advantages;
  for (const Row* row : part.rows) of.push_back(row->of), advantages.push_back(row->advantages);
  auto weights = normalisation_weights(loss_, of, advantages);
  for (size_t i = 0; i < part.rows.size(); ++i) part.rows[i]->weights = std::move(weights[i]);
  accumulate(part.computed, stats.updates + stats.skipped_updates == 0, sums);

  stats.lr = learning_rate(optimizer_.options(), progress);
  const double norm = optimizer_.update(stats.lr);
  const bool skipped = !optimizer_.skipped().empty();
  (skipped ? stats.skipped_updates : stats.updates) += 1;
  if (!skipped) stats.grad_norm += norm;
  count_skipped(skipped, sums);
}

// All ranks see the same norms, and so end together.
void Learner::count_skipped(bool skipped, const Sums& sums) {
  skipped_in_a_row_ = skipped ? skipped_in_a_row_ + 1 : 0;
  if (options_.max_skipped_updates == 0 || skipped_in_a_row_ < options_.max_skipped_updates) return;
  const double loss = policy_.ranks().sum(sums.loss, "statistics of loss");
  throw WorldError(
      "{} consecutive updates were skipped, because their gradient was not finite or a spike. The last one: "
      "{}; the loss of its step was {}. The weights have not moved since; a lower optimizer.lr may help, "
      "from an earlier checkpoint, and learner.max_skipped_updates allows more",
      skipped_in_a_row_, optimizer_.skipped(), loss);
}

std::vector<Learner::Row> Learner::make_rows(const Batch& batch, const TokenAdvantages& advantages) const {
  std::vector<Row> rows;
  size_t index = 0;
  for (const BatchRow& one : rollout::rows_of(batch)) {
    const RowAdvantages& row = advantages.at(index++);
    if (std::ranges::count(row.mask, 1) == 0) continue;
    rows.push_back({.of = one, .advantages = &row});
    rows.back().computed = loss_.regularises() || moves_anything(one.row().log_probs, row);
  }
  return rows;
}

// A group's samples lie next to each other: dealing them out puts each task into every part. The rows of a
// sample stay together, so that no part has but first turns.
std::vector<Learner::Part> Learner::deal(std::vector<Row>& rows) const {
  std::vector<Part> parts(static_cast<size_t>(options_.updates_per_batch));
  for (size_t i = 0, dealt = 0; i < rows.size(); ++i) {
    dealt += i > 0 && rows[i].of.trajectory != rows[i - 1].of.trajectory;
    Part& part = parts[dealt % parts.size()];
    part.rows.push_back(&rows[i]);
    if (rows[i].computed) part.computed.push_back(&rows[i]);
  }
  return parts;
}

// Notes digests of the data of which each rank computes a part. They must be the same on all ranks, or the sum of the
// ranks' gradients would be meaningless.
void Learner::note_alike(const Batch& batch, const TokenAdvantages& advantages) const {
  policy::Communicator& ranks = policy_.ranks();
  if (ranks.size() == 1) return;
  ranks.note("step", uint64_t(batch.step));
  ranks.note("batch", digest_of(batch));
  ranks.note("advantages", digest_of(advantages));
}

LearnStats Learner::update(const Batch& batch, const TokenAdvantages& advantages) {
  const policy::Phase phase("update");
  const double start = now_s();
  note_alike(batch, advantages);
  std::vector<Row> rows = make_rows(batch, advantages);
  const std::vector<Part> parts = deal(rows);

  LearnStats stats;
  stats.idle_rows = std::ranges::count(rows, false, &Row::computed);
  Sums sums;
  const auto timed = [&stats](const auto& work) {
    const double begin = now_s();
    work();
    stats.hand_over_s += now_s() - begin;
  };
  timed([&] { policy_.shard_weights(); });
  score_given(parts, stats);
  for (int64_t update = 0; update < options_.epochs * options_.updates_per_batch; ++update)
    if (const Part& part = parts[size_t(update % options_.updates_per_batch)]; !part.rows.empty())
      update_once(part, progress(options_, steps_, batch.step, update), sums, stats);
  timed([&] { policy_.unshard_weights(); });
  sums.sum_over(policy_.ranks());
  sums.write_means(reference_ != nullptr, stats);
  stats.seconds = now_s() - start;
  return stats;
}

}  // namespace temper::trainer
