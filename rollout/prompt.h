#pragma once
// The user's first message: the task, and for problems in PyTorch how it is asked.
//
// Source: Ouyang et al., KernelBench, 2502.10517 (statement, example, problem, precision, instruction, in that order);
//         Dr. Kernel, 2602.05885 (Triton, several turns, kernels that take the time); Kevin, 2507.11948 (CUDA, several turns,
//         the example in the first turn alone). The words are ours.

#include <string>

#include "base/options.h"
#include "env/task/task.h"

namespace temper::rollout {

struct PromptOptions {
  // plain: Task::prompt(). The others are for problems in PyTorch, and ask other tasks as plain does.
  std::string rule = "plain";
  std::string kernels =
      "auto";  // what kernels are to be written in: cuda, triton; auto: triton for drkernel, else cuda
  void visit(OptionVisitor& v);
};

std::string task_prompt(const PromptOptions& options, const env::Task& task);

// How the task begins rows after the first (ContextOptions::rule); the same text where nothing is left out of it.
std::string later_task_prompt(const PromptOptions& options, const env::Task& task);

}  // namespace temper::rollout
