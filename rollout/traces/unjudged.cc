#include "rollout/traces/unjudged.h"

#include <fmt/format.h>

#include "base/rng.h"
#include "policy/ops/parallel.h"
#include "rollout/traces/generated.h"
#include "rollout/traces/recipe.h"

namespace temper {
namespace {

constexpr uint64_t kStream = 0x756E6A;

// Empty where the grammar has no right answer.
std::string right_answer(const Task& task, double slow_rate, Rng rng) {
  const Recipe recipe = write_recipe(task, rng.next());
  const auto slow = recipe.right(false), fast = recipe.right(true);
  if (slow.empty() && fast.empty()) return "";
  const auto& some = fast.empty() || (!slow.empty() && rng.uniform() < slow_rate) ? slow : fast;
  return recipe.variants[some[rng.below(some.size())]].answer;
}

}  // namespace

UnjudgedExamples make_unjudged_examples(const TraceOptions& options, const std::vector<Task>& tasks,
                                        uint64_t seed) {
  UnjudgedExamples examples;
  examples.tasks = generate_tasks(tasks, options.unjudged, mix_key({seed, kStream}));
  std::vector<std::string> answers(examples.tasks.size());
  cpu::parallel_tasks(std::ssize(answers), [&](int64_t k) {
    answers[size_t(k)] =
        right_answer(examples.tasks[size_t(k)], options.slow_rate, Rng{seed, uint64_t(k), kStream});
  });
  Verdict right;
  right.kind = VerdictKind::kPass;
  for (size_t k = 0; k < answers.size(); ++k) {
    examples.tasks[k].name = fmt::format("unjudged_{}", k);
    if (!answers[k].empty()) examples.traces.push_back({examples.tasks[k].name, {{answers[k], right}}});
  }
  return examples;
}

}  // namespace temper
