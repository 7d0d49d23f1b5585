#pragma once
// Tasks over a few numbers, for tests in which it does not matter what is computed.

#include <string>
#include <utility>
#include <vector>

#include "env/task/task.h"

namespace temper::env {

// Each has a name and a reference over x, of n elements as its output y.
inline std::vector<Task> small_tasks(const std::vector<std::pair<std::string, std::string>>& tasks) {
  std::string text = R"(
defaults:
  family: elementwise
  inputs: {x: [n]}
  outputs: {y: [n]}
  check: [{n: 5}]
  timed: {n: 1024}
  tolerance: 1e-5
tasks:
)";
  for (const auto& [name, reference] : tasks)
    text += "  - name: " + name + "\n    reference: " + reference + "\n";
  return parse_tasks(text, "small_tasks.h");
}

}  // namespace temper::env
