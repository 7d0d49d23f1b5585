#include "rollout/traces.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/rng.h"
#include "rollout/traces/generated.h"
#include "rollout/traces/recipe.h"

namespace temper {
namespace {

constexpr double kMainWay = 0.6;  // of slow answers, the commonest

std::vector<Recipe> write_recipes(const std::vector<Task>& tasks, uint64_t seed) {
  std::vector<Recipe> recipes;
  for (size_t k = 0; k < tasks.size(); ++k) {
    if (tasks[k].split == "heldout") continue;
    auto recipe = write_recipe(tasks[k], mix_key({seed, k}));
    if (!recipe.variants.empty()) recipes.push_back(std::move(recipe));
  }
  return recipes;
}

void judge_all(std::vector<Recipe>& recipes, Judge& judge,
               const std::function<void(int64_t, int64_t)>& progress) {
  std::map<Ticket, Variant*> waiting;
  for (auto& recipe : recipes) {
    for (auto& variant : recipe.variants) waiting[judge.submit(recipe.task, variant.source)] = &variant;
  }
  const auto all = int64_t(waiting.size());
  while (!waiting.empty()) {
    for (auto& [ticket, verdict] : judge.poll(std::chrono::milliseconds(200))) {
      const auto it = waiting.find(ticket);
      if (it == waiting.end()) continue;
      it->second->verdict = std::move(verdict);
      waiting.erase(it);
    }
    if (progress) progress(all - int64_t(waiting.size()), all);
  }
}

// Draws conversations about one task.
class Storyteller {
 public:
  Storyteller(const TraceOptions& options, const Recipe& recipe)
      : options_(options),
        recipe_(recipe),
        slow_(recipe.usable_right(false)),
        fast_(recipe.usable_right(true)),
        habits_(recipe.usable(Variant::Kind::kHabit)),
        slips_(recipe.usable(Variant::Kind::kSlip)) {}

  std::optional<Trace> tell(Rng rng) const {
    if (slow_.empty() && fast_.empty()) return std::nullopt;
    if (!habits_.empty() && rng.uniform() < options_.habit_rate) return habitual(rng);
    if (!slips_.empty() && rng.uniform() < options_.slip_rate) {
      return repaired({slips_[rng.below(slips_.size())]});
    }
    return right(rng);
  }

 private:
  // In the slow way or the fast one; sometimes again in the other before the repair.
  std::optional<Trace> habitual(Rng& rng) const {
    const bool slow = rng.uniform() < options_.slow_rate;
    const size_t first = slow ? habits_.front() : habits_.back();
    const size_t other = slow ? habits_.back() : habits_.front();
    if (other == first || rng.uniform() >= options_.persist_rate) return repaired({first});
    return repaired({first, other});
  }

  std::optional<Trace> repaired(std::vector<size_t> mistakes) const {
    const size_t repair = recipe_.variants[mistakes.back()].repair;
    if (!recipe_.variants[repair].usable()) return std::nullopt;
    mistakes.push_back(repair);
    return trace(mistakes);
  }

  Trace right(Rng& rng) const {
    const bool slow = fast_.empty() || (!slow_.empty() && rng.uniform() < options_.slow_rate);
    const size_t first = slow ? main_or_other(slow_, rng) : fast_[rng.below(fast_.size())];
    if (slow && !fast_.empty() && rng.uniform() < options_.improve_rate) return trace({first, fast_[0]});
    return trace({first});
  }

  static size_t main_or_other(const std::vector<size_t>& slow, Rng& rng) {
    if (slow.size() == 1 || rng.uniform() < kMainWay) return slow[0];
    return slow[1 + rng.below(slow.size() - 1)];
  }

  Trace trace(const std::vector<size_t>& indices) const {
    Trace told{recipe_.task, {}};
    for (const size_t k : indices)
      told.turns.push_back({recipe_.variants[k].answer, recipe_.variants[k].verdict});
    return told;
  }

  const TraceOptions& options_;
  const Recipe& recipe_;
  std::vector<size_t> slow_, fast_, habits_, slips_;
};

}  // namespace

void TraceOptions::visit(OptionVisitor& v) {
  v.option("conversations", conversations, {.help = "conversations of the cold start", .min = 1});
  v.option("generated", generated, {.help = "tasks varied from the train tasks, for traces only", .min = 0});
  v.option("habit_rate", habit_rate,
           {.help = "first answers with the mistakes that their task invites", .min = 0, .max = 1});
  v.option("slip_rate", slip_rate, {.help = "other first answers with one mistake", .min = 0, .max = 1});
  v.option("slow_rate", slow_rate, {.help = "answers written the slow way", .min = 0, .max = 1});
  v.option("persist_rate", persist_rate,
           {.help = "habitual mistakes that survive the first attempt at a repair", .min = 0, .max = 1});
  v.option("improve_rate", improve_rate,
           {.help = "slow right answers that a fast one follows", .min = 0, .max = 1});
}

std::vector<Task> with_trace_tasks(const TraceOptions& options, std::vector<Task> tasks, uint64_t seed) {
  for (auto& task : generate_tasks(tasks, options.generated, seed)) tasks.push_back(std::move(task));
  return tasks;
}

std::vector<Trace> make_traces(const TraceOptions& options, Judge& judge, uint64_t seed,
                               const std::function<void(int64_t, int64_t)>& progress) {
  auto recipes = write_recipes(judge.tasks(), seed);
  judge_all(recipes, judge, progress);
  std::vector<Trace> traces;
  if (recipes.empty()) return traces;
  for (int64_t k = 0; k < options.conversations; ++k) {
    const Storyteller storyteller(options, recipes[size_t(k) % recipes.size()]);
    if (auto trace = storyteller.tell(Rng{seed, uint64_t(k), 0x7461})) traces.push_back(std::move(*trace));
  }
  return traces;
}

}  // namespace temper
