#include "trainer/train.h"

#include "base/error.h"
#include "trainer/cold_start/starting_model.h"
#include "trainer/run/lost_bytes.h"
#include "trainer/run/recorder.h"
#include "trainer/run/task_order.h"
#include "trainer/run/terminal.h"

namespace temper::trainer {
namespace {

std::vector<rollout::RolloutRequest> requests_of_step(const RunConfig& config, const TaskOrder& order,
                                                      int64_t step) {
  std::vector<rollout::RolloutRequest> requests;
  for (const env::Task* task : order.of_step(step, config.rollout.tasks_per_step))
    requests.push_back({task, config.rollout.samples_per_task});
  if (!requests.empty()) return requests;
  throw ConfigError(
      "tasks.path: {}: no problem is left to learn from: {} were left out, for the reasons above; "
      "tasks.weak=keep pays for weak ones",
      config.tasks.path, order.left_out().size());
}

// What a task earns that is left out teaches nothing.
TurnValues rewards_of(const RunConfig& config, const rollout::Batch& batch, const TaskOrder& order) {
  TurnValues rewards = compute_rewards(config.reward, batch);
  for (size_t i = 0; i < rewards.size(); ++i) {
    if (!order.left_out().contains(batch.groups[i].task)) continue;
    for (SampleValues& sample : rewards[i])
      for (TurnValue& turn : sample) turn.kept = false;
  }
  return rewards;
}

LossOptions loss_of(const RunConfig& config) {
  LossOptions loss = config.loss;
  if (imitates(config.advantage)) loss.objective = "likelihood";
  return loss;
}

RejectionStats reject(const RunConfig& config, const rollout::Batch& batch, Learner& learner,
                      TurnValues& returns) {
  RejectionStats stats;
  if (config.rejection.mismatch)
    reject_mismatch(config.rejection, batch, learner.log_probs(batch), returns, stats);
  reject_profile(config.rejection, batch, uint64_t(config.run.seed), returns, stats);
  return stats;
}

}  // namespace

void train(const RunConfig& config, env::Judge& judge, Run& run, const std::vector<std::string>& too_large) {
  Model model = starting_model(config, judge, run);
  rollout::Rollout rollout(model.policy, model.tokenizer, judge, config.rollout, uint64_t(config.run.seed));
  Learner learner(model.policy, config.learner, loss_of(config), config.optimizer, config.rollout.sampling(),
                  config.run.steps);
  TaskOrder order(config.tasks, judge.tasks(), uint64_t(config.run.seed));
  StepRecorder record(config, model, learner, order, judge, run);
  const LostBytes lost(model.tokenizer);
  const int64_t done = record.begin();
  order.leave_out_large(too_large);
  record.evaluation_before();

  for (int64_t step = done + 1; run.goes_on(step); ++step) {
    const rollout::Batch batch =
        rollout.run(step, requests_of_step(config, order, step), record.rollout_bar());
    lost.say("the prompts and messages of rollouts so far");
    if (rollout.stats().given_up) break;  // nothing is learned from half a step
    for (const std::string& line : order.observe(batch)) say("  {}", line);
    record.check_replicas();

    const TurnValues rewards = rewards_of(config, batch, order);
    TurnValues returns = imitates(config.advantage) ? rewards : compute_returns(config.returns, rewards);
    const RejectionStats rejected = reject(config, batch, learner, returns);
    const TurnValues advantages = compute_advantages(config.advantage, returns, count_tokens(batch));

    const LearnStats learned =
        learner.update(batch, spread_over_tokens(batch, advantages, config.loss.mask_overlong));
    record.step({config.reward, batch, rewards, returns, advantages, rejected, learned, rollout.stats()});
  }
  record.checkpoint();
  record.evaluation_after();
  record.result();
}

}  // namespace temper::trainer
