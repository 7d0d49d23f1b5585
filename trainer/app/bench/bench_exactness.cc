#include "trainer/app/bench/bench_exactness.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/process.h"
#include "base/rng.h"
#include "policy/parameters/parameter_store.h"
#include "policy/threads.h"
#include "rollout/generator.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"
#include "trainer/config/device.h"
#include "trainer/learn/packing.h"
#include "trainer/plan/published_shapes.h"

namespace temper::trainer {

using policy::ModelConfig;

namespace {

struct ExactnessWords {
  ConfigWords config;
  std::string shape;   // of a published model; empty: the config's
  int64_t layers = 0;  // 0: all
  int64_t tokens = 100000, turns = 3, longest = 600;
  policy::SamplingParams sampling = {};
};

// A conversation of random prompts, sampled answers and random feedback.
struct Row {
  std::vector<int32_t> ids;
  std::vector<uint8_t> scored;
  std::vector<float> log_probs;

  void add_given(Rng& rng, int64_t count, int64_t vocab) {
    for (int64_t i = 0; i < count; ++i) ids.push_back(int32_t(rng.below(uint64_t(vocab))));
    scored.resize(ids.size(), 0);
    log_probs.resize(ids.size(), 0);
  }
  void add_answer(const rollout::Generation& answer) {
    ids.insert(ids.end(), answer.ids.begin(), answer.ids.end());
    scored.resize(ids.size(), 1);
    log_probs.insert(log_probs.end(), answer.log_probs.begin(), answer.log_probs.end());
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
  void add(const Tally& other) {
    tokens += other.tokens;
    unequal += other.unequal;
    largest = std::max(largest, other.largest);
  }
};

// `batch` conversations of several turns, prompts and answers of mixed lengths; half of them share their
// prompt with a neighbour, as a group's samples do.
std::vector<Row> sample_rows(policy::Policy& policy, const ExactnessWords& words, int64_t batch,
                             uint64_t seed) {
  Rng rng{seed};
  const int64_t ids = policy.options().token_count, part = words.longest / words.turns / 2;
  rollout::Generator generator(policy, batch, words.longest + words.turns + 1);
  std::vector<Row> rows(static_cast<size_t>(batch));
  for (int64_t turn = 0; turn < words.turns; ++turn) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (turn == 0 && i % 2 == 1)
        rows[i] = rows[i - 1];
      else
        rows[i].add_given(rng, 1 + int64_t(rng.below(uint64_t(part))), ids);
    }
    for (size_t i = 0; i < rows.size(); ++i)
      generator.add({.id = i,
                     .rng_key = mix_key({seed, i, uint64_t(turn)}),
                     .ids = rows[i].ids,
                     .sampling = words.sampling,
                     .max_new_tokens = 1 + int64_t(rng.below(uint64_t(part))),
                     .keep = turn + 1 < words.turns});
    while (!generator.idle())
      for (const rollout::Generation& answer : generator.step()) rows[answer.id].add_answer(answer);
  }
  return rows;
}

Tally compare(policy::Policy& policy, const std::vector<Row>& rows, const Packing& packing,
              const policy::SamplingParams& sampling) {
  std::vector<PackRow> pack_rows;
  for (const Row& row : rows) pack_rows.push_back({row.ids, row.scored});
  const auto trained = score_rows(policy, pack_rows, packing, sampling);
  Tally tally;
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t t = 0; t < rows[i].ids.size(); ++t)
      if (rows[i].scored[t]) tally.add(rows[i].log_probs[t], trained[i][t]);
  return tally;
}

std::string lower(std::string text) {
  for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

ModelConfig published(const std::string& name) {
  for (const std::string& known : published_names())
    if (lower(known) == lower(name)) return *published_shape(known);
  throw ConfigError("--shape: '{}' is not one of {}", name, fmt::join(published_names(), ", "));
}

ModelConfig shape_of(const ExactnessWords& words, const ModelConfig& configured) {
  ModelConfig shape = words.shape.empty() ? configured : published(words.shape);
  if (words.layers > shape.num_hidden_layers)
    throw ConfigError("--layers: {} are more than the shape's {}", words.layers, shape.num_hidden_layers);
  if (words.layers > 0) shape.num_hidden_layers = words.layers;
  if (!shape.windowed.empty()) shape.windowed.resize(size_t(shape.num_hidden_layers));
  return shape;
}

// Weights as a run begins with them, but for the biases: those begin as zeros, which would tell nothing.
void fill(policy::ParameterStore& parameters, uint64_t seed) {
  parameters.init_random(seed);
  for (const policy::ParameterInfo& p : parameters.parameters())
    if (p.name.ends_with(".bias")) parameters.weight(p.name).normal_();
}

// A policy that may draw ids below `token_count`, whose rows are the first of the shape's.
Tally compare_all(const ExactnessWords& words, const RunConfig& config, const ModelConfig& shape,
                  int64_t token_count) {
  policy::PolicyOptions options = config.model.policy();
  options.token_count = token_count;
  policy::Policy policy(shape, options);
  fill(policy.parameters(), uint64_t(config.run.seed));
  fmt::print("{} layers, ids below {} of {} rows\n{:>8}{:>10}{:>10}{:>12}\n", shape.num_hidden_layers,
             token_count, shape.vocab_size, "batch", "tokens", "unequal", "largest");
  const int64_t batches[] = {1, 3, 17, 32, 33, 64, 100, 128, 200, 256};
  Tally all;
  for (size_t round = 0; all.tokens < words.tokens && !interrupted(); ++round) {
    const int64_t batch = batches[round % std::size(batches)];
    const Tally tally =
        compare(policy, sample_rows(policy, words, batch, round), config.learner.packing(), words.sampling);
    fmt::print("{:>8}{:>10}{:>10}{:>12.2e}\n", batch, tally.tokens, tally.unequal, tally.largest);
    all.add(tally);
  }
  return all;
}

int bench_exactness(const ExactnessWords& words) {
  RunConfig config = words.config.read();
  const ModelConfig shape = shape_of(words, config.model.shape);
  use_device(config.model, shape, policy::alone(), words.longest + words.turns + 1);
  policy::use_threads(config.run.threads);
  fmt::print("{}\n", device_text(config.model.policy()));
  const int64_t rows = shape.vocab_size, masked = std::max<int64_t>(1, rows / 512);
  Tally all;
  for (const int64_t token_count : {rows, std::max<int64_t>(1, rows - masked)})
    all.add(compare_all(words, config, shape, token_count));
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
  command->add_option("--config", words->config.path, "RUN.yaml")->transform(path_word());
  command->add_option("--shape", words->shape,
                      fmt::format("shape of a published model, instead of the config's: {}",
                                  fmt::join(published_names(), ", ")));
  command
      ->add_option("--layers", words->layers,
                   "use only this many of the shape's layers, the first ones; default: all")
      ->check(at_least(1));
  command
      ->add_option("--tokens", words->tokens,
                   "least number of tokens, with all ids and again with some masked")
      ->check(at_least(1));
  command
      ->add_option("--top-p", words->sampling.top_p,
                   "sample from the most likely tokens with this total probability")
      ->check(between(1e-6, 1.0));
  command->add_option("--top-k", words->sampling.top_k, "sample from this many most likely tokens; 0 for all")
      ->check(at_least(0));
  command->add_option("--turns", words->turns, "turns of a conversation")->check(between(1, 16));
  command->add_option("--longest", words->longest, "largest number of tokens in a conversation")
      ->check(between(64, 1 << 20));
  command->callback([=, &exit_code] { exit_code = bench_exactness(*words); });
}

}  // namespace temper::trainer
