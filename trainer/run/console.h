#pragma once
// Everything the terminal shows of a run.

#include <functional>
#include <string>

#include "trainer/cold_start/cold_start.h"
#include "trainer/config/config.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/plan/plan.h"
#include "trainer/run/metrics.h"
#include "trainer/run/terminal.h"

namespace temper::policy {
class Communicator;
}  // namespace temper::policy

namespace temper::trainer {

std::function<void(const ColdStartStats&)> cold_start_bar();

void say_start(const RunConfig& config, const env::Judge& judge, const policy::Communicator& ranks);
void say_memory(const Plan& plan);
// Prints the GPU's memory that is in use. Called at the end of a run, when this process still holds what it took.
void say_memory_in_use(const policy::PolicyOptions& options);
void say_model(const policy::ModelConfig& config, bool fresh, const std::string& device);
// step 3/40  reward …  correct …  speedup …  fast_1 …  tok/s  rollout_corr/kl …  seconds (on what)  time left; INFRA …
// behind fast_1 where answers could not be judged, which learning leaves out. A narrow terminal gets less, the log all.
void say_step(int64_t step, int64_t steps, const Metrics& metrics, double left_s = 0);

struct NamedEvaluation {
  std::string name;  // "before", "after"
  Evaluation evaluation;
};
// Sampled beside greedy, one row per evaluation; pass@k where there are samples to choose from.
void say_evaluations(const std::string& split, const std::vector<NamedEvaluation>& evaluations);
// One row per way and number of answers.
void say_scaling(const std::vector<ScalingCurve>& curves);

}  // namespace temper::trainer
