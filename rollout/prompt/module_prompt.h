#pragma once
// How problems in PyTorch are asked.
//
// Source: Ouyang et al., KernelBench, 2502.10517 (statement, example, problem, precision, instruction, in that order);
//         Dr. Kernel, 2602.05885 (Triton, several turns, kernels that take the time); Kevin, 2507.11948 (CUDA, several turns,
//         the example in the first turn alone). The words are ours.

#include <string>

#include "env/task/task.h"

namespace temper::rollout {

struct ModuleWords {
  std::string rule;        // zero_shot, one_shot, drkernel, kevin
  bool in_triton = false;  // what kernels are asked for in; else CUDA C++
};

// The whole message. `later`: as it begins rows after the first.
std::string module_prompt(const ModuleWords& words, const env::Task& task, bool later);

// How `ModelNew` has to look, in sentences.
std::string module_rules(const env::Task& task);

// "float32" of "fp32".
std::string precision_word(const std::string& precision);

}  // namespace temper::rollout
