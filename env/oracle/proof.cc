#include "env/oracle/proof.h"

#include <fmt/ranges.h>

#include "base/error.h"

namespace temper {

void for_each_task(size_t count, const std::function<void(size_t)>& work) {
  std::vector<std::string> problems;
  for (size_t i = 0; i < count; ++i) {
    try {
      work(i);
    } catch (const ConfigError& error) {
      problems.emplace_back(error.what());
    }
  }
  if (!problems.empty()) throw ConfigError("{}", fmt::join(problems, "\n"));
}

void check_output_sizes(const Task& task, const Shape& shape, const std::vector<at::Tensor>& outputs) {
  if (outputs.size() != task.outputs.size()) {
    throw ConfigError("task {}, reference: returns {} tensors; the task has {} outputs", task.name,
                      outputs.size(), task.outputs.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto expected = tensor_sizes(task.outputs[i], shape);
    if (outputs[i].sizes() == at::IntArrayRef(expected)) continue;
    throw ConfigError("task {}, reference: output {} is [{}]; the task says [{}]", task.name,
                      task.outputs[i].name, fmt::join(outputs[i].sizes(), ", "), fmt::join(expected, ", "));
  }
}

}  // namespace temper
