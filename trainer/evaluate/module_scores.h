#pragma once
// How good answers to problems in PyTorch are, level by level, as KernelBench counts and as our own verdicts have it.
//
// Source: Ouyang et al., KernelBench, 2502.10517: fast_p is the share of problems with an answer that is right and more than p
//         times as fast; scripts/benchmark_eval_analysis.py of its repository for the figures and thresholds.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "env/task/task.h"
#include "policy/text/tokenizer.h"
#include "rollout/trajectory.h"
#include "trainer/evaluate/kernelbench_baseline.h"
#include "trainer/run/metrics.h"

namespace temper::trainer {

inline constexpr double kKernelBenchThresholds[] = {0, 0.5, 0.8, 1, 1.5, 2};
inline constexpr size_t kKernelBenchCount = std::size(kKernelBenchThresholds);

// The last answer of one trajectory.
struct ModuleAnswer {
  std::string task;
  env::ModuleProblem problem;
  int64_t sample = 0;
  std::string code;  // "" if there was no code block
  env::Verdict verdict;
  std::optional<PublishedTime> published = {};  // where eval.kernelbench_baseline is given
};

// Those of a batch's trajectories that answer problems in PyTorch, by level, number and sample. `inside_reasoning` as in
// env::extract_code.
std::vector<ModuleAnswer> module_answers(const std::vector<env::Task>& tasks, const rollout::Batch& batch,
                                         const policy::Tokenizer& tokenizer, bool inside_reasoning);

// Milliseconds that each task's reference takes by KernelBench's clock, of the first answer whose verdict knows.
std::map<std::string, env::RuntimeStats> module_baselines(const std::vector<ModuleAnswer>& answers);
// Those that comparable speedups are over: the published ones, or else the above.
std::map<std::string, env::RuntimeStats> comparable_baselines(const std::vector<ModuleAnswer>& answers);

// Shares of all answers. One that could not be judged (INFRA) counts as wrong, as KernelBench counts what is missing.
struct ModuleScore {
  int64_t problems = 0, answers = 0, infra = 0;
  double compiled = 0, correct = 0;
  double fast[kKernelBenchCount] = {};
  double speedup = 0;  // geometric mean over those that are right and timed; 0 if there are none
  std::map<int64_t, double> pass_at;  // k = 1, 2, 4, … and all samples
  int64_t weak = 0;              // problems that answers without any work pass, too, as far as it is known
  double correct_on_others = 0;  // share of the answers to the other problems
};

// By KernelBench's own rules: correctness and runtime of Verdict::comparable, against the baselines.
ModuleScore comparable_score(const std::vector<ModuleAnswer>& answers,
                             const std::map<std::string, env::RuntimeStats>& baselines);
// By the verdicts.
ModuleScore strict_score(const std::vector<ModuleAnswer>& answers);

// The answers of each level.
std::map<int64_t, std::vector<ModuleAnswer>> by_level(const std::vector<ModuleAnswer>& answers);

// A table a level, with a column for each way of sampling and each of the two counts; nothing without answers.
std::vector<std::string> module_table(
    const std::vector<std::pair<std::string, const std::vector<ModuleAnswer>*>>& ways);

// PREFIX/level1/strict/fast_1, PREFIX/level1/comparable/correct, PREFIX/level1/strict/pass@2, …
void add_metrics(const std::string& prefix, const std::vector<ModuleAnswer>& answers, Metrics& metrics);

}  // namespace temper::trainer
