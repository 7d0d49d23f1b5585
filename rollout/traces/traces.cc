#include "rollout/traces/traces.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/input/json.h"
#include "base/process.h"
#include "base/rng.h"
#include "policy/ranks/activity.h"
#include "rollout/traces/generated.h"
#include "rollout/traces/recipe.h"

namespace temper::traces {
namespace {

constexpr double kMainWay = 0.6;  // share of slow answers that are written in the most common way

std::vector<Recipe> write_recipes(const std::vector<env::Task>& tasks, uint64_t seed) {
  std::vector<Recipe> recipes;
  for (size_t k = 0; k < tasks.size(); ++k) {
    if (tasks[k].held_out()) continue;
    auto recipe = write_recipe(tasks[k], mix_key({seed, k}));
    if (!recipe.variants.empty()) recipes.push_back(std::move(recipe));
  }
  return recipes;
}

// A conversation before it has been judged: the variants of a recipe, one a turn.
struct Story {
  size_t recipe;
  std::vector<size_t> variants;
};

// Draws conversations about one task.
class Storyteller {
 public:
  Storyteller(const TraceOptions& options, const Recipe& recipe)
      : options_(options),
        recipe_(recipe),
        slow_(recipe.right(false)),
        fast_(recipe.right(true)),
        habits_(recipe.of_kind(Variant::Kind::kHabit)),
        slips_(recipe.of_kind(Variant::Kind::kSlip)) {}

  // The variants, one a turn.
  std::vector<size_t> tell(Rng rng) const {
    if (!habits_.empty() && rng.uniform() < options_.habit_rate) return habitual(rng);
    if (!slips_.empty() && rng.uniform() < options_.slip_rate) {
      return repaired({slips_[rng.below(slips_.size())]});
    }
    return right(rng);
  }

 private:
  // In the slow way or the fast one; sometimes again in the other before the repair.
  std::vector<size_t> habitual(Rng& rng) const {
    const bool slow = rng.uniform() < options_.slow_rate;
    const size_t first = slow ? habits_.front() : habits_.back();
    const size_t other = slow ? habits_.back() : habits_.front();
    if (other == first || rng.uniform() >= options_.persist_rate) return repaired({first});
    return repaired({first, other});
  }

  std::vector<size_t> repaired(std::vector<size_t> mistakes) const {
    mistakes.push_back(recipe_.variants[mistakes.back()].repair);
    return mistakes;
  }

  std::vector<size_t> right(Rng& rng) const {
    const bool slow = fast_.empty() || (!slow_.empty() && rng.uniform() < options_.slow_rate);
    const size_t first = slow ? main_or_other(slow_, rng) : fast_[rng.below(fast_.size())];
    if (fast_.empty() || rng.uniform() >= options_.improve_rate) return {first};
    return {first, slow ? fast_way(fast_, options_.other_rate, rng) : first};
  }

  static size_t main_or_other(const std::vector<size_t>& slow, Rng& rng) {
    if (slow.size() == 1 || rng.uniform() < kMainWay) return slow[0];
    return slow[1 + rng.below(slow.size() - 1)];
  }

  const TraceOptions& options_;
  const Recipe& recipe_;
  std::vector<size_t> slow_, fast_, habits_, slips_;
};

std::vector<Story> tell_all(const TraceOptions& options, const std::vector<Recipe>& recipes, uint64_t seed) {
  std::vector<Story> stories;
  for (int64_t k = 0; k < options.conversations && !recipes.empty(); ++k) {
    const size_t chosen = size_t(k) % recipes.size();
    const Storyteller storyteller(options, recipes[chosen]);
    stories.push_back({chosen, storyteller.tell(Rng{seed, uint64_t(k), 0x7461})});
  }
  return stories;
}

// Those variants that a conversation needs, once each, in the order of the stories.
std::vector<Variant*> told_variants(const std::vector<Story>& stories, std::vector<Recipe>& recipes,
                                    std::vector<const Recipe*>& its_recipe) {
  std::set<Variant*> seen;
  std::vector<Variant*> told;
  for (const auto& story : stories) {
    auto& recipe = recipes[story.recipe];
    for (const size_t k : story.variants) {
      if (!seen.insert(&recipe.variants[k]).second) continue;
      told.push_back(&recipe.variants[k]);
      its_recipe.push_back(&recipe);
    }
  }
  return told;
}

// Every rank's verdicts to all: variant k was judged by rank k mod size.
void exchange_verdicts(const std::vector<Variant*>& told, policy::Communicator& ranks) {
  if (ranks.size() == 1) return;
  nlohmann::json mine = nlohmann::json::array();
  for (size_t k = size_t(ranks.rank()); k < told.size(); k += size_t(ranks.size()))
    mine.push_back(told[k]->verdict);
  std::string bytes;
  nlohmann::json::to_cbor(mine, bytes);
  const auto all = ranks.all_gather(bytes, "corpus");
  for (size_t rank = 0; rank < all.size(); ++rank) {
    size_t k = rank;
    const auto verdicts =
        parse_cbor(all[rank], "verdicts of a rank", {.bytes = UINT64_MAX, .depth = 8, .values = INT64_MAX});
    for (const auto& verdict : verdicts) {
      verdict.get_to(told.at(k)->verdict);
      k += all.size();
    }
  }
}

void judge_told(const std::vector<Story>& stories, std::vector<Recipe>& recipes, env::Judge& judge,
                const std::function<void(int64_t, int64_t)>& progress, policy::Communicator& ranks) {
  std::vector<const Recipe*> its_recipe;
  const auto told = told_variants(stories, recipes, its_recipe);
  std::map<env::Ticket, Variant*> waiting;
  for (size_t k = size_t(ranks.rank()); k < told.size(); k += size_t(ranks.size()))
    waiting[judge.submit(its_recipe[k]->task, told[k]->source)] = told[k];
  const auto all = int64_t(waiting.size());
  const policy::Phase phase("judging");
  while (!waiting.empty() && !interrupted()) {
    for (auto& [ticket, verdict] : judge.poll(std::chrono::milliseconds(200))) {
      const auto it = waiting.find(ticket);
      if (it == waiting.end()) continue;
      it->second->verdict = std::move(verdict);
      it->second->verdict.naive.reset();  // whatever is learned from later, examples are the full judge's
      waiting.erase(it);
      policy::made_progress();
    }
    if (progress) progress(all - int64_t(waiting.size()), all);
  }
  exchange_verdicts(told, ranks);
}

std::optional<Trace> written(const Story& story, const Recipe& recipe) {
  Trace trace{recipe.task, {}};
  for (const size_t k : story.variants) {
    const auto& variant = recipe.variants[k];
    if (!variant.usable()) return std::nullopt;
    trace.turns.push_back({variant.answer, variant.verdict});
  }
  return trace;
}

}  // namespace

void TraceOptions::visit(OptionVisitor& v) {
  v.option("conversations", conversations, {.help = "conversations of the cold start", .min = 1});
  v.option("generated", generated,
           {.help = "tasks generated by varying the train tasks, used for traces only", .min = 0});
  v.option("unjudged", unjudged,
           {.help = "further generated tasks, whose right answers are learned without being judged",
            .min = 0,
            .max = 1'000'000});
  v.option(
      "habit_rate", habit_rate,
      {.help = "share of first answers that contain the typical mistakes of their task", .min = 0, .max = 1});
  v.option("slip_rate", slip_rate,
           {.help = "share of the other first answers that contain one mistake", .min = 0, .max = 1});
  v.option("slow_rate", slow_rate,
           {.help = "share of answers that are written in the slow way", .min = 0, .max = 1});
  v.option(
      "persist_rate", persist_rate,
      {.help = "share of typical mistakes that survive the first attempt at a repair", .min = 0, .max = 1});
  v.option("improve_rate", improve_rate,
           {.help = "share of right answers that are followed by a faster one", .min = 0, .max = 1});
  v.option("other_rate", other_rate,
           {.help = "share of fast answers written in any of the fast ways, which leaves it to "
                    "reinforcement learning to find the fastest; the others are written in the most "
                    "common one",
            .min = 0,
            .max = 1});
}

std::vector<env::Task> with_trace_tasks(const TraceOptions& options, std::vector<env::Task> tasks,
                                        uint64_t seed) {
  for (auto& task : generate_tasks(tasks, options.generated, seed)) tasks.push_back(std::move(task));
  return tasks;
}

std::vector<Trace> make_traces(const TraceOptions& options, env::Judge& judge, uint64_t seed,
                               const std::function<void(int64_t, int64_t)>& progress,
                               policy::Communicator& ranks) {
  const policy::Phase phase("corpus");
  auto recipes = write_recipes(judge.tasks(), seed);
  const auto stories = tell_all(options, recipes, seed);
  judge_told(stories, recipes, judge, progress, ranks);
  std::vector<Trace> traces;
  for (const auto& story : stories) {
    if (auto trace = written(story, recipes[story.recipe])) traces.push_back(std::move(*trace));
  }
  return traces;
}

}  // namespace temper::traces
