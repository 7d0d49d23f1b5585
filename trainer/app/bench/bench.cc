#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/process.h"
#include "base/rng.h"
#include "policy/bench/kernel_profile.h"
#include "policy/parameters/parameter_store.h"
#include "policy/threads.h"
#include "rollout/generator.h"
#include "trainer/app/bench/bench_exactness.h"
#include "trainer/app/bench/bench_judge.h"
#include "trainer/app/bench/bench_kernels.h"
#include "trainer/app/bench/bench_tokenizer.h"
#include "trainer/app/bench/bench_trajectories.h"
#include "trainer/app/bench/bench_weights.h"
#include "trainer/app/commands/commands.h"
#include "trainer/config/device.h"
#include "trainer/learn/optimizer.h"

namespace temper::trainer {

using policy::Policy;

namespace {

struct BenchWords {
  ConfigWords config;
  int64_t batch = 16, prompt = 64, length = 256;
  double seconds = 5;
  bool gradients_only = false, profile = false;
  bool json = false;
};

Policy random_policy(const RunConfig& config) {
  Policy policy(config.model.shape, config.model.policy());
  policy.parameters().init_random(uint64_t(config.run.seed));
  return policy;
}

std::vector<int32_t> random_ids(int64_t count, int64_t vocab_size, uint64_t seed) {
  Rng rng(seed);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(int32_t(rng.below(uint64_t(vocab_size))));
  return ids;
}

policy::PackedTokens random_pack(int64_t sequences, int64_t length, int64_t vocab_size) {
  policy::PackedTokens tokens{
      .ids = random_ids(sequences * length, vocab_size, 1), .starts = {}, .scored = {}};
  tokens.scored.assign(tokens.ids.size(), 1);
  for (int64_t i = 0; i <= sequences; ++i) tokens.starts.push_back(int32_t(i * length));
  for (int64_t i = 0; i < sequences; ++i) tokens.scored[size_t(i * length)] = 0;
  return tokens;
}

// Where the policy of random weights computes.
RunConfig read_and_use(const BenchWords& words) {
  RunConfig config = words.config.read();
  use_device(config.model, config.model.shape);
  policy::use_threads(config.run.threads);
  if (!words.json) fmt::print("{}\n", device_text(config.model.policy()));
  return config;
}

void report(const BenchWords& words, const std::string& what, int64_t tokens, double seconds,
            double flops_per_token) {
  const double rate = double(tokens) / seconds, gflops = rate * flops_per_token * 1e-9;
  if (words.json)
    fmt::print("{}\n", nlohmann::json{{"what", what},
                                      {"tokens_per_s", rate},
                                      {"tokens", tokens},
                                      {"seconds", seconds},
                                      {"gflop_per_s", gflops}}
                           .dump());
  else
    fmt::print("{}: {:.0f} tokens/s, {:.1f} GFLOP/s ({} tokens in {:.2f} s, {} sequences)\n", what, rate,
               gflops, tokens, seconds, words.batch);
}

// Where the GPU's time of one call goes.
template <class F>
void print_profile(const F& call) {
  const double start_s = now_s();
  policy::KernelProfile profile;
  call();
  const auto shares = profile.stop();
  std::vector<std::pair<double, std::string>> rows;
  double sum = 0;
  for (const auto& [kind, share] : shares) {
    rows.push_back({share.seconds, fmt::format("  {:<28}{:>10.2f} ms{:>8} launches", kind,
                                               share.seconds * 1e3, share.launches)});
    sum += share.seconds;
  }
  std::ranges::sort(rows, std::greater());
  for (const auto& [seconds, row] : rows) fmt::print("{}{:>7.1f} %\n", row, 100 * seconds / sum);
  fmt::print("  {:<28}{:>10.2f} ms of {:.2f} ms, profiled\n", "all kernels", sum * 1e3,
             (now_s() - start_s) * 1e3);
}

// Supervised updates on random tokens: forward, backward, optimizer.
int bench_train(const BenchWords& words) {
  const RunConfig config = read_and_use(words);
  Policy policy = random_policy(config);
  AdamW optimizer(policy.parameters(), config.optimizer);
  const policy::PackedTokens tokens = random_pack(words.batch, words.length, config.model.shape.vocab_size);
  const auto update = [&] {
    policy.forward_backward(tokens, [&](int64_t, std::span<const double>, std::span<const double>,
                                        std::span<double> d_log_prob, std::span<double> d_entropy) {
      std::fill(d_log_prob.begin(), d_log_prob.end(), -1 / double(tokens.ids.size()));
      std::fill(d_entropy.begin(), d_entropy.end(), 0);
    });
    if (!words.gradients_only) optimizer.update(config.optimizer.lr);
  };
  for (int warm_up = 0; warm_up < 2; ++warm_up) update();
  if (words.profile) print_profile(update);
  const auto clock_s = [&] {
    wait_for_device(config.model.policy());
    return now_s();
  };
  const double start_s = clock_s();
  int64_t done = 0;
  for (; now_s() - start_s < words.seconds && !interrupted(); ++done) update();
  report(words, "train", done * int64_t(tokens.ids.size()), clock_s() - start_s,
         policy.train_flops_per_token(words.length));
  return kExitOk;
}

struct DecodeTimes {
  double prefill_s = 0, decode_s = 0;
  int64_t prompt_tokens = 0, decoded = 0;
};

// One batch of random prompts, every sequence to its full length. The first step computes the prompts and one
// token of each.
void generate_once(const BenchWords& words, int64_t vocab, uint64_t seed, rollout::Generator& generator,
                   DecodeTimes& times) {
  for (int64_t i = 0; i < words.batch; ++i)
    generator.add({.id = uint64_t(i),
                   .rng_key = mix_key({seed, uint64_t(i)}),
                   .ids = random_ids(words.prompt, vocab, mix_key({seed, uint64_t(i), 1})),
                   .sampling = {},
                   .max_new_tokens = words.length});
  const double start_s = now_s();
  generator.step();
  const double begun_s = now_s();
  while (!generator.idle()) generator.step();
  times.prefill_s += begun_s - start_s;
  times.decode_s += now_s() - begun_s;
  times.prompt_tokens += words.batch * words.prompt;
  times.decoded += words.batch * (words.length - 1);
}

int bench_decode(const BenchWords& words) {
  const RunConfig config = read_and_use(words);
  Policy policy = random_policy(config);
  rollout::Generator generator(policy, words.batch, words.prompt + words.length);
  const int64_t vocab = config.model.shape.vocab_size;
  DecodeTimes warm_up, times;
  for (int round = 0; round < 2; ++round) generate_once(words, vocab, 0, generator, warm_up);
  if (words.profile) print_profile([&] { generate_once(words, vocab, 0, generator, warm_up); });
  const double start_s = now_s();
  for (uint64_t seed = 1; now_s() - start_s < words.seconds && !interrupted(); ++seed)
    generate_once(words, vocab, seed, generator, times);
  const auto flops = [&](int64_t context) { return policy.train_flops_per_token(context) / 3; };
  if (!words.json) report(words, "prefill", times.prompt_tokens, times.prefill_s, flops(words.prompt / 2));
  report(words, "decode", times.decoded, times.decode_s, flops(words.prompt + words.length / 2));
  return kExitOk;
}

std::shared_ptr<BenchWords> declare_speed(CLI::App& command) {
  const auto words = std::make_shared<BenchWords>();
  declare_overrides(command, words->config);
  command.add_option("--config", words->config.path, "RUN.yaml");
  command.add_option("--batch", words->batch, "sequences")->check(at_least(1));
  command.add_option("--length", words->length, "tokens of a sequence; decode: new ones")
      ->check(between(2, 1 << 20));
  command.add_option("--seconds", words->seconds, "how long to measure")->check(above(0));
  command.add_flag("--json", words->json, "as JSON");
  command.add_flag("--profile", words->profile, "first profile where a GPU's time goes, by kind of kernel");
  return words;
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto* bench = app.add_subcommand("bench", "measure speed");
  bench->require_subcommand(1);
  auto* train = bench->add_subcommand("train", "tokens/s of supervised updates on random tokens");
  const auto train_words = declare_speed(*train);
  train->add_flag("--gradients-only", train_words->gradients_only,
                  "forward and backward, without the optimizer");
  train->callback([=, &exit_code] { exit_code = bench_train(*train_words); });
  auto* decode = bench->add_subcommand("decode", "tokens/s of prefill and of batched generation");
  const auto decode_words = declare_speed(*decode);
  decode->add_option("--prompt", decode_words->prompt, "tokens of a prompt")->check(at_least(1));
  decode->callback([=, &exit_code] { exit_code = bench_decode(*decode_words); });
  add_bench_exactness(*bench, exit_code);
  add_bench_judge(*bench, exit_code);
  add_bench_kernels(*bench, exit_code);
  add_bench_tokenizer(*bench, exit_code);
  add_bench_trajectories(*bench, exit_code);
  add_bench_weights(*bench, exit_code);
}

}  // namespace temper::trainer
