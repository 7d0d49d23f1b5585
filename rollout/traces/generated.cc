#include "rollout/traces/generated.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/rng.h"
#include "rollout/traces/reference.h"
#include "rollout/traces/variation.h"

namespace temper::traces {

using env::Task;

namespace {

constexpr size_t kInputs = 5;  // at most

// New names of inputs by type and shape, numbered among their like in the order given.
std::map<std::string, std::string> names_in_order(const std::vector<env::TensorSpec>& inputs,
                                                  const std::vector<size_t>& order) {
  std::map<std::string, std::string> names;
  std::map<std::string, int> alike;
  for (const size_t k : order) {
    const auto kind = fmt::format("{}[{}]", int(inputs[k].type), fmt::join(inputs[k].shape, ","));
    names[inputs[k].name] = fmt::format("{}#{}", kind, alike[kind]++);
  }
  return names;
}

}  // namespace

std::string canonical_task(const Task& task) {
  std::vector<size_t> order(task.inputs.size());
  std::iota(order.begin(), order.end(), 0);
  std::set<std::map<std::string, std::string>> tried;
  std::string least;
  try {
    do {
      const auto names = names_in_order(task.inputs, order);
      if (!tried.insert(names).second) continue;
      const auto canonical = canonical_reference(task.reference, names);
      if (least.empty() || canonical < least) least = canonical;
    } while (std::next_permutation(order.begin(), order.end()));
  } catch (const ConfigError&) {
  }
  return least;
}

std::vector<Task> generate_tasks(const std::vector<Task>& tasks, int64_t count, uint64_t seed) {
  std::set<std::string> taken;
  std::vector<const Task*> parents;
  for (const auto& task : tasks) {
    taken.insert(canonical_task(task));
    if (task.split == env::Split::kTrain && can_vary(task)) parents.push_back(&task);
  }
  std::vector<Task> generated;
  Rng rng{seed, 0x67656E};
  for (int64_t attempt = 0; attempt < 20 * count && int64_t(generated.size()) < count && !parents.empty();
       ++attempt) {
    Task task = vary(*parents[size_t(attempt) % parents.size()], rng);
    if (task.inputs.size() > kInputs || !can_vary(task)) continue;
    if (!taken.insert(canonical_task(task)).second) continue;
    task.name = fmt::format("gen_{}", generated.size());
    task.split = env::Split::kGenerated;
    generated.push_back(std::move(task));
  }
  return generated;
}

}  // namespace temper::traces
