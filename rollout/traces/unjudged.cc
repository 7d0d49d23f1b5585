#include "rollout/traces/unjudged.h"

#include <fmt/format.h>

#include "base/rng.h"
#include "policy/ops/cpu/parallel.h"
#include "rollout/traces/generated.h"
#include "rollout/traces/recipe.h"

namespace temper::traces {
namespace {

constexpr uint64_t kStream = 0x756E6A;
// Shares of right answers with a second one, which costs as much as two. Improving is learned from few; an
// answer kept word for word is copied from far back, positions that little else teaches.
constexpr double kImproved = 0.25, kKept = 0.5;

// Verdicts of right answers that a fast one followed: of those that were none themselves, of those that were.
struct Praise {
  std::vector<env::Verdict> slow, fast;
};

Praise praise_among(const std::vector<Trace>& judged) {
  Praise praise;
  for (const Trace& trace : judged) {
    if (trace.turns.size() != 2 || !trace.turns[0].verdict.pass()) continue;
    const bool fast = trace.turns[0].answer == trace.turns[1].answer;
    (fast ? praise.fast : praise.slow).push_back(trace.turns[0].verdict);
  }
  return praise;
}

// Empty where the grammar has no right answer.
std::vector<TraceTurn> right_answers(const env::Task& task, const TraceOptions& options, const Praise& praise,
                                     Rng rng) {
  const Recipe recipe = write_recipe(task, rng.next(), options.other_rate > 0);
  const auto slow_ones = recipe.right(false), fast_ones = recipe.right(true);
  if (slow_ones.empty() && fast_ones.empty()) return {};
  const bool slow = fast_ones.empty() || (!slow_ones.empty() && rng.uniform() < options.slow_rate);
  const size_t first = slow ? slow_ones[0] : fast_way(fast_ones, options.other_rate, rng);
  env::Verdict right;
  right.kind = env::VerdictKind::kPass;
  std::vector<TraceTurn> turns{{recipe.variants[first].answer, right}};
  const auto& words = slow ? praise.slow : praise.fast;
  if (fast_ones.empty() || words.empty() || rng.uniform() >= (slow ? kImproved : kKept)) return turns;
  turns[0].verdict = words[rng.below(words.size())];
  const size_t second = slow ? fast_way(fast_ones, options.other_rate, rng) : first;
  turns.push_back({recipe.variants[second].answer, right});
  return turns;
}

}  // namespace

UnjudgedExamples make_unjudged_examples(const TraceOptions& options, const std::vector<env::Task>& tasks,
                                        const std::vector<Trace>& judged, uint64_t seed) {
  UnjudgedExamples examples;
  examples.tasks = generate_tasks(tasks, options.unjudged, mix_key({seed, kStream}));
  const Praise praise = praise_among(judged);
  std::vector<std::vector<TraceTurn>> answers(examples.tasks.size());
  policy::cpu::parallel_tasks(std::ssize(answers), [&](int64_t k) {
    answers[size_t(k)] =
        right_answers(examples.tasks[size_t(k)], options, praise, Rng{seed, uint64_t(k), kStream});
  });
  for (size_t k = 0; k < answers.size(); ++k) {
    examples.tasks[k].name = fmt::format("unjudged_{}", k);
    if (!answers[k].empty()) examples.traces.push_back({examples.tasks[k].name, std::move(answers[k])});
  }
  return examples;
}

}  // namespace temper::traces
