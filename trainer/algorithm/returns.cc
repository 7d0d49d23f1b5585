#include "trainer/algorithm/returns.h"

#include <algorithm>

#include "base/error.h"

namespace temper::trainer {
namespace {

// f on both streams; known where both operands are.
template <class F>
TurnValue combine(const TurnValue& a, const TurnValue& b, F f) {
  return {.plan = f(a.plan, b.plan), .code = f(a.code, b.code), .kept = a.kept && b.kept};
}

// From the last turn backwards: returns[t] = f(rewards[t], γ·returns[t + 1]). γ = 0 leaves the future out.
template <class F>
SampleValues fold_future(const SampleValues& rewards, double discount, F f) {
  SampleValues returns = rewards;
  if (discount == 0) return returns;
  for (size_t t = rewards.size(); t-- > 1;)
    returns[t - 1] = combine(rewards[t - 1], returns[t],
                             [&](double now, double later) { return f(now, discount * later); });
  return returns;
}

// Source:  Kevin, 2507.11948 (γ = 0.4); Dr. Kernel, 2602.05885 (γ = 1): G_t = Σ_{i ≥ t} γ^(i − t) R_i
SampleValues sum(const SampleValues& rewards, double discount) {
  return fold_future(rewards, discount, [](double now, double later) { return now + later; });
}

// Source:  Kevin, the alternative: G_t = max_{i ≥ t} γ^(i − t) R_i
SampleValues max(const SampleValues& rewards, double discount) {
  return fold_future(rewards, discount, [](double now, double later) { return std::max(now, later); });
}

// G_t = γ^(M − t) R_M: only where the conversation ends counts.
SampleValues last(const SampleValues& rewards, double discount) {
  SampleValues returns = rewards;
  for (size_t t = rewards.size(); t-- > 1;)
    returns[t - 1] = combine(rewards[t - 1], returns[t], [&](double, double end) { return discount * end; });
  return returns;
}

// G_t = Σ_{i ≥ t} γ^(i − t) (B_i − B_{i−1}), B_i the best reward up to turn i, B_0 = 0: a turn is credited
// with what it and later turns improve on what was there; a worse answer costs nothing.
SampleValues best_so_far(const SampleValues& rewards, double discount) {
  SampleValues gains = rewards;
  for (size_t t = 1; t < rewards.size(); ++t) {
    const TurnValue& before = gains[t - 1];
    gains[t] = combine(before, rewards[t], [](double best, double now) { return std::max(best, now); });
  }
  for (size_t t = rewards.size(); t-- > 1;)
    gains[t] = combine(gains[t], gains[t - 1], [](double best, double before) { return best - before; });
  return sum(gains, discount);
}

// Source:  CUDA Agent, 2602.24286: the best answer of a trajectory is what counts, whichever turn gave it:
//            G_t = max_i R_i over all turns, for every t; γ counts for nothing
SampleValues trajectory_max(const SampleValues& rewards, double) {
  if (rewards.empty()) return {};
  TurnValue best = rewards.front();
  for (const TurnValue& turn : rewards)
    best = combine(best, turn, [](double a, double b) { return std::max(a, b); });
  return SampleValues(rewards.size(), best);
}

struct ReturnRecipe {
  const char* name;
  SampleValues (*function)(const SampleValues& rewards, double discount);
};
constexpr ReturnRecipe kReturnRecipes[] = {{"sum", sum},
                                           {"max", max},
                                           {"last", last},
                                           {"best_so_far", best_so_far},
                                           {"trajectory_max", trajectory_max}};

}  // namespace

void ReturnOptions::visit(OptionVisitor& v) {
  std::vector<std::string> names;
  for (const ReturnRecipe& recipe : kReturnRecipes) names.push_back(recipe.name);
  v.option("name", name,
           {.help = "how rewards of several turns make a turn's return. sum, max, last: of its own "
                    "reward and those of later turns; best_so_far: by how much each turn improves "
                    "on the best before it; trajectory_max: the best of all turns, including "
                    "earlier ones",
            .choices = names});
  v.option("discount", discount, {.help = "weight of the next turn's return", .min = 0, .max = 1});
}

SampleValues sample_returns(const ReturnOptions& options, const SampleValues& rewards) {
  const auto* recipe = std::ranges::find(kReturnRecipes, options.name, &ReturnRecipe::name);
  TEMPER_CHECK(recipe != std::end(kReturnRecipes), "return {}", options.name);
  return recipe->function(rewards, options.discount);
}

TurnValues compute_returns(const ReturnOptions& options, const TurnValues& rewards) {
  TurnValues returns;
  for (const GroupValues& group : rewards) {
    GroupValues& samples = returns.emplace_back();
    for (const SampleValues& sample : group) samples.push_back(sample_returns(options, sample));
  }
  return returns;
}

}  // namespace temper::trainer
