#include "trainer/cold_start.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/process.h"
#include "base/rng.h"
#include "policy/activity.h"
#include "policy/communicator.h"
#include "policy/ops/parallel.h"
#include "rollout/conversation.h"
#include "trainer/packing.h"
#include "trainer/ranks.h"

namespace temper {
namespace {

// A trace as tokens with the weight of each in the loss.
struct Row {
  Trajectory trajectory;
  std::vector<uint8_t> mask;
  std::vector<double> weights;  // [T]
};

Row make_row(Trajectory trajectory, double repaired_weight) {
  Row row;
  row.mask = response_mask(trajectory);
  row.weights.resize(trajectory.ids.size());
  for (size_t i = 0; i < trajectory.turns.size(); ++i) {
    const Turn& turn = trajectory.turns[i];
    const bool repaired = i + 1 < trajectory.turns.size() && !turn.verdict.pass();
    for (int32_t t = turn.begin; t < turn.end; ++t) row.weights[t] = repaired ? repaired_weight : 1;
  }
  for (size_t t = 0; t < row.mask.size(); ++t) row.mask[t] = row.mask[t] && row.weights[t] > 0;
  row.trajectory = std::move(trajectory);
  return row;
}

// Without those that are longer than the policy's positions.
std::vector<Row> make_rows(const std::vector<Trace>& traces, const std::vector<Task>& tasks,
                           const Tokenizer& tokenizer, double repaired_weight, int64_t positions) {
  std::map<std::string, const Task*> by_name;
  for (const Task& task : tasks) by_name[task.name] = &task;
  std::vector<const Task*> task_of;
  for (const Trace& trace : traces) {
    const auto known = by_name.find(trace.task);
    task_of.push_back(known != by_name.end() ? known->second : &find_task(tasks, trace.task));  // or throws
  }
  std::vector<Row> rows(traces.size());
  cpu::parallel_tasks(std::ssize(rows), [&](int64_t i) {
    const auto k = size_t(i);
    rows[k] = make_row(to_trajectory(traces[k], *task_of[k], tokenizer), repaired_weight);
  });
  std::erase_if(rows, [&](const Row& row) { return std::ssize(row.trajectory.ids) > positions; });
  if (rows.empty() && !traces.empty())
    throw ConfigError(
        "model.max_position_embeddings: each of the cold start's {} examples is longer than {} tokens",
        traces.size(), positions);
  return rows;
}

using Update = std::vector<const Row*>;

// One epoch's updates: the rows in a random order, about `batch_tokens` together.
std::vector<Update> shuffled_updates(const std::vector<Row>& rows, int64_t batch_tokens, Rng rng) {
  std::vector<const Row*> order;
  for (const Row& row : rows) order.push_back(&row);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  std::vector<Update> updates;
  int64_t tokens = batch_tokens;
  for (const Row* row : order) {
    const auto length = int64_t(row->trajectory.ids.size());
    if (tokens + length > batch_tokens) updates.emplace_back(), tokens = 0;
    updates.back().push_back(row);
    tokens += length;
  }
  return updates;
}

std::vector<Update> plan_updates(const std::vector<Row>& rows, const ColdStartOptions& options,
                                 uint64_t seed) {
  std::vector<Update> updates;
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch)
    std::ranges::move(shuffled_updates(rows, options.batch_tokens, Rng({seed, uint64_t(epoch)})),
                      std::back_inserter(updates));
  return updates;
}

// Adds the gradient of the weighted mean of −log p over the update's answer tokens. Returns that mean.
double accumulate(Policy& policy, const Update& update, int64_t micro_batch_tokens) {
  std::vector<PackRow> rows;
  double total = 0, loss = 0;
  for (const Row* row : update) {
    rows.push_back({row->trajectory.ids, row->mask});
    total += std::inner_product(row->weights.begin(), row->weights.end(), row->mask.begin(), 0.0);
  }
  for (const Pack& pack : make_shared_packs(policy, rows, micro_batch_tokens)) {
    const auto gradient = [&](int64_t begin, std::span<const double> log_prob, std::span<const double>,
                              std::span<double> d_log_prob, std::span<double> d_entropy) {
      for (size_t k = 0; k < log_prob.size(); ++k) {
        const auto [index, t] = pack.scored[size_t(begin) + k];
        const double weight = update[index]->weights[t] / total;
        loss -= weight * log_prob[k];
        d_log_prob[k] = -weight;
        d_entropy[k] = 0;
      }
    };
    policy.forward_backward(pack.tokens, gradient);
    made_progress();
  }
  return policy.ranks().sum(loss, "statistics");
}

// Of the time limit; 0 without one.
double clock_share(double seconds, double max_seconds) {
  return max_seconds > 0 ? std::min(1.0, seconds / max_seconds) : 0;
}

// Rank 0's.
double agreed_clock(Communicator& ranks, double share) {
  return share > 0 || ranks.size() > 1 ? ranks.sum(ranks.rank() == 0 ? share : 0, "clock") : 0;
}

int64_t count_tokens(const Update& update) {
  int64_t tokens = 0;
  for (const Row* row : update) tokens += int64_t(row->trajectory.ids.size());
  return tokens;
}

}  // namespace

void ColdStartOptions::visit(OptionVisitor& v) {
  v.option("epochs", epochs, {.help = "passes over the traces; 0: no cold start", .min = 0});
  v.option("batch_tokens", batch_tokens, {.help = "of one update", .unit = "tokens", .min = 1});
  v.option("micro_batch_tokens", micro_batch_tokens,
           {.help = "packed into one forward and backward", .unit = "tokens", .min = 1});
  v.option("max_seconds", max_seconds,
           {.help = "ends it early, the schedule following the clock; 0: by updates, reproducible",
            .unit = "s",
            .min = 0});
  v.option("repaired_weight", repaired_weight,
           {.help = "loss weight of answers that a later turn repairs", .min = 0});
  v.section("optimizer", optimizer, "AdamW of the cold start");
}

Trajectory to_trajectory(const Trace& trace, const Task& task, const Tokenizer& tokenizer) {
  const ChatFormat format(tokenizer);
  Conversation conversation(format, tokenizer, task, 0, 0);
  for (size_t i = 0; i < trace.turns.size(); ++i) {
    if (i > 0) conversation.open_turn();
    std::vector<int32_t> ids = tokenizer.encode(trace.turns[i].answer);
    ids.push_back(format.stop_id());
    conversation.add_answer(ids, std::vector<float>(ids.size()), true);
    conversation.add_verdict(trace.turns[i].verdict);
  }
  return conversation.take();
}

ColdStartStats run_cold_start(Policy& policy, const Tokenizer& tokenizer, const std::vector<Task>& tasks,
                              const std::vector<Trace>& traces, const ColdStartOptions& options,
                              uint64_t seed, const std::function<void(const ColdStartStats&)>& progress) {
  const Phase phase("update");
  const double start = now_s();
  const int64_t positions = policy.config().max_position_embeddings;
  const std::vector<Row> rows = make_rows(traces, tasks, tokenizer, options.repaired_weight, positions);
  const std::vector<Update> updates = plan_updates(rows, options, seed);
  AdamW optimizer(policy.parameters(), options.optimizer);
  Communicator& ranks = policy.ranks();
  ColdStartStats stats{.total_updates = int64_t(updates.size()),
                       .left_out = std::ssize(traces) - std::ssize(rows)};
  for (const Update& update : updates) {
    const double by_clock = agreed_clock(ranks, clock_share(now_s() - start, options.max_seconds));
    if (by_clock >= 1 || any_interrupted(ranks)) break;
    const double by_updates = (double(stats.updates) + 0.5) / double(updates.size());
    stats.lr = learning_rate(options.optimizer, std::max(by_updates, by_clock));
    stats.loss = accumulate(policy, update, options.micro_batch_tokens);
    stats.grad_norm = optimizer.update(stats.lr);
    stats.updates += 1;
    stats.tokens += count_tokens(update);
    stats.seconds = now_s() - start;
    stats.progress = std::max(double(stats.updates) / double(updates.size()),
                              clock_share(stats.seconds, options.max_seconds));
    if (progress) progress(stats);
  }
  optimizer.reset();
  return stats;
}

}  // namespace temper
