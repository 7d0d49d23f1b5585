#pragma once
// Writes the training loop's output to the terminal and the run directory.

#include <vector>

#include "trainer/checkpoint/saver.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/learn/learner.h"
#include "trainer/learn/utilisation.h"
#include "trainer/run/console.h"
#include "trainer/run/run.h"
#include "trainer/run/step_metrics.h"
#include "trainer/run/task_order.h"

namespace temper::trainer {

// All references must outlive the recorder.
class StepRecorder {
 public:
  StepRecorder(const RunConfig& config, Model& model, Learner& learner, TaskOrder& order, env::Judge& judge,
               Run& run);

  // Restores the run's checkpoint, or writes a first one. Returns the number of steps already done.
  int64_t begin();
  void checkpoint();  // saves the last step, unless it was saved, and waits until it is on the disk

  // These evaluations are skipped if eval.before is off, nothing was learned, they were done before the run was
  // stopped, or the run is interrupted.
  void evaluation_before();
  void evaluation_after();

  // Checks before an update whether the ranks still have the same weights, if ranks.check_every asks for it.
  void check_replicas() const;

  ProgressFunction rollout_bar() const;
  // Records a step, and evaluates if eval.every asks for it. The step's seconds are those since the last step or
  // evaluation.
  void step(StepRecord record);

  // The final checkpoint, the table, and where to look next.
  void result();

 private:
  void restore(const Checkpoint& checkpoint);
  void save();
  bool is_due();
  double seconds_left(double step_s);
  void say_without_signal(bool without);
  void say_measured_anew();
  void evaluate_as(const std::string& name, int64_t step);

  const RunConfig& config_;
  Model& model_;
  Learner& learner_;
  TaskOrder& order_;
  env::Judge& judge_;
  Run& run_;
  CheckpointSaver saver_;
  const std::string tasks_;  // digest
  const Devices devices_;
  std::vector<NamedEvaluation> evaluations_;
  int64_t steps_done_ = 0, step_of_checkpoint_ = -1;
  int64_t without_signal_ = 0;  // steps in a row
  double step_start_s_, checkpoint_start_s_, save_s_ = 0, record_s_ = 0, mean_step_s_ = 0;
};

}  // namespace temper::trainer
