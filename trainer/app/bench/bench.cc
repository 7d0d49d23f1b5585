#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/process.h"
#include "base/rng.h"
#include "policy/threads.h"
#include "rollout/generator.h"
#include "trainer/app/bench/bench_exactness.h"
#include "trainer/app/bench/bench_judge.h"
#include "trainer/app/bench/bench_kernels.h"
#include "trainer/app/bench/bench_tokenizer.h"
#include "trainer/app/bench/bench_train.h"
#include "trainer/app/bench/bench_trajectories.h"
#include "trainer/app/bench/bench_update.h"
#include "trainer/app/bench/bench_weights.h"
#include "trainer/app/bench/speed.h"
#include "trainer/app/checks.h"
#include "trainer/config/device.h"

namespace temper::trainer {

using policy::Policy;

namespace {

struct DecodeWords : SpeedWords {
  int64_t batch = 16, prompt = 64, length = 256;
};

void report(const DecodeWords& words, const std::string& what, int64_t tokens, double seconds,
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

struct DecodeTimes {
  double prefill_s = 0, decode_s = 0;
  int64_t prompt_tokens = 0, decoded = 0;
};

// One batch of random prompts, every sequence to its full length. The first step computes the prompts and one
// token of each.
void generate_once(const DecodeWords& words, int64_t vocab, uint64_t seed, rollout::Generator& generator,
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

RunConfig read_and_use(const DecodeWords& words) {
  RunConfig config = words.config.read();
  check_row(words.prompt + words.length, "--prompt and --length", config);
  use_device(config.model, config.model.shape);
  policy::use_threads(config.run.threads);
  if (!words.json) fmt::print("{}\n", device_text(config.model.policy()));
  return config;
}

int bench_decode(const DecodeWords& words) {
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

void add_bench_decode(CLI::App& bench, int& exit_code) {
  auto* command = bench.add_subcommand("decode", "tokens/s of prefill and of batched generation");
  const auto words = std::make_shared<DecodeWords>();
  declare_speed(*command, *words);
  command->add_option("--batch", words->batch, "sequences")->check(at_least(1));
  command->add_option("--prompt", words->prompt, "tokens of a prompt")->check(at_least(1));
  command->add_option("--length", words->length, "tokens of an answer")->check(between(2, 1 << 20));
  command->callback([=, &exit_code] { exit_code = bench_decode(*words); });
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto* bench = app.add_subcommand("bench", "measure speed");
  bench->require_subcommand(1);
  add_bench_train(*bench, exit_code);
  add_bench_decode(*bench, exit_code);
  add_bench_update(*bench, exit_code);
  add_bench_exactness(*bench, exit_code);
  add_bench_judge(*bench, exit_code);
  add_bench_kernels(*bench, exit_code);
  add_bench_tokenizer(*bench, exit_code);
  add_bench_trajectories(*bench, exit_code);
  add_bench_weights(*bench, exit_code);
}

}  // namespace temper::trainer
