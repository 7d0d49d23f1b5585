#include "rollout/traces/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "rollout/traces/generated.h"
#include "rollout/traces/habit.h"
#include "rollout/traces/kernel.h"
#include "rollout/traces/styles.h"

namespace temper::traces {
namespace {

constexpr size_t kSlips = 2;

std::optional<Program> lowered(const env::Task& task) {
  try {
    return lower(task);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

Variant variant(const Program& program, Variant::Kind kind, const Style& style, size_t repair) {
  const auto source = write_kernel(program, style);
  TEMPER_CHECK(source.has_value(), "task {}", program.task->name);
  return {.kind = kind,
          .fast = style.fast,
          .repair = repair,
          .answer =
              fmt::format("{}\n```{}\n{}```", plan_sentence(program, style), program.task->language, *source),
          .source = *source,
          .verdict = {}};
}

Style with(Style style, const Defects& defects) {
  style.defects = defects;
  return style;
}

// The commonest slow way and the first fast one.
std::vector<Style> two_ways(const std::vector<Style>& all) {
  std::vector<Style> two = {all.front()};
  for (const auto& style : all) {
    if (style.fast && two.size() < 2) two.push_back(style);
  }
  return two;
}

}  // namespace

std::vector<size_t> Recipe::of_kind(Variant::Kind kind) const {
  std::vector<size_t> found;
  for (size_t k = 0; k < variants.size(); ++k) {
    if (variants[k].kind == kind) found.push_back(k);
  }
  return found;
}

std::vector<size_t> Recipe::right(bool fast) const {
  auto found = of_kind(Variant::Kind::kRight);
  std::erase_if(found, [&](size_t k) { return variants[k].fast != fast; });
  return found;
}

size_t fast_way(const std::vector<size_t>& fast, double other_rate, Rng& rng) {
  return fast[other_rate > 0 && rng.uniform() < other_rate ? rng.below(fast.size()) : 0];
}

Recipe write_recipe(const env::Task& task, uint64_t seed, bool all_ways) {
  Recipe recipe{task.name, {}};
  const auto program = lowered(task);
  if (!program) return recipe;
  const bool generated = task.generated();
  const auto all = generated && !all_ways ? two_ways(styles(*program)) : styles(*program);
  for (const auto& style : all) {
    recipe.variants.push_back(variant(*program, Variant::Kind::kRight, style, recipe.variants.size()));
  }
  const size_t first_fast = size_t(std::ranges::find_if(all, &Style::fast) - all.begin());
  bool invited = false;
  for (size_t k = 0; k < all.size(); ++k) {
    const auto defects = habits(*program, all[k]);
    if (defects.none() || (k > 0 && (!all[k].fast || all[k].restricted))) continue;
    if (program->on_gpu() && k > first_fast) continue;
    recipe.variants.push_back(variant(*program, Variant::Kind::kHabit, with(all[k], defects), k));
    invited = true;
  }
  Rng rng{seed};
  const size_t count = generated ? (invited ? 0 : 1) : kSlips;
  const auto slip_in = [&](size_t k) {
    for (const auto& defects : slips(*program, all[k], count, rng)) {
      recipe.variants.push_back(variant(*program, Variant::Kind::kSlip, with(all[k], defects), k));
    }
  };
  // On a GPU most that can go wrong does so in the fast ways.
  const bool either = program->on_gpu() && first_fast < all.size();
  if (!either || !generated || rng.below(2) == 0) slip_in(0);
  if (either && (!generated || recipe.of_kind(Variant::Kind::kSlip).empty())) slip_in(first_fast);
  return recipe;
}

}  // namespace temper::traces
