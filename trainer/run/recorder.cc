#include "trainer/run/recorder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/process.h"
#include "policy/cuda/device.h"
#include "policy/parameters/replicas.h"
#include "policy/ranks/activity.h"
#include "rollout/trajectory_file.h"
#include "trainer/checkpoint/evaluations.h"
#include "trainer/checkpoint/restore.h"
#include "trainer/cold_start/starting_model.h"
#include "trainer/run/interrupted.h"
#include "trainer/run/process_tree.h"
#include "trainer/run/provenance.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

constexpr double kRounding = 1e-3;  // more than f32 sums in another order make of a log-prob
constexpr double kGigabyte = 1e9;

// Adds this rank's memory in use: the host's, including its judge, and its GPU's.
void add_memory(bool on_gpu, Metrics& metrics) {
  metrics["perf/cpu_memory_used_gb"] = double(tree_usage().memory_bytes) / kGigabyte;
  if (!on_gpu) return;
  const policy::cuda::PeakMemory peak = policy::cuda::peak_memory();
  metrics["perf/max_memory_allocated_gb"] = double(peak.allocated_bytes) / kGigabyte;
  metrics["perf/max_memory_reserved_gb"] = double(peak.reserved_bytes) / kGigabyte;
}

}  // namespace

StepRecorder::StepRecorder(const RunConfig& config, Model& model, Learner& learner, TaskOrder& order,
                           env::Judge& judge, Run& run)
    : config_(config),
      model_(model),
      learner_(learner),
      order_(order),
      judge_(judge),
      run_(run),
      saver_(run.dir() / "checkpoints", config.checkpoint, model),
      tasks_(digest_of(judge.tasks())),
      devices_(devices_of(model.policy)),
      step_start_s_(now_s()),
      checkpoint_start_s_(step_start_s_) {}

int64_t StepRecorder::begin() {
  if (const Checkpoint* from = run_.checkpoint(); from && !from->manifest.cold_start) {
    restore(*from);
    if (run_.forked()) {  // from here on it stands alone
      save();
      run_.has_checkpoint();
    }
  } else {
    if (config_.has_cold_start()) save();
  }
  if (!run_.shared()) say("checkpoints: none, {} is not seen by all ranks", run_.dir().string());
  return steps_done_;
}

void StepRecorder::restore(const Checkpoint& checkpoint) {
  const Manifest& manifest = checkpoint.manifest;
  if (config_.loss.kl_coefficient > 0 && run_of(checkpoint.dir) != fs::absolute(run_.dir()))
    run_.save_checkpoint("cold_start", model_);
  check_learnable(restore_policy(checkpoint, model_.policy), config_.model.allow_not_finite);
  say_exactness(model_.policy, config_);
  learner_.optimizer().restore(manifest.updates, manifest.gradient_norms);
  order_.restore(manifest.pass_rates, manifest.left_out);
  if (!run_.forked()) evaluations_ = evaluations_from(manifest.evaluations);
  steps_done_ = step_of_checkpoint_ = manifest.step;
}

// Copies what training changes; the checkpoint is written while training continues.
void StepRecorder::save() {
  if (!run_.shared()) return;
  const policy::Phase phase("save");
  const double start = now_s();
  saver_.save({.config = to_map(config_),
               .tasks = tasks_,
               .parameters = shapes_of(model_.policy.config()),
               .vocabulary = model_.tokenizer.vocab_size(),
               .step = steps_done_,
               .updates = learner_.optimizer().updates(),
               .gradient_norms = learner_.optimizer().norms(),
               .seconds = run_.seconds(),
               .metric = run_.last_value(config_.checkpoint.best),
               .evaluations = to_json(evaluations_),
               .pass_rates = order_.pass_rates(),
               .left_out = order_.left_out(),
               .records = growing_files(run_.dir()),
               .files = {},
               .ranks = {},
               .cold_start = {},
               .start = run_.start(),
               .words = words_of(config_)},
              fs::exists(run_.journal()) ? fs::file_size(run_.journal()) : 0);
  step_of_checkpoint_ = steps_done_;
  checkpoint_start_s_ = now_s();
  save_s_ += checkpoint_start_s_ - start;
}

bool StepRecorder::is_due() {
  const CheckpointOptions& options = config_.checkpoint;
  const bool late = options.every_s > 0 && now_s() - checkpoint_start_s_ >= options.every_s;
  return (options.every > 0 && steps_done_ % options.every == 0) ||
         (options.every_s > 0 && run_.ranks().any(late && run_.ranks().rank() == 0, "clock"));
}

void StepRecorder::checkpoint() {
  if (step_of_checkpoint_ != steps_done_) save();
  saver_.finish();
}

void StepRecorder::evaluation_before() {
  if (config_.eval.before) evaluate_as("before", steps_done_);
}

void StepRecorder::evaluation_after() {
  if (steps_done_ > 0) evaluate_as("after", steps_done_);
}

void StepRecorder::evaluate_as(const std::string& name, int64_t step) {
  if (std::ranges::count(evaluations_, name, &NamedEvaluation::name) > 0 || any_interrupted(run_.ranks()))
    return;
  std::vector<rollout::Trajectory> kept;
  try {
    evaluations_.push_back({name, evaluate(model_, judge_, config_, &kept, progress_bar("eval " + name))});
  } catch (const Interrupted&) {  // half an evaluation is none
    return;
  }
  say_measured_anew();
  run_.keep("eval_" + name, rollout::pointers_to(kept));
  Metrics metrics;
  add_metrics(evaluations_.back().evaluation, metrics);
  run_.record(step, metrics);
  step_start_s_ = now_s();
}

// Must happen before an update, which would spread a damaged share to all ranks, after which it could not be noticed.
void StepRecorder::check_replicas() const {
  const int64_t every = config_.ranks.check_every;
  if (every > 0 && steps_done_ % every == 0)
    temper::policy::check_replicas(model_.policy.parameters(), "comparison of weights", learner_.reference());
}

ProgressFunction StepRecorder::rollout_bar() const {
  const ProgressFunction bar = progress_bar(fmt::format("step {}", steps_done_ + 1), false);
  return [bar, told = false](int64_t done, int64_t total) mutable {
    if (interrupted() && !std::exchange(told, true))
      say("interrupted: this step is finished and saved first, if it comes to an end; once more ends at "
          "once");
    if (bar) bar(done, total);
  };
}

void StepRecorder::step(StepRecord record) {
  const double now = now_s();
  record.seconds = now - std::exchange(step_start_s_, now);
  Metrics metrics = step_metrics(record);
  add_memory(model_.policy.options().on_gpu(), metrics);
  add_utilisation(record.learned, generation_flops(model_.policy.config(), record.batch),
                  record.rollout.generate_s, devices_, metrics);
  metrics["env/tasks_left_out"] = double(order_.left_out().size());
  saver_.look();
  // Within the time of this step, but of the one before.
  metrics["timing_s/save_checkpoint"] = std::exchange(save_s_, 0);
  metrics["timing_s/record"] = std::exchange(record_s_, 0);
  metrics["checkpoint/failed"] = double(saver_.failed());
  run_.record(++steps_done_, metrics, record.batch);
  say_step(steps_done_, config_.run.steps, metrics, seconds_left(record.seconds));
  record_s_ = now_s() - now;  // metrics, trajectories, the line on the terminal
  if (record.learned.rollout_max_abs_log_diff > kRounding)
    say("  WARNING: sampling and training disagree on the log-probs of {} sampled tokens, by up to {:.1e}",
        record.learned.rollout_unequal, record.learned.rollout_max_abs_log_diff);
  const auto spread = metrics.find("critic/advantages/std");
  say_without_signal(spread == metrics.end() || spread->second == 0);
  say_measured_anew();
  if (config_.eval.every > 0 && steps_done_ % config_.eval.every == 0 && steps_done_ < config_.run.steps)
    evaluate_as(fmt::format("step_{}", steps_done_), steps_done_);
  if (is_due()) save();
}

// Of reinforcement learning, by the latest steps.
double StepRecorder::seconds_left(double step_s) {
  constexpr double kNewest = 0.2;
  mean_step_s_ = mean_step_s_ == 0 ? step_s : (1 - kNewest) * mean_step_s_ + kNewest * step_s;
  const double left_s = mean_step_s_ * double(config_.run.steps - steps_done_);
  const double most_s = config_.run.max_seconds;
  return most_s > 0 ? std::min(left_s, std::max(0.0, most_s - run_.seconds())) : left_s;
}

// A policy that gives no right answer earns the same for every answer and learns nothing. Without this warning the run would
// go on to its last step and never say why nothing improves.
void StepRecorder::say_without_signal(bool without) {
  constexpr int64_t kSteps = 3;
  without_signal_ = without ? without_signal_ + 1 : 0;
  if (without_signal_ == kSteps)
    say("  WARNING: in each of the last {} steps all advantages were 0, so that no reward was learned from. "
        "If no answer is right yet, a longer cold start helps: cold_start.max_seconds, cold_start.epochs",
        kSteps);
}

void StepRecorder::say_measured_anew() {
  const std::vector<std::string> tasks = judge_.measured_anew();
  if (tasks.empty()) return;
  say("  measured again, as they were being judged when the run was stopped, so that figures from here on "
      "may "
      "differ "
      "from those of a run that was not: {} candidates, of {}",
      tasks.size(), fmt::join(std::set(tasks.begin(), tasks.end()), ", "));
}

void StepRecorder::result() {
  const auto checkpoint = run_.save_checkpoint("final", model_);
  say_evaluations(config_.eval.split, evaluations_);
  say_memory_in_use(model_.policy.options());
  if (any_interrupted(run_.ranks()))
    say("interrupted after step {}; the same command resumes it", steps_done_);
  else
    run_.finish(steps_done_);
  const std::string dir = run_.dir().string(), program = program_word();
  say("\npolicy: {}\nlook at what it wrote: {} show {}\nfigures: {} report {}, of {}", checkpoint.string(),
      program, dir, program, dir, (run_.dir() / "metrics.jsonl").string());
}

}  // namespace temper::trainer
