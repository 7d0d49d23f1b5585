// An update of a step's worth of trajectories of several turns, of random tokens: a row for each trajectory, beside the same with
// each group's prompt computed once, and beside a row for each turn, which repeats what came before it.

#include "trainer/app/bench/bench_update.h"

#include <ATen/ATen.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/process.h"
#include "base/rng.h"
#include "policy/parameters/parameter_store.h"
#include "trainer/app/bench/speed.h"
#include "trainer/app/checks.h"
#include "trainer/learn/learner.h"
#include "trainer/run/console.h"

namespace temper::trainer {

using policy::Communicator;
using policy::Policy;
using rollout::Batch;
using rollout::Role;
using rollout::Segment;
using rollout::Trajectory;

namespace {

struct UpdateWords : SpeedWords {
  int64_t groups = 16, samples = 16, turns = 3, prompt = 2048, answer = 2048, feedback = 512;
  bool only_trajectories = false;
};

// Each answer of a row gets one advantage.
struct Learned {
  Batch batch;
  TokenAdvantages advantages;
};

class Rows {
 public:
  Rows(const UpdateWords& words, const RunConfig& config)
      : words_(words), vocab_(config.model.shape.vocab_size), log_prob_(-std::log(float(vocab_))) {}

  // A row for each trajectory, or for each turn. The tokens and advantages are the same.
  Learned make(bool row_for_each_turn) const {
    Learned learned;
    for (int64_t group = 0; group < words_.groups; ++group) {
      learned.batch.groups.push_back({fmt::format("task_{}", group), {}});
      for (int64_t sample = 0; sample < words_.samples; ++sample)
        learned.batch.groups.back().samples.push_back(
            trajectory(uint64_t(group), sample, row_for_each_turn, learned.advantages));
    }
    learned.batch.step = 1;
    return learned;
  }

 private:
  void append(Segment& row, RowAdvantages& of, int64_t count, uint64_t key, Role role,
              float advantage) const {
    const bool answer = rollout::is_response(role);
    row.append(random_ids(count, vocab_, key), role);
    if (answer) std::fill(row.log_probs.end() - count, row.log_probs.end(), log_prob_);
    of.advantage.insert(of.advantage.end(), size_t(count), answer ? advantage : 0);
    of.mask.insert(of.mask.end(), size_t(count), uint8_t(answer));
  }

  // All turns up to `last`; answers before `first` are what the policy is shown.
  Segment row(uint64_t group, uint64_t sample, int64_t first, int64_t last, RowAdvantages& of) const {
    Segment row;
    append(row, of, words_.prompt, mix_key({group, 0}), Role::kPrompt, 0);
    for (int64_t turn = 0; turn <= last; ++turn) {
      const uint64_t key = mix_key({group, sample + 1, uint64_t(turn)});
      const float advantage = Rng(key).below(2) ? 1 : -1;
      append(row, of, words_.answer, key, turn < first ? Role::kHistory : Role::kCode, advantage);
      if (turn < last) append(row, of, words_.feedback, mix_key({key, 1}), Role::kFeedback, 0);
    }
    return row;
  }

  Trajectory trajectory(uint64_t group, int64_t sample, bool row_for_each_turn, TokenAdvantages& all) const {
    Trajectory made;
    made.task = fmt::format("task_{}", group);
    made.step = 1;
    made.sample = sample;
    for (int64_t turn = row_for_each_turn ? 0 : words_.turns - 1; turn < words_.turns; ++turn)
      made.segments.push_back(
          row(group, uint64_t(sample), row_for_each_turn ? turn : 0, turn, all.emplace_back()));
    for (int64_t turn = 0; turn < words_.turns; ++turn) {
      const auto begin = int32_t(words_.prompt + turn * (words_.answer + words_.feedback));
      made.turns.push_back({.segment = row_for_each_turn ? int32_t(turn) : 0,
                            .begin = begin,
                            .end = begin + int32_t(words_.answer),
                            .stopped = true});
    }
    return made;
  }

  const UpdateWords& words_;
  const int64_t vocab_;
  const float log_prob_;
};

struct Figures {
  int64_t tokens = 0;
  double seconds = 0;   // of a rank
  at::Tensor gradient;  // this rank's share, times 1 − beta1
};

// The second of two updates is measured: the first chooses kernels. With a learning rate of 0 they are the same.
Figures measure(const UpdateWords& words, RunConfig config, Policy& policy, bool row_for_each_turn,
                bool share_prompts, bool prints) {
  config.learner.share_prompts = share_prompts;
  config.optimizer.lr = 0;
  config.optimizer.clip = 0;
  config.loss.kl_coefficient = 0;
  config.learner.updates_per_batch = config.learner.epochs = 1;
  const Learned learned = Rows(words, config).make(row_for_each_turn);
  Learner learner(policy, config.learner, config.loss, config.optimizer, {}, 1);
  const auto update = [&] {
    learner.optimizer().reset();
    return learner.update(learned.batch, learned.advantages);
  };
  update();
  if (words.profile) print_profile([&] { update(); }, prints);
  const double start_s = device_now_s(config);
  const LearnStats stats = update();
  return {stats.packed_tokens, device_now_s(config) - start_s, policy.parameters().moment1().cpu().clone()};
}

// ‖a − b‖ / ‖a‖ over all shares.
double relative_difference(const at::Tensor& a, const at::Tensor& b, Communicator& ranks) {
  const auto squared = [&](const at::Tensor& x) {
    return ranks.sum(x.to(at::kDouble).square().sum().item<double>(), "a norm");
  };
  return std::sqrt(squared(a - b) / squared(a));
}

void report(const UpdateWords& words, const char* what, const Figures& figures, int64_t ranks) {
  const double device_s = figures.seconds * double(ranks);
  if (words.json)
    fmt::print("{}\n", nlohmann::json{{"what", what},
                                      {"ranks", ranks},
                                      {"tokens", figures.tokens},
                                      {"seconds", figures.seconds},
                                      {"device_seconds", device_s}}
                           .dump());
  else
    fmt::print("{:<24}{:>12} tokens{:>10.2f} s on each of {} rank{}, {:.0f} tokens/s\n", what, figures.tokens,
               figures.seconds, ranks, ranks == 1 ? "" : "s", double(figures.tokens) / figures.seconds);
}

// Beside a row a trajectory.
void report_ratio(const UpdateWords& words, const char* what, double seconds, double gradient_difference) {
  if (words.json)
    fmt::print("{}\n", nlohmann::json{{"what", "ratio"},
                                      {"of", what},
                                      {"seconds", seconds},
                                      {"gradient_difference", gradient_difference}}
                           .dump());
  else
    fmt::print("{} takes {:.2f}× the time; the gradients differ by {:.2g} of their norm\n", what, seconds,
               gradient_difference);
}

int bench(const UpdateWords& words, const RunConfig& config, Policy& policy) {
  Communicator& ranks = policy.ranks();
  const bool first = ranks.rank() == 0;
  // Where other ways are measured beside it, it shares nothing, because sharing is one of them.
  const bool shares = words.only_trajectories && config.learner.share_prompts;
  const Figures whole = measure(words, config, policy, false, shares, first);
  if (first) report(words, "a row a trajectory", whole, ranks.size());
  if (words.only_trajectories) return kExitOk;
  const std::tuple<const char*, bool, bool> others[] = {{"a prompt a group", false, true},
                                                        {"a row a turn", true, false}};
  for (const auto& [what, row_for_each_turn, share_prompts] : others) {
    if (ranks.any(interrupted(), "interrupt")) return kExitOk;
    const Figures other = measure(words, config, policy, row_for_each_turn, share_prompts, first);
    const double difference = relative_difference(whole.gradient, other.gradient, ranks);
    if (!first) continue;
    report(words, what, other, ranks.size());
    report_ratio(words, what, other.seconds / whole.seconds, difference);
  }
  return kExitOk;
}

int64_t longest_row(const UpdateWords& words, const RunConfig& config) {
  const int64_t row = words.prompt + words.turns * (words.answer + words.feedback) - words.feedback;
  check_row(row, "--prompt, --turns, --answer and --feedback", config);
  return row;
}

}  // namespace

void add_bench_update(CLI::App& bench_command, int& exit_code) {
  auto* command = bench_command.add_subcommand(
      "update", "an update of random trajectories of several turns, of one rank or of several");
  const auto words = std::make_shared<UpdateWords>();
  declare_speed(*command, *words);
  command->remove_option(command->get_option("--seconds"));  // an update is what is measured
  const auto count = [&](const char* name, int64_t& value, const char* help) {
    command->add_option(name, value, help)->check(between(1, 1 << 20));
  };
  count("--groups", words->groups, "tasks");
  count("--samples", words->samples, "trajectories of each task");
  count("--turns", words->turns, "answers in a trajectory");
  count("--prompt", words->prompt, "tokens of a prompt");
  count("--answer", words->answer, "tokens of an answer");
  count("--feedback", words->feedback, "tokens between two answers");
  command->add_flag("--only-trajectories", words->only_trajectories, "without the other two ways beside it");
  command->callback([=, &exit_code] {
    exit_code = on_ranks(
        *words, [=](const RunConfig& config) { return longest_row(*words, config); },
        [=](const RunConfig& config, Policy& policy) { return bench(*words, config, policy); });
  });
}

}  // namespace temper::trainer
