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

namespace temper {

class Communicator;

// The name of the logger that writes a run's log. The logger exists only during a run.
constexpr const char* kRunLog = "run";

// Sets whether this process writes to the terminal. Of several ranks only the first does.
void use_terminal(bool ours);

// One line, on the terminal and in the run's log.
void say_line(const std::string& line);
// Prints one line on standard error, so that it is not mixed with a command's output.
void say_beside(const std::string& line);
template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  say_line(fmt::format(text, std::forward<Args>(args)...));
}

using ProgressFunction = std::function<void(int64_t done, int64_t total)>;

// A bar that starts with the first call and ends with the last; `keep` leaves its line.
ProgressFunction progress_bar(const std::string& title, bool keep = true);
std::function<void(const ColdStartStats&)> cold_start_bar();

void say_start(const RunConfig& config, const Judge& judge, const Communicator& ranks);
void say_memory(const Plan& plan);
// Prints the GPU's memory that is in use. Called at the end of a run, when this process still holds what it took.
void say_memory_in_use(const PolicyOptions& options);
void say_model(const ModelConfig& config, bool fresh, const std::string& device);
// step 3/40  reward …  correct …  speedup …  fast_1 …  tok/s  rollout_corr/kl …  seconds (on what); INFRA …
// behind fast_1 where answers could not be judged, which learning leaves out
void say_step(int64_t step, int64_t steps, const Metrics& metrics);

struct NamedEvaluation {
  std::string name;  // "before", "after"
  Evaluation evaluation;
};
// Sampled beside greedy, one row per evaluation; pass@k where there are samples to choose from.
void say_evaluations(const std::string& split, const std::vector<NamedEvaluation>& evaluations);
// One row per way and number of answers.
void say_scaling(const std::vector<ScalingCurve>& curves);

}  // namespace temper
