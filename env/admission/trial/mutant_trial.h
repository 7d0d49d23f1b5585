#pragma once
// Whether a task's draws refuse known short-cuts.

#include <cstdint>
#include <vector>

#include "env/admission/mutant_fate.h"
#include "env/task/task.h"

namespace temper::env {

class TrialCases;

// Each mutant on up to `draws` draws of all check shapes together, and, where `timed`, of all timed shapes together.
// What computes the same bits as the reference, on draws far beyond what a judge draws too, is no short-cut
// and is left out; so is what fails to run. Errors: ConfigError as TrialCases.
std::vector<MutantFate> try_mutants(const Task& task, TrialCases& cases, int64_t draws, bool timed);

}  // namespace temper::env
