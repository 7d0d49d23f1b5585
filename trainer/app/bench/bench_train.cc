// Supervised updates on random tokens: forward, backward, optimizer. Several ranks make them together.

#include "trainer/app/bench/bench_train.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/process.h"
#include "policy/cuda/device.h"
#include "policy/parameters/parameter_store.h"
#include "trainer/app/bench/speed.h"
#include "trainer/app/checks.h"
#include "trainer/learn/optimizer.h"
#include "trainer/plan/plan.h"
#include "trainer/run/console.h"

namespace temper::trainer {

using policy::Communicator;
using policy::Policy;

namespace {

struct TrainWords : SpeedWords {
  int64_t batch = 16, length = 256, micro_batches = 1;
  bool gradients_only = false;
};

policy::PackedTokens random_pack(int64_t sequences, int64_t length, int64_t vocab_size, uint64_t seed) {
  policy::PackedTokens tokens{
      .ids = random_ids(sequences * length, vocab_size, seed), .starts = {}, .scored = {}};
  tokens.scored.assign(tokens.ids.size(), 1);
  for (int64_t i = 0; i <= sequences; ++i) tokens.starts.push_back(int32_t(i * length));
  for (int64_t i = 0; i < sequences; ++i) tokens.scored[size_t(i * length)] = 0;
  return tokens;
}

// Of the mean log-prob over all of an update's tokens.
policy::ScoreGradient mean_gradient(double tokens) {
  return {[tokens](int64_t, std::span<const double>, std::span<const double>, std::span<double> d_log_prob,
                   std::span<double> d_entropy) {
    std::ranges::fill(d_log_prob, -1 / tokens);
    std::ranges::fill(d_entropy, 0);
  }};
}

// Of the tensors of an update; no peak where they are not on a GPU.
struct Memory {
  int64_t peak_bytes = 0, planned_bytes = 0;
};

Memory memory_of(const TrainWords& words, RunConfig config, Communicator& ranks) {
  config.learner.micro_batch_tokens = words.batch * words.length;
  config.rollout.max_context_tokens = words.length;
  config.cold_start.epochs = 0;
  config.learner.share_prompts = false;  // rows of random tokens share nothing
  const bool on_gpu = config.model.policy().on_gpu();
  return {on_gpu ? policy::cuda::peak_memory().allocated_bytes : 0,
          update_memory(config, config.model.shape, site_here(config, ranks)).needed_bytes()};
}

void report(const TrainWords& words, const Communicator& ranks, int64_t updates, double seconds,
            double flops_per_token, const Memory& memory) {
  const int64_t each = updates * words.micro_batches * words.batch * words.length,
                tokens = each * ranks.size();
  const double rate = double(tokens) / seconds, of_rank = rate / ranks.size();
  if (words.json) {
    fmt::print("{}\n", nlohmann::json{{"what", "train"},
                                      {"ranks", ranks.size()},
                                      {"tokens_per_s", rate},
                                      {"tokens_per_s_rank", of_rank},
                                      {"tokens", tokens},
                                      {"updates", updates},
                                      {"seconds", seconds},
                                      {"gflop_per_s", rate * flops_per_token * 1e-9},
                                      {"peak_bytes", memory.peak_bytes},
                                      {"planned_bytes", memory.planned_bytes}}
                           .dump());
    return;
  }
  fmt::print("train: {:.0f} tokens/s, {:.1f} GFLOP/s ({} tokens in {:.2f} s, {} sequences)\n", rate,
             rate * flops_per_token * 1e-9, tokens, seconds, words.batch);
  fmt::print("{:.1f} ms an update of {} micro-batch{}", 1e3 * seconds / double(updates), words.micro_batches,
             words.micro_batches == 1 ? "" : "es");
  if (ranks.size() > 1) fmt::print(" on each of {} ranks, {:.0f} tokens/s a rank", ranks.size(), of_rank);
  const auto gib = [](int64_t bytes) { return double(bytes) / double(1 << 30); };
  if (memory.peak_bytes > 0)
    fmt::print(", tensors of at most {:.1f} GiB on a GPU where {:.1f} are planned", gib(memory.peak_bytes),
               gib(memory.planned_bytes));
  fmt::print("\n");
}

// How often a call is repeated, the same on all ranks, so that it takes about so many seconds.
int64_t repetitions(double seconds, double one_s, Communicator& ranks) {
  const double all_s = ranks.sum(one_s, "time of a call");
  return std::max<int64_t>(1, int64_t(seconds * ranks.size() / all_s));
}

int bench(const TrainWords& words, const RunConfig& config, Policy& policy) {
  Communicator& ranks = policy.ranks();
  const bool first = ranks.rank() == 0;
  AdamW optimizer(policy.parameters(), config.optimizer);
  const policy::PackedTokens tokens =
      random_pack(words.batch, words.length, config.model.shape.vocab_size, 1 + uint64_t(ranks.rank()));
  const policy::ScoreGradient gradient =
      mean_gradient(double(tokens.ids.size()) * double(words.micro_batches * ranks.size()));
  const auto update = [&] {
    for (int64_t i = 0; i < words.micro_batches; ++i) policy.forward_backward(tokens, gradient);
    if (!words.gradients_only) optimizer.update(config.optimizer.lr);
  };
  policy.shard_weights();
  update();  // chooses kernels, makes moments
  double start_s = device_now_s(config);
  update();
  const int64_t updates = repetitions(words.seconds, device_now_s(config) - start_s, ranks);
  if (words.profile) print_profile(update, first);
  start_s = device_now_s(config);
  int64_t done = 0;
  while (done < updates && !ranks.any(interrupted(), "interrupt")) update(), ++done;
  const double seconds = device_now_s(config) - start_s;
  const Memory memory = memory_of(words, config, ranks);
  if (first && done > 0)
    report(words, ranks, done, seconds, policy.train_flops_per_token(words.length), memory);
  return done > 0 ? kExitOk : kExitInterrupted;
}

}  // namespace

void add_bench_train(CLI::App& bench_command, int& exit_code) {
  auto* command = bench_command.add_subcommand(
      "train", "tokens/s of supervised updates on random tokens, of one rank or of several");
  const auto words = std::make_shared<TrainWords>();
  declare_speed(*command, *words);
  command->add_option("--batch", words->batch, "sequences of a micro-batch, for each rank")
      ->check(at_least(1));
  command->add_option("--length", words->length, "tokens of a sequence")->check(between(2, 1 << 20));
  command->add_option("--micro-batches", words->micro_batches, "forwards and backwards in an update")
      ->check(at_least(1));
  command->add_flag("--gradients-only", words->gradients_only, "forward and backward, without the optimizer");
  command->callback([=, &exit_code] {
    exit_code = on_ranks(
        *words,
        [=](const RunConfig& config) {
          check_row(words->length, "--length", config);
          return 0;
        },
        [=](const RunConfig& config, Policy& policy) { return bench(*words, config, policy); });
  });
}

}  // namespace temper::trainer
