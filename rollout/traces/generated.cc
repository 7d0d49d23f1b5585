#include "rollout/traces/generated.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/rng.h"
#include "rollout/traces/reference.h"
#include "rollout/traces/variation.h"

namespace temper {
namespace {

constexpr size_t kInputs = 5;  // at most

std::string canonical_or_empty(const Task& task) {
  try {
    return canonical_reference(task.reference);
  } catch (const ConfigError&) {
    return "";
  }
}

}  // namespace

std::vector<Task> generate_tasks(const std::vector<Task>& tasks, int64_t count, uint64_t seed) {
  std::set<std::string> taken;
  std::vector<const Task*> parents;
  for (const auto& task : tasks) {
    taken.insert(canonical_or_empty(task));
    if (task.split == "train" && can_vary(task)) parents.push_back(&task);
  }
  std::vector<Task> generated;
  Rng rng{seed, 0x67656E};
  for (int64_t attempt = 0; attempt < 20 * count && int64_t(generated.size()) < count && !parents.empty();
       ++attempt) {
    Task task = vary(*parents[size_t(attempt) % parents.size()], rng);
    if (task.inputs.size() > kInputs || !can_vary(task)) continue;
    if (!taken.insert(canonical_reference(task.reference)).second) continue;
    task.name = fmt::format("gen_{}", generated.size());
    task.split = kTracesSplit;
    generated.push_back(std::move(task));
  }
  return generated;
}

}  // namespace temper
