#include "rollout/traces/unjudged.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "base/machine/cores.h"
#include "base/rng.h"
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

// work(0) … work(count - 1), on all cores.
template <class Work>
void on_all_cores(size_t count, const Work& work) {
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < std::min(count, allowed_cores().size()); ++i)
    threads.emplace_back([&] {
      for (size_t k = next++; k < count; k = next++) work(k);
    });
}

}  // namespace

UnjudgedExamples make_unjudged_examples(const TraceOptions& options, const std::vector<Task>& tasks,
                                        uint64_t seed) {
  UnjudgedExamples examples;
  examples.tasks = generate_tasks(tasks, options.unjudged, mix_key({seed, kStream}));
  std::vector<std::string> answers(examples.tasks.size());
  on_all_cores(answers.size(), [&](size_t k) {
    answers[k] = right_answer(examples.tasks[k], options.slow_rate, Rng{seed, k, kStream});
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
