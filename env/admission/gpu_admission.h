#pragma once
// Admission of tasks for GPUs. Their trivial solvers are no candidates but outputs, held against the
// reference by the bounds of the GPU's judge (env/admission/trial/trial.h): that needs no GPU. Eager's time does.

#include "env/admission/admission.h"

namespace temper::env {

struct GpuAdmissionOptions {
  int gpu = 0;                                      // among those that are visible
  int64_t most_elements = int64_t{8} << 20;         // without a GPU: up to here the timed shape is tried
  int64_t most_elements_on_gpu = int64_t{1} << 40;  // with one: always
  int64_t mutant_draws = 0;  // draws of each shape for known short-cuts; with 0 none are tried
  bool eager = true;         // whether it is timed, where there is a GPU
  int64_t processes = 0;     // 0: one per core; on a GPU not more than some
};

// The time in microseconds that an H200 needs for the least bytes and arithmetic that the task declares at the timed shape
// of that index.
double h200_floor_us(const Task& task, size_t timed = 0);

// Errors: WorldError if a process dies.
std::vector<Admission> admit_gpu_tasks(const GpuAdmissionOptions& options, const std::vector<Task>& tasks,
                                       const AdmissionProgress& progress = {});

}  // namespace temper::env
