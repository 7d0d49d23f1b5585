#include "trainer/app/bench/speed.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/process.h"
#include "base/rng.h"
#include "policy/bench/kernel_profile.h"
#include "policy/parameters/parameter_store.h"
#include "policy/threads.h"
#include "trainer/app/checks.h"
#include "trainer/app/ranks.h"
#include "trainer/config/device.h"

namespace temper::trainer {

using policy::Policy;

void declare_speed(CLI::App& command, SpeedWords& words) {
  declare_overrides(command, words.config);
  command.add_option("--config", words.config.path, "RUN.yaml")->transform(path_word());
  command.add_option("--seconds", words.seconds, "how long to measure")->check(above(0));
  command.add_flag("--json", words.json, "as JSON");
  command.add_flag("--profile", words.profile, "first profile where a GPU's time goes, by kind of kernel");
}

Policy random_policy(const RunConfig& config, policy::Communicator& ranks) {
  policy::PolicyOptions options = config.model.policy();
  options.ranks = &ranks;
  Policy policy(config.model.shape, options);
  policy.parameters().init_random(uint64_t(config.run.seed));
  return policy;
}

std::vector<int32_t> random_ids(int64_t count, int64_t vocab_size, uint64_t seed) {
  Rng rng(seed);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(int32_t(rng.below(uint64_t(vocab_size))));
  return ids;
}

void check_row(int64_t tokens, std::string_view words, const RunConfig& config) {
  if (tokens > config.model.shape.max_position_embeddings)
    throw ConfigError("{}: rows of {} tokens are longer than model.max_position_embeddings, {}", words,
                      tokens, config.model.shape.max_position_embeddings);
}

int on_ranks(const SpeedWords& words, const std::function<int64_t(const RunConfig&)>& check,
             const std::function<int(const RunConfig&, Policy&)>& bench) {
  const auto prepare = [&](RunConfig& config, policy::Communicator& ranks) {
    const int64_t longest = check(config);
    share_machine(config, ranks);
    use_device(config.model, config.model.shape, ranks, longest);
  };
  const auto run = [&](RunConfig& config, policy::Communicator& ranks) {
    connect_devices(config.model, ranks);
    policy::use_threads(config.run.threads);
    if (ranks.rank() == 0 && !words.json) fmt::print("{}\n", device_text(config.model.policy()));
    Policy policy = random_policy(config, ranks);
    return bench(config, policy);
  };
  return run_ranked({[&] { return words.config.read(); },
                     [](const RunConfig&) { return std::vector<env::Task>(); }, prepare, run});
}

double device_now_s(const RunConfig& config) {
  wait_for_device(config.model.policy());
  return now_s();
}

namespace {

void print_kinds(const policy::KernelProfile::Found& found) {
  std::vector<std::pair<double, std::string>> rows;
  double sum = 0;
  for (const auto& [kind, share] : found.kinds) {
    rows.push_back({share.seconds, fmt::format("  {:<28}{:>10.2f} ms{:>8} launches", kind,
                                               share.seconds * 1e3, share.launches)});
    sum += share.seconds;
  }
  std::ranges::sort(rows, std::greater());
  for (const auto& [seconds, row] : rows) fmt::print("{}{:>7.1f} %\n", row, 100 * seconds / sum);
}

void print_waits(const std::vector<policy::Wait>& waits) {
  constexpr size_t kMostRows = 8;
  if (waits.empty()) return;
  fmt::print("  {:<48}{:>10}{:>16}\n", "nothing computes between", "idle", "moving data");
  for (const policy::Wait& wait : std::span(waits).first(std::min(waits.size(), kMostRows)))
    fmt::print("  {:<48}{:>7.2f} ms{:>13.2f} ms{:>7} times\n", wait.before + " and " + wait.after,
               wait.idle_s * 1e3, wait.exposed_s * 1e3, wait.count);
}

}  // namespace

void print_profile(const std::function<void()>& call, bool prints) {
  if (!prints) return call();
  const double start_s = now_s();
  policy::KernelProfile profile;
  call();
  const policy::KernelProfile::Found found = profile.stop();
  const double all_s = now_s() - start_s;
  print_kinds(found);
  const policy::Timeline& time = found.timeline;
  for (const auto& [what, seconds] : {std::pair{"computing", time.computing_s},
                                      {"only moving data", time.exposed_s},
                                      {"idle, waiting for the host", time.idle_s}})
    fmt::print("  {:<28}{:>10.2f} ms{:>24.1f} %\n", what, seconds * 1e3, 100 * seconds / time.all_s);
  fmt::print("  {:<28}{:>10.2f} ms of {:.2f} ms, profiled\n", "all", time.all_s * 1e3, all_s * 1e3);
  print_waits(found.waits);
}

}  // namespace temper::trainer
