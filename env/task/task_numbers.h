#pragma once
// Tasks for programs outside this one: each dimension and each scale is a number there.
//
//   [{"name", "digest", "reference", "tolerance", "timed": CASE, "checks": [CASE, …]}, …]
//   CASE: {"shape": {"n": 256}, "inputs": [TENSOR, …], "outputs": [TENSOR, …]}
//   TENSOR: {"name", "type": "f32", "sizes": [256]}, of inputs with one of "normal": deviation,
//     "uniform": [low, high], "distinct": [low, high], "below": n, and "nonfinite"
//
// A task that is timed at several shapes also has "further_timed": [CASE, …], those behind the first.
// Normal inputs are of the task's first magnitude.

#include <string>
#include <vector>

#include "env/task/task.h"

namespace temper::env {

std::string tasks_in_numbers(const std::vector<Task>& tasks);  // JSON text

}  // namespace temper::env
