#include "trainer/cold_start/cold_start.h"

#include <algorithm>

#include "base/process.h"
#include "base/rng.h"
#include "policy/ops/cpu/parallel.h"
#include "policy/ranks/activity.h"
#include "policy/ranks/communicator.h"
#include "trainer/learn/batch_digest.h"
#include "trainer/learn/packing.h"
#include "trainer/run/interrupted.h"

namespace temper::trainer {
namespace {

using Update = std::vector<const LearnedRow*>;

// One epoch's updates: the rows in a random order, about `batch_tokens` together.
std::vector<Update> shuffled_updates(const std::vector<LearnedRow>& rows, int64_t batch_tokens, Rng rng) {
  std::vector<const LearnedRow*> order;
  for (const LearnedRow& row : rows) order.push_back(&row);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  std::vector<Update> updates;
  int64_t tokens = batch_tokens;
  for (const LearnedRow* row : order) {
    const auto length = std::ssize(row->ids);
    if (tokens + length > batch_tokens) updates.emplace_back(), tokens = 0;
    updates.back().push_back(row);
    tokens += length;
  }
  return updates;
}

std::vector<Update> plan_updates(const std::vector<LearnedRow>& rows, const ColdStartOptions& options,
                                 uint64_t seed) {
  std::vector<Update> updates;
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch)
    std::ranges::move(shuffled_updates(rows, options.batch_tokens, Rng({seed, uint64_t(epoch)})),
                      std::back_inserter(updates));
  return updates;
}

// Adds the gradient of the weighted mean of −log p over the update's answer tokens. Returns that mean.
double accumulate(policy::Policy& policy, const Update& update, int64_t micro_batch_tokens) {
  std::vector<std::vector<double>> weights;
  std::vector<std::vector<uint8_t>> masks;
  double total = 0, loss = 0;
  for (const LearnedRow* row : update) {
    weights.push_back(row->weights());
    auto& mask = masks.emplace_back();
    for (const double weight : weights.back()) mask.push_back(weight > 0), total += weight;
  }
  std::vector<PackRow> rows;
  for (size_t i = 0; i < update.size(); ++i) rows.push_back({update[i]->ids, masks[i]});
  uint64_t done = 0;
  for (const Pack& pack : make_shared_packs(policy, rows, {micro_batch_tokens})) {
    if (policy::fail_if_asked("micro-batch") == "skip") continue;
    policy.ranks().note("micro-batch", ++done);
    const auto gradient = [&](int64_t begin, std::span<const double> log_prob, std::span<const double>,
                              std::span<double> d_log_prob, std::span<double> d_entropy) {
      for (size_t k = 0; k < log_prob.size(); ++k) {
        const auto [index, t] = pack.scored[size_t(begin) + k];
        const double weight = weights[index][size_t(t)] / total;
        loss -= weight * log_prob[k];
        d_log_prob[k] = -weight;
        d_entropy[k] = 0;
      }
    };
    policy.forward_backward(pack.tokens, gradient);
    policy::made_progress();
  }
  return policy.ranks().sum(loss, "statistics of loss");
}

// The share of the time limit that has passed; 0 without a limit.
double clock_share(double seconds, double max_seconds) {
  return max_seconds > 0 ? std::min(1.0, seconds / max_seconds) : 0;
}

// Rank 0's.
double agreed_clock(policy::Communicator& ranks, double share) {
  return share > 0 || ranks.size() > 1 ? ranks.sum(ranks.rank() == 0 ? share : 0, "clock") : 0;
}

int64_t count_tokens(const Update& update) {
  int64_t tokens = 0;
  for (const LearnedRow* row : update) tokens += std::ssize(row->ids);
  return tokens;
}

}  // namespace

void ColdStartOptions::visit(OptionVisitor& v) {
  v.option("epochs", epochs, {.help = "passes over the examples; 0 for no cold start", .min = 0});
  v.option("data", data,
           {.help = "conversations to learn from: a file of JSON lines, JSON or parquet in one of the usual "
                    "forms, also "
                    "packed with gzip, or a folder of such files; if empty, a new policy learns from traces "
                    "made by a grammar",
            .text = TextKind::kPath});
  v.section("fields", fields,
            "where the rows of data keep what is learned, if they have a form of their own");
  v.option("max_tokens", max_tokens,
           {.help = "length limit of a conversation; 0 for the model's longest sequence. Longer ones "
                    "are left out and counted",
            .unit = "tokens",
            .min = 0});
  v.option("checkpoint_every", checkpoint_every,
           {.help = "updates between checkpoints within the cold start; 0 saves only when "
                    "interrupted",
            .unit = "updates",
            .min = 0,
            .may_change = true});
  v.option("batch_tokens", batch_tokens, {.help = "size of one update", .unit = "tokens", .min = 1});
  v.option("micro_batch_tokens", micro_batch_tokens,
           {.help = "tokens packed into one forward and backward pass",
            .unit = "tokens",
            .min = 1,
            .may_change = true});
  v.option("max_seconds", max_seconds,
           {.help = "time limit; the learning rate then follows the clock. 0 for none: the schedule "
                    "follows the updates and is reproducible",
            .unit = "s",
            .min = 0});
  v.option("repaired_weight", repaired_weight,
           {.help = "weight in the loss of answers that a later turn repairs", .min = 0});
  v.section("optimizer", optimizer,
            fmt::format("AdamW of the cold start; the default of lr is {} where model.path is given",
                        kFineTuningRate));
}

int64_t longest_row(const ColdStartOptions& options, const policy::ModelConfig& shape) {
  const int64_t positions = shape.max_position_embeddings;
  return options.max_tokens > 0 ? std::min(options.max_tokens, positions) : positions;
}

ColdStartStats run_cold_start(policy::Policy& policy, const std::vector<LearnedRow>& rows,
                              const ColdStartOptions& options, uint64_t seed, const ColdStartStats& from,
                              const std::function<void(const ColdStartStats&)>& progress) {
  const policy::Phase phase("update");
  const double start = now_s() - from.seconds;
  const std::vector<Update> updates = plan_updates(rows, options, seed);
  AdamW optimizer(policy.parameters(), options.optimizer);
  optimizer.restore(from.optimizer_updates, from.gradient_norms);
  policy::Communicator& ranks = policy.ranks();
  if (ranks.size() > 1) ranks.note("examples", digest_of(rows));
  ColdStartStats stats = from;
  stats.total_updates = int64_t(updates.size());
  policy.shard_weights();
  for (size_t k = size_t(from.updates); k < updates.size(); ++k) {
    const double by_clock = agreed_clock(ranks, clock_share(now_s() - start, options.max_seconds));
    stats.interrupted = any_interrupted(ranks);
    if (by_clock >= 1 || stats.interrupted) break;
    const double by_updates = (double(k) + 0.5) / double(updates.size());
    stats.lr = learning_rate(options.optimizer, std::max(by_updates, by_clock));
    stats.loss = accumulate(policy, updates[k], options.micro_batch_tokens);
    stats.grad_norm = optimizer.update(stats.lr);
    stats.optimizer_updates = optimizer.updates();
    stats.gradient_norms = optimizer.norms();
    stats.updates += 1;
    stats.tokens += count_tokens(updates[k]);
    stats.seconds = now_s() - start;
    stats.progress = std::max(double(stats.updates) / double(updates.size()),
                              clock_share(stats.seconds, options.max_seconds));
    if (progress) progress(stats);
  }
  policy.unshard_weights();
  if (!stats.interrupted) optimizer.reset();
  return stats;
}

}  // namespace temper::trainer
