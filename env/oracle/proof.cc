#include "env/oracle/proof.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace temper::env {

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.flatten().view(at::kByte).equal(b.flatten().view(at::kByte));
}

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

void check_influence(const Task& task, const InfluenceProbe& probe) {
  std::vector<bool> matters(task.inputs.size(), false);
  for (int32_t shape = int32_t(task.check_shapes.size()); shape-- > first_shape(task);) {
    const auto one = probe.draw(shape, 0), before = probe.expected(one), other = probe.draw(shape, 1);
    for (size_t input = 0; input < one.size(); ++input) {
      if (matters[input]) continue;
      std::vector<at::Tensor> mixed = one;
      mixed[input] = other[input];
      const auto after = probe.expected(mixed);
      matters[input] = !std::equal(before.begin(), before.end(), after.begin(), same_bits);
    }
    if (std::ranges::find(matters, false) == matters.end()) return;
  }
  const auto idle = std::ranges::find(matters, false) - matters.begin();
  throw ConfigError("task {}, reference: input {} has no influence on any output", task.name,
                    task.inputs[size_t(idle)].name);
}

}  // namespace temper::env
