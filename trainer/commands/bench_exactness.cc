#include "trainer/commands/bench_exactness.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/process.h"
#include "base/rng.h"
#include "policy/parameter_store.h"
#include "policy/threads.h"
#include "rollout/generator.h"
#include "trainer/commands/commands.h"
#include "trainer/device.h"
#include "trainer/packing.h"

namespace temper {
namespace {

struct ExactnessWords {
  ConfigWords config;
  int64_t tokens = 100000, turns = 3, longest = 600;
};

// A conversation of random prompts, sampled answers and random feedback.
struct Row {
  std::vector<int32_t> ids;
  std::vector<uint8_t> scored;
  std::vector<float> log_probs;
  int64_t slot = -1;

  void add_given(Rng& rng, int64_t count, int64_t vocab) {
    for (int64_t i = 0; i < count; ++i) ids.push_back(int32_t(rng.below(uint64_t(vocab))));
    scored.resize(ids.size(), 0);
    log_probs.resize(ids.size(), 0);
  }
  void add_answer(const Generation& answer) {
    ids.insert(ids.end(), answer.ids.begin(), answer.ids.end());
    scored.resize(ids.size(), 1);
    log_probs.insert(log_probs.end(), answer.log_probs.begin(), answer.log_probs.end());
    slot = answer.slot;
  }
};

struct Tally {
  int64_t tokens = 0, unequal = 0;
  double largest = 0;

  void add(float sampled, float trained) {
    ++tokens;
    unequal += sampled != trained;
    largest = std::max(largest, double(std::abs(sampled - trained)));
  }
};

// `batch` conversations of several turns, prompts and answers of mixed lengths; half of them share their
// prompt with a neighbour, as a group's samples do.
std::vector<Row> sample_rows(Policy& policy, const ExactnessWords& words, int64_t batch, uint64_t seed) {
  Rng rng{seed};
  const int64_t vocab = policy.config().vocab_size, part = words.longest / words.turns / 2;
  Generator generator(policy, batch, words.longest + words.turns + 1);
  std::vector<Row> rows(static_cast<size_t>(batch));
  for (int64_t turn = 0; turn < words.turns; ++turn) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (turn == 0 && i % 2 == 1)
        rows[i] = rows[i - 1];
      else
        rows[i].add_given(rng, 1 + int64_t(rng.below(uint64_t(part))), vocab);
    }
    for (size_t i = 0; i < rows.size(); ++i)
      generator.add({.id = i,
                     .rng_key = mix_key({seed, i, uint64_t(turn)}),
                     .ids = rows[i].ids,
                     .sampling = {},
                     .max_new_tokens = 1 + int64_t(rng.below(uint64_t(part))),
                     .slot = rows[i].slot,
                     .keep_slot = turn + 1 < words.turns});
    while (!generator.idle())
      for (const Generation& answer : generator.step()) rows[answer.id].add_answer(answer);
  }
  return rows;
}

Tally compare(Policy& policy, const std::vector<Row>& rows, int64_t pack_tokens) {
  std::vector<PackRow> pack_rows;
  for (const Row& row : rows) pack_rows.push_back({row.ids, row.scored});
  const auto trained = score_rows(policy, pack_rows, pack_tokens, 1);
  Tally tally;
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t t = 0; t < rows[i].ids.size(); ++t)
      if (rows[i].scored[t]) tally.add(rows[i].log_probs[t], trained[i][t]);
  return tally;
}

int bench_exactness(const ExactnessWords& words) {
  RunConfig config = words.config.read();
  use_device(config.model, config.model.shape);
  use_threads(config.run.threads);
  Policy policy(config.model.shape, config.model.policy());
  policy.parameters().init_random(uint64_t(config.run.seed));
  fmt::print("{}\n{:>8}{:>10}{:>10}{:>12}\n", device_text(config.model.policy()), "batch", "tokens",
             "unequal", "largest");
  const int64_t batches[] = {1, 3, 17, 32, 33, 64, 100, 128, 200, 256};
  Tally all;
  for (size_t round = 0; all.tokens < words.tokens && !interrupted(); ++round) {
    const int64_t batch = batches[round % std::size(batches)];
    const Tally tally =
        compare(policy, sample_rows(policy, words, batch, round), config.learner.micro_batch_tokens);
    fmt::print("{:>8}{:>10}{:>10}{:>12.2e}\n", batch, tally.tokens, tally.unequal, tally.largest);
    all.tokens += tally.tokens;
    all.unequal += tally.unequal;
    all.largest = std::max(all.largest, tally.largest);
  }
  fmt::print(
      "log-probs of {} sampled tokens: {} have other bits in training ({:.4f} %), the largest difference "
      "{:.2e}\n",
      all.tokens, all.unequal, 100 * double(all.unequal) / double(all.tokens), all.largest);
  return kExitOk;
}

}  // namespace

void add_bench_exactness(CLI::App& bench, int& exit_code) {
  auto* command = bench.add_subcommand(
      "exactness", "log-probs of sampled tokens against those that training computes for them, bit by bit");
  const auto words = std::make_shared<ExactnessWords>();
  declare_overrides(*command, words->config);
  command->add_option("--config", words->config.path, "RUN.yaml");
  command->add_option("--tokens", words->tokens, "at least so many")->check(CLI::PositiveNumber);
  command->add_option("--turns", words->turns, "of a conversation")->check(CLI::Range(1, 16));
  command->add_option("--longest", words->longest, "tokens of a conversation at most")
      ->check(CLI::Range(64, 1 << 20));
  command->callback([=, &exit_code] { exit_code = bench_exactness(*words); });
}

}  // namespace temper
