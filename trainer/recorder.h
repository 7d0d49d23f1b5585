#pragma once
// What the loop leaves on the terminal and in the run directory.

#include <vector>

#include "trainer/console.h"
#include "trainer/run.h"
#include "trainer/step_metrics.h"

namespace temper {

// All references must outlive the recorder.
class Recorder {
 public:
  Recorder(const RunConfig& config, Model& model, Judge& judge, Run& run);

  // Nothing where eval.before is off, nothing was learned, or the run is interrupted.
  void evaluation_before();
  void evaluation_after();

  ProgressFunction rollout_bar() const;
  void step(StepRecord record);  // its seconds are those since the last step or evaluation

  // The final checkpoint, the table, and where to look next.
  void result();

 private:
  void evaluate_as(const std::string& name, int64_t step);

  const RunConfig& config_;
  Model& model_;
  Judge& judge_;
  Run& run_;
  std::vector<NamedEvaluation> evaluations_;
  int64_t steps_done_ = 0;
  double step_start_s_;
};

}  // namespace temper
