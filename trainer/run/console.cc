#include "trainer/run/console.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>

#include "base/input/wrapped.h"
#include "base/progress.h"
#include "policy/ranks/communicator.h"
#include "trainer/config/device.h"

namespace temper::trainer {
namespace {

double value(const Metrics& metrics, const std::string& name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? 0 : found->second;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

// "45 s", "12 min", "3 h 5 min"
std::string duration_text(double seconds) {
  const auto whole = int64_t(std::lround(seconds));
  const int64_t minutes = (whole + 30) / 60;
  if (whole < 90) return fmt::format("{} s", whole);
  if (minutes < 90) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string speedup_text(double speedup) { return speedup > 0 ? fmt::format("{:.2f}×", speedup) : "–"; }

// Pads by what is seen, not by bytes: "×" and "–" are one column.
std::string padded(const std::string& text, size_t width) {
  const size_t seen = columns_of(text);
  return std::string(width > seen ? width - seen : 0, ' ') + text;
}

std::string score_row(const std::string& name, const Score& s, bool tells_weak) {
  std::string row = fmt::format("  {:<18}", name);
  for (const std::string& cell : {percent(s.correct), percent(s.fast[1]), fmt::format("{:.3f}", s.reward),
                                  speedup_text(s.speedup), fmt::format("{}", s.samples)})
    row += padded(cell, 11);
  return tells_weak ? row + padded(percent(s.weak), 11) : row;
}

// pass@k, fast_1 against torch.compile where that is known, and what hacks would have earned where there were
// any.
void say_chances(const std::string& name, const TurnScores& scores) {
  std::string row = fmt::format("  {:<18}", name + ", pass@k");
  for (const auto& [k, share] : scores.pass_at) row += padded(fmt::format("{}: {}", k, percent(share)), 11);
  say_line(row);
  if (const Score& last = scores.last; last.compiled > 0)
    say("  {:<18}right and faster than torch.compile: {}", name, percent(last.fast_compiled));
  if (const Score& last = scores.last; last.hacks > 0)
    say("  {:<18}{} of {} answers are hacks; counted as right: correct {}, fast_1 {}", name + ", raw",
        last.hacks, last.samples, percent(last.raw_correct), percent(last.raw_fast[1]));
}

}  // namespace

std::function<void(const ColdStartStats&)> cold_start_bar() {
  if (!terminal_is_ours()) return [](const ColdStartStats&) {};
  auto bar = std::make_shared<std::unique_ptr<Progress>>();
  return [=](const ColdStartStats& stats) {
    if (!*bar) *bar = std::make_unique<Progress>("cold start", 100);
    (*bar)->set(int64_t(100 * stats.progress),
                fmt::format("loss {:.3f}  {:.0f} tok/s", stats.loss, stats.tokens_per_s()));
  };
}

namespace {

// What is said around tasks and verdicts, unless that is nothing.
void say_words(const rollout::PromptOptions& prompt) {
  if (prompt.in_sentences()) say("prompts: whole sentences (rollout.prompt.style)");
  for (const rollout::OwnWords& own : rollout::own_words(prompt))
    say("prompts: own words in rollout.prompt.{}, {} bytes", own.option, own.text.size());
}

}  // namespace

void say_start(const RunConfig& config, const env::Judge& judge, const policy::Communicator& ranks) {
  say("run {} in {}", config.run.name, config.run.path().string());
  say("tasks: {} to learn from, {} held out", tasks_to_learn(config.tasks, judge.tasks()).size(),
      tasks_of_split(judge.tasks(), env::Split::kHeldOut).size());
  say_words(config.rollout.context.prompt);
  say("judge: sandbox {}", judge.sandbox_level());
  for (const std::string& note : judge.notes()) say("judge: {}", note);
  if (ranks.size() > 1)
    say("ranks: {}, {} of them on this machine; {} judges and {} threads each", ranks.size(),
        ranks.local_size(), config.env.lanes, config.run.threads);
}

void say_memory(const Plan& plan) {
  for (const MemoryPlan& memory : plan.memories) say("plan: {}", summary(memory));
}

void say_memory_in_use(const policy::PolicyOptions& options) {
  if (options.on_gpu()) say("GPU memory in use: {:.1f} GiB", double(device_used_bytes(options)) / (1 << 30));
}

void say_model(const policy::ModelConfig& config, bool fresh, const std::string& device) {
  say("policy: {} {}, {:.2f} M parameters, {} layers × {}, {} tokens", fresh ? "new" : "loaded",
      config.model_type, double(config.parameter_count()) * 1e-6, config.num_hidden_layers,
      config.hidden_size, config.vocab_size);
  say("device: {}", device);
}

void say_step(int64_t step, int64_t steps, const Metrics& m, double left_s) {
  const double infra = value(m, "env/infra");
  const std::vector<LinePart> parts = {
      {fmt::format("step {:>3}/{}", step, steps)},
      {fmt::format("reward {:.3f}", value(m, "critic/rewards/mean"))},
      {fmt::format("correct {}", percent(value(m, "env/correct")))},
      {fmt::format("speedup {}", speedup_text(value(m, "env/speedup"))), 3},
      {fmt::format("fast_1 {}", percent(value(m, "env/fast_1")))},
      {infra > 0 ? "INFRA " + percent(infra) : ""},
      {fmt::format("{:.0f} tok/s", value(m, "perf/throughput")), 4},
      {fmt::format("rollout_corr/kl {:.1e}", value(m, "rollout_corr/kl")), 6},
      {fmt::format("{:.1f} s", value(m, "timing_s/step")), 1},
      {fmt::format("(generate {:.1f}, judge {:.1f}, learn {:.1f})", value(m, "timing_s/gen"),
                   value(m, "timing_s/reward"), value(m, "timing_s/update_actor")),
       5},
      {left_s > 0 ? duration_text(left_s) + " left" : "", 2}};
  constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();
  say_line(fitting(parts, terminal_columns().value_or(kNoLimit)), fitting(parts, kNoLimit));
}

void say_evaluations(const std::string& split, const std::vector<NamedEvaluation>& evaluations) {
  if (evaluations.empty()) return;
  const bool weak = std::ranges::any_of(evaluations, [](const NamedEvaluation& named) {
    return named.evaluation.sampled.last.weak > 0 || named.evaluation.greedy.last.weak > 0;
  });
  say("\n  {:<18}{:>11}{:>11}{:>11}{:>11}{:>11}{}", split + " tasks", "correct", "fast_1", "reward",
      "speedup", "samples", weak ? "       weak" : "");
  for (const auto& [name, evaluation] : evaluations) {
    const auto& turns = evaluation.sampled.by_turn;
    for (size_t i = 0; i < turns.size(); ++i)
      say_line(score_row(fmt::format("{}, turn {}", name, i + 1), turns[i], weak));
    say_line(score_row(name + ", best turn", evaluation.sampled.best, weak));
    say_line(score_row(name + ", greedy", evaluation.greedy.last, weak));
    say_chances(name, evaluation.sampled);
  }
}

void say_scaling(const std::vector<ScalingCurve>& curves) {
  say("\n  {:<18}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}", "answers to a task", "correct", "fast_1",
      "fast_1.2", "reward", "speedup", "last fast_1", "searches");
  for (const ScalingCurve& curve : curves)
    for (const auto& [answers, best, last] : curve.points) {
      std::string row = fmt::format("  {:<18}", fmt::format("{}, {}", curve.way, answers));
      for (const std::string& cell : {percent(best.correct), percent(best.fast[1]), percent(best.fast[2]),
                                      fmt::format("{:.3f}", best.reward), speedup_text(best.speedup),
                                      percent(last.fast[1]), fmt::format("{}", best.samples)})
        row += padded(cell, 12);
      say_line(row);
    }
}

}  // namespace temper::trainer
