#pragma once
// A problem in the format of KernelBench: Python source with `class Model`, `get_inputs` and `get_init_inputs`. A candidate
// has a `class ModelNew` that takes the same arguments and gives the same results.
//
// Source: Ouyang et al., KernelBench, 2502.10517, and its repository at 423217d for numbers.

#include <cstdint>
#include <string>

namespace temper::env {

struct ModuleProblem {
  int64_t level = 0, id = 0;                       // KernelBench's; level 0: none
  std::string file;                                // "19_ReLU.py", the problem's name in files of results
  std::string precision = "fp32";                  // of all tensors: fp32, fp16 or bf16
  double tolerance = 1e-4;                         // of the comparable verdict, absolute and relative
  int64_t correct_trials = 5, timed_trials = 100;  // of the comparable verdict
};

// KernelBench's tolerance at a precision: 1e-4 in fp32, 1e-2 in the short ones.
inline double module_tolerance(const std::string& precision) { return precision == "fp32" ? 1e-4 : 1e-2; }

}  // namespace temper::env
