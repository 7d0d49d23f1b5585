#pragma once
// temper judge --plan: what a CUDA candidate's launcher does at each shape of its task, found without a GPU.

#include <string>

#include "trainer/app/commands/commands.h"

namespace temper::trainer {

// 0 if there is a plan for each shape, 1 with the verdict if not.
// Errors: ConfigError if the task is of another language; WorldError if there is no CUDA compiler.
int run_plan(const RunConfig& config, const env::Task& task, const std::string& source, bool json);

}  // namespace temper::trainer
