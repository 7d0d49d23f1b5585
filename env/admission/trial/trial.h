#pragma once
// Tries on its reference whether a task is fair: the reference must run and agree with itself in double precision,
// every input must matter, and the judge's bounds must tell trivial outputs from right ones.

#include <cstdint>
#include <string>
#include <vector>

#include "env/admission/trial/mutant_trial.h"
#include "env/admission/trial/trial_draws.h"
#include "env/oracle/reference.h"
#include "env/task/task.h"

namespace temper::env {

struct TrialOptions {
  Drawer drawer = drawer_on(at::kCPU);  // tries tasks where it draws
  // A timed shape is tried like the check shapes where inputs and outputs have no more elements together;
  // larger, its sizes alone are looked at, if they can be had without computing.
  int64_t most_elements = 0;
  // The number of draws of each shape on which known short-cuts (mutants.h) are tried; with 0 they are not tried.
  int64_t mutant_draws = 0;
};

struct TrialResult {
  std::vector<std::string> problems;  // empty: fair
  double allowed = 0;                 // the largest relative error that any shape lets pass
  bool timed = false;                 // whether each timed shape was tried
  std::vector<MutantFate> mutants;    // of TrialOptions::mutant_draws
};

// Errors: none for the task's sake; WorldError, or torch's own, where memory does not suffice.
TrialResult try_task(const Task& task, const TrialOptions& options);

}  // namespace temper::env
