#pragma once
// What judging modules takes of a GPU's memory, told from the shapes of a problem before anything runs on one.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "env/kernelbench/module_process.h"
#include "env/task/task.h"

namespace temper::env {

// How many bytes the tensors of a problem take, in the precision in which it is judged.
struct ModuleSizes {
  int64_t inputs = 0, weights = 0, outputs = 0;
};

// What was told of problems by their shapes.
struct ModuleLook {
  // Of each task. Nothing where it is no module, or where its shapes cannot be told: without values, or in time.
  std::vector<std::optional<ModuleSizes>> sizes;
  int64_t left = 0;  // problems that were not looked at, since all of them together would have taken too long
};

// Sources are run on a core, in boxes, each for at most some seconds (python/room.py) and all for at most a minute. What is
// learned is kept in `file` (env/verdict/problem_sizes.h) by source, precision and Python; empty: it is not kept. A look of
// more than two seconds shows its progress. Errors: WorldError if there is no process for it, or once interrupted().
ModuleLook look_at_modules(const ModuleBoxOptions& options, const std::vector<Task>& tasks,
                           const std::filesystem::path& file = {});

// Of one lane that judges candidates of that problem, bytes. What models compute between their inputs and outputs comes on
// top; nothing tells it beforehand.
struct ModuleMemory {
  int64_t exchange = 0;   // the memory through which calls pass
  int64_t reference = 0;  // its models, a call's draw, and what it computes in float64
  int64_t draws = 0;      // that it keeps for calls to come
  int64_t modules = 0;    // the baseline's and a candidate's
  int64_t contexts = 0;   // of all processes
  int64_t sum() const { return exchange + reference + draws + modules + contexts; }
};
// `gpu_bytes`: of the whole GPU.
ModuleMemory module_memory(const ModuleSizes& sizes, const ModuleProblem& problem, int64_t gpu_bytes);

// Warm processes of a lane. A candidate that passes needs two: it is profiled in another process.
inline constexpr int64_t kModuleSpares = 3;
inline constexpr int64_t kModuleContexts = 2 + kModuleSpares;  // the reference's, the baseline's, candidates'

}  // namespace temper::env
