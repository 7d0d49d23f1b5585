#pragma once
// `temper judge --again RUN` judges answers again that passed.

#include <string>

#include "trainer/app/commands/commands.h"

namespace temper::trainer {

// The answers of a run's recorded trajectories that passed, the best turn of each, judged `rounds` times more
// with fresh keys; `which` as in `temper show`. Prints a line an answer and what became of them together.
// Errors: ConfigError where the run has no such trajectories, or no answer that passed.
int run_again(const std::string& run, const std::string& which, const ConfigWords& words, int64_t rounds,
              int64_t limit);

}  // namespace temper::trainer
