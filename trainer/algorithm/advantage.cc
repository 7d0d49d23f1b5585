#include "trainer/algorithm/advantage.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "trainer/algorithm/advantage/estimators.h"

namespace temper::trainer {

using rollout::Role;

namespace {

enum class Pool { kTurn, kTask, kBatch, kOption };  // kOption: as AdvantageOptions::pool says

struct AdvantageStep {
  Pool pool;
  std::vector<double> (*estimate)(std::span<const double> returns);  // null: whitens
};

struct AdvantageRecipe {
  const char* name;
  std::vector<AdvantageStep> steps;
  int64_t least_samples = 1;  // with fewer to compare there is nothing to learn from
};

const std::vector<AdvantageRecipe>& recipes() {
  static const std::vector<AdvantageRecipe> table = {
      {"grpo", {{Pool::kOption, normalise}}, 2},
      {"dr_grpo", {{Pool::kOption, centre}}, 2},
      {"rloo", {{Pool::kOption, leave_one_out}}, 2},
      {"trloo", {{Pool::kTurn, leave_one_out}}},
      {"reinforce++", {{Pool::kBatch, nullptr}}},
      {"reinforce++_baseline", {{Pool::kOption, centre}, {Pool::kBatch, nullptr}}},
  };
  return table;
}

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const AdvantageRecipe& recipe : recipes()) names.push_back(recipe.name);
  return names;
}

const AdvantageRecipe& find_advantage(const std::string& name) {
  const auto recipe = std::ranges::find(recipes(), name, &AdvantageRecipe::name);
  TEMPER_CHECK(recipe != recipes().end(), "advantage {}", name);
  return *recipe;
}

// The kept turns, pool by pool.
std::map<std::pair<size_t, size_t>, std::vector<TurnValue*>> kept_pools(TurnValues& values, Pool pool) {
  std::map<std::pair<size_t, size_t>, std::vector<TurnValue*>> pools;
  for (size_t g = 0; g < values.size(); ++g)
    for (SampleValues& sample : values[g])
      for (size_t t = 0; t < sample.size(); ++t)
        if (sample[t].kept)
          pools[{pool == Pool::kBatch ? 0 : g, pool == Pool::kTurn ? t : 0}].push_back(&sample[t]);
  return pools;
}

void estimate_stream(const std::vector<TurnValue*>& pool, double TurnValue::*stream,
                     const AdvantageStep& step) {
  std::vector<double> returns;
  for (const TurnValue* turn : pool) returns.push_back(turn->*stream);
  const std::vector<double> advantages = step.estimate(returns);
  for (size_t i = 0; i < pool.size(); ++i) pool[i]->*stream = advantages[i];
}

// A number of some tokens, and how many they are.
struct TokenValue {
  double* value;
  int64_t count;
};

void whiten_tokens(const std::vector<TokenValue>& pool) {
  std::vector<double> values;
  std::vector<int64_t> counts;
  for (const TokenValue& one : pool) values.push_back(*one.value), counts.push_back(one.count);
  const std::vector<double> whitened = whiten(values, counts);
  for (size_t i = 0; i < pool.size(); ++i) *pool[i].value = whitened[i];
}

// Over the tokens of all kept turns; plan and code together, or `apart`.
void whiten_batch(TurnValues& values, const BatchTokens& tokens, bool apart) {
  TEMPER_CHECK_EQ(tokens.size(), values.size());
  std::vector<TokenValue> plan, code;
  for (size_t g = 0; g < values.size(); ++g)
    for (size_t n = 0; n < values[g].size(); ++n)
      for (size_t t = 0; t < values[g][n].size(); ++t) {
        TurnValue& turn = values[g][n][t];
        if (!turn.kept) continue;
        plan.push_back({&turn.plan, tokens[g].at(n).at(t).plan});
        code.push_back({&turn.code, tokens[g].at(n).at(t).code});
      }
  if (apart) whiten_tokens(plan);
  if (!apart) code.insert(code.end(), plan.begin(), plan.end());
  whiten_tokens(code);
}

void apply(const AdvantageOptions& options, const AdvantageRecipe& recipe, const BatchTokens& tokens,
           TurnValues& values) {
  const Pool option = options.pool == "task" ? Pool::kTask : Pool::kTurn;
  for (AdvantageStep step : recipe.steps) {
    if (!step.estimate && options.whiten_over == "tokens") {
      whiten_batch(values, tokens, options.name == "hrd");
      continue;
    }
    if (!step.estimate) step.estimate = normalise;
    for (const auto& [key, pool] : kept_pools(values, step.pool == Pool::kOption ? option : step.pool)) {
      estimate_stream(pool, &TurnValue::plan, step);
      estimate_stream(pool, &TurnValue::code, step);
    }
  }
}

void clear_dropped(TurnValues& values) {
  for (GroupValues& group : values)
    for (SampleValues& sample : group)
      for (TurnValue& turn : sample)
        if (!turn.kept) turn.plan = turn.code = 0;
}

// Spreads the turns' advantages over the tokens of each segment.
std::vector<RowAdvantages> spread(const rollout::Trajectory& trajectory, const SampleValues& turns,
                                  bool mask_overlong) {
  TEMPER_CHECK_EQ(trajectory.turns.size(), turns.size());
  std::vector<RowAdvantages> rows;
  for (const rollout::Segment& segment : trajectory.segments)
    rows.push_back({std::vector<float>(segment.ids.size()), std::vector<uint8_t>(segment.ids.size())});
  for (size_t i = 0; i < turns.size(); ++i) {
    const rollout::Turn& turn = trajectory.turns[i];
    if (!turns[i].kept || (mask_overlong && !turn.stopped)) continue;
    const std::vector<Role>& roles = trajectory.row_of(turn).roles;
    RowAdvantages& row = rows[size_t(turn.segment)];
    for (const rollout::Span span : turn.spans())
      for (int32_t t = span.begin; t < span.end; ++t) {
        row.advantage[t] = float(roles[t] == Role::kCode ? turns[i].code : turns[i].plan);
        row.mask[t] = rollout::is_response(roles[t]);
      }
  }
  return rows;
}

}  // namespace

void AdvantageOptions::visit(OptionVisitor& v) {
  std::vector<std::string> names = recipe_names();
  v.option("hrd_baseline", hrd_baseline,
           {.help = "hrd: estimator that normalises each of the two streams", .choices = names});
  names.insert(names.end(), {"hrd", "rft"});
  v.option("name", name,
           {.help = "advantage estimator, which decides what an answer is compared with. rft "
                    "compares with nothing: answers with a positive reward of their own are "
                    "imitated, together with loss.objective likelihood",
            .choices = names});
  v.option("pool", pool,
           {.help = "answers that are compared with each other: those of a task at the same turn, "
                    "or of a task at all turns; trloo is always per turn, reinforce++ over the "
                    "batch",
            .choices = {"turn", "task"}});
  v.option("whiten_over", whiten_over,
           {.help = "reinforce++: take mean and deviation over the batch's tokens, as in published "
                    "code, or over its turns regardless of their lengths",
            .choices = {"tokens", "turns"}});
  v.option("plan_weight", plan_weight,
           {.help = "hrd: weight of the plan's advantage relative to the code's", .min = 0});
}

int64_t least_samples(const AdvantageOptions& options) {
  const auto recipe = std::ranges::find(recipes(), options.name, &AdvantageRecipe::name);
  return recipe == recipes().end() ? 1 : recipe->least_samples;
}

bool imitates(const AdvantageOptions& options) { return options.name == "rft"; }

BatchTokens count_tokens(const rollout::Batch& batch) {
  BatchTokens tokens;
  for (const rollout::Group& group : batch.groups) {
    auto& samples = tokens.emplace_back();
    for (const rollout::Trajectory& trajectory : group.samples) {
      auto& turns = samples.emplace_back();
      for (const rollout::Turn& turn : trajectory.turns) {
        TurnTokens& count = turns.emplace_back();
        const std::vector<Role>& roles = trajectory.row_of(turn).roles;
        for (const rollout::Span span : turn.spans())
          for (int32_t t = span.begin; t < span.end; ++t)
            if (rollout::is_response(roles[size_t(t)]))
              ++(roles[size_t(t)] == Role::kCode ? count.code : count.plan);
      }
    }
  }
  return tokens;
}

TurnValues compute_advantages(const AdvantageOptions& options, const TurnValues& returns,
                              const BatchTokens& tokens) {
  TurnValues advantages = returns;
  if (imitates(options)) {
    keep_positive(advantages);
    clear_dropped(advantages);
    return advantages;
  }
  const bool hierarchical = options.name == "hrd";
  const AdvantageRecipe& recipe = find_advantage(hierarchical ? options.hrd_baseline : options.name);
  apply(options, recipe, tokens, advantages);
  if (hierarchical) weigh_plan(tokens, options.plan_weight, advantages);
  clear_dropped(advantages);
  return advantages;
}

bool has_signal(const GroupValues& returns) {
  TurnValues one = {returns};
  for (const auto& [key, pool] : kept_pools(one, Pool::kTurn))
    for (const TurnValue* turn : pool)
      if (turn->plan != pool[0]->plan || turn->code != pool[0]->code) return true;
  return false;
}

TokenAdvantages spread_over_tokens(const rollout::Batch& batch, const TurnValues& advantages,
                                   bool mask_overlong) {
  TEMPER_CHECK_EQ(batch.groups.size(), advantages.size());
  TokenAdvantages rows;
  for (size_t g = 0; g < batch.groups.size(); ++g) {
    TEMPER_CHECK_EQ(batch.groups[g].samples.size(), advantages[g].size());
    for (size_t n = 0; n < advantages[g].size(); ++n)
      for (RowAdvantages& row : spread(batch.groups[g].samples[n], advantages[g][n], mask_overlong))
        rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace temper::trainer
