#pragma once
// Answers to problems in PyTorch in the files that KernelBench's own scripts read and write:
//
//   runs/RUN_level1_WAY/eval_results.json         {"19": [{sample_id, compiled, correctness, metadata, runtime, runtime_stats}]}
//   runs/RUN_level1_WAY/level_1_problem_19_sample_0_kernel.py
//   runs/RUN_level1_WAY/pass_at_k_results.json    {averages, metadata, problems}, where there are several samples
//   runs/RUN_level1_WAY/strict_results.json       beside them, our own verdicts by problem and sample
//   results/timing/GPU/baseline_time_torch.json   {"level1": {"19_ReLU.py": {mean, std, min, max, num_trials, hardware, device}}}
//
// Problems stand in the order of their numbers in both files of a level, since benchmark_eval_analysis.py pairs them by order.
// As there, an answer that could not be judged is left out, runtime is −1 where it was not timed, and times are in ms.
//
// Source: scripts/eval_from_generations.py and src/kernelbench/eval.py of KernelBench at 423217d.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trainer/evaluate/module_scores.h"

namespace temper::trainer {

// Of one level.
nlohmann::ordered_json eval_results(const std::vector<ModuleAnswer>& answers);
nlohmann::ordered_json pass_at_k_results(const std::vector<ModuleAnswer>& answers);
nlohmann::ordered_json strict_results(const std::vector<ModuleAnswer>& answers);

// Writes the files of all levels below `dir`. Levels in the file of baselines that are not among the answers stay. Returns the
// folders of runs. Errors: WorldError naming a path; ConfigError if a file of baselines is there and is none.
std::vector<std::filesystem::path> write_kernelbench_files(
    const std::filesystem::path& dir, const std::string& run,
    const std::vector<std::pair<std::string, const std::vector<ModuleAnswer>*>>& ways);

}  // namespace temper::trainer
