#include "trainer/recorder.h"

#include "base/process.h"
#include "trainer/ranks.h"

namespace temper {
namespace {

constexpr double kRounding = 1e-3;  // more than f32 sums in another order make of a log-prob

}  // namespace

Recorder::Recorder(const RunConfig& config, Model& model, Judge& judge, Run& run)
    : config_(config), model_(model), judge_(judge), run_(run), step_start_s_(now_s()) {}

void Recorder::evaluation_before() {
  if (config_.eval.before) evaluate_as("before", 0);
}

void Recorder::evaluation_after() {
  if (steps_done_ > 0) evaluate_as("after", steps_done_);
}

void Recorder::evaluate_as(const std::string& name, int64_t step) {
  if (any_interrupted(run_.ranks())) return;
  evaluations_.push_back({name, evaluate(model_, judge_, config_, run_.trajectories("eval_" + name),
                                         progress_bar("eval " + name))});
  Metrics metrics;
  add_metrics(evaluations_.back().evaluation, metrics);
  run_.record(step, metrics);
  step_start_s_ = now_s();
}

ProgressFunction Recorder::rollout_bar() const {
  return progress_bar(fmt::format("step {}", steps_done_ + 1), false);
}

void Recorder::step(StepRecord record) {
  const double now = now_s();
  record.seconds = now - std::exchange(step_start_s_, now);
  const Metrics metrics = step_metrics(record);
  run_.record(++steps_done_, metrics, record.batch);
  say_step(steps_done_, config_.run.steps, metrics);
  if (record.learned.rollout_max_abs_log_diff > kRounding)
    say("  WARNING: sampling and training disagree on the log-probs of {} sampled tokens, by up to {:.1e}",
        record.learned.rollout_unequal, record.learned.rollout_max_abs_log_diff);
}

void Recorder::result() {
  const auto checkpoint = run_.save_checkpoint("final", model_);
  say_evaluations(config_.eval.split, evaluations_);
  say_memory_in_use(model_.policy.options());
  if (any_interrupted(run_.ranks())) say("interrupted after step {}", steps_done_);
  say("\npolicy: {}\nlook at what it wrote: temper show {}\nfigures: {}", checkpoint.string(),
      run_.dir().string(), (run_.dir() / "metrics.jsonl").string());
}

}  // namespace temper
