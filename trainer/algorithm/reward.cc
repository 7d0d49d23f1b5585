#include "trainer/algorithm/reward.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace temper::trainer {

using env::Verdict;
using env::VerdictKind;

namespace {

TurnValue same(double value) { return {.plan = value, .code = value}; }

// Source:  Kevin, 2507.11948: C·(0.3 + s), s against eager
TurnValue kevin(const RewardOptions&, const Verdict& verdict) { return same(0.3 + verdict.speedup); }

// Source:  Dr. Kernel, 2602.05885: C + C·min(s, 3) + C·PR, PR the profile share | their code halves it; the
//          share counts only where there is a profile, and may be weighed
TurnValue drkernel(const RewardOptions& options, const Verdict& verdict) {
  return same(1 + std::min(verdict.speedup, 3.0) + options.profile * std::max(verdict.profile_share, 0.0));
}

// Source:  Makora, 2602.11000: σ(1 + s − 1.8), s against TorchInductor | against eager where a verdict knows
//          no time of torch.compile
TurnValue makora(const RewardOptions&, const Verdict& verdict) {
  const double s = verdict.speedup_compiled.value_or(verdict.speedup);
  return same(1 / (1 + std::exp(-(1 + s - 1.8))));
}

// Source:  CUDA Agent, 2602.24286: 1 correct, 2 more than 5 % faster than eager, 3 also than torch.compile
//          | the third tier where a verdict knows torch.compile's time
TurnValue cuda_agent(const RewardOptions&, const Verdict& verdict) {
  constexpr double kFaster = 1.05;
  if (verdict.speedup <= kFaster) return same(1);
  return same(verdict.speedup_compiled.value_or(0) > kFaster ? 3 : 2);
}

// Source:  TritonRL, 2510.17891: the plan earns C·s, the code C
TurnValue tritonrl(const RewardOptions&, const Verdict& verdict) {
  return {.plan = verdict.speedup, .code = 1};
}

double roof_score(double speedup, double baseline_us, double roof_us) {
  constexpr double kNearestBaseline = 0.95;
  const double bound = baseline_us > 0 ? std::min(roof_us / baseline_us, kNearestBaseline) : 0;
  const double beyond = std::max(1 / std::max(speedup, 1e-9) - bound, 0.0);
  return 1 / (1 + beyond / (1 - bound));
}

// Source:  SOL-ExecBench, 2603.19173: 1 / (1 + (T − T_sol) / (T_base − T_sol)), T_sol the task's bound, as a mean over the
//          timed shapes | in units of the baseline's time, so that the speedup that counts decides; a baseline at its bound
//          would make all times alike
TurnValue roof(const RewardOptions&, const Verdict& verdict) {
  if (verdict.shapes.empty()) return same(roof_score(verdict.speedup, verdict.baseline_us, verdict.roof_us));
  double sum = 0;
  for (const env::ShapeTime& at : verdict.shapes) sum += roof_score(at.speedup, at.baseline_us, at.roof_us);
  return same(sum / double(verdict.shapes.size()));
}

// a + b·log s, the logarithm clipped: halving the time is worth the same at every speed, and with the lower
// end of its interval as s noise earns nothing. a + b·floor is at least what a wrong answer earns.
TurnValue log_speedup(const RewardOptions& options, const Verdict& verdict) {
  const double gain = std::log(std::max(verdict.speedup, 1e-9));
  return same(options.base + options.slope * std::clamp(gain, options.log_floor, options.log_ceiling));
}

struct RewardRecipe {
  const char* name;
  double failure;
  TurnValue (*pass)(const RewardOptions&, const Verdict&);
};
constexpr RewardRecipe kRewardRecipes[] = {
    {"kevin", 0, kevin},       {"drkernel", 0, drkernel},
    {"makora", 0, makora},     {"cuda_agent", -1, cuda_agent},
    {"tritonrl", 0, tritonrl}, {"log_speedup", 0, log_speedup},
    {"roof", 0, roof},
};

const RewardRecipe& find_reward(const std::string& name) {
  const auto* recipe = std::ranges::find(kRewardRecipes, name, &RewardRecipe::name);
  TEMPER_CHECK(recipe != std::end(kRewardRecipes), "reward {}", name);
  return *recipe;
}

// Replaces the speedups, of all and of each timed shape, by those that count. The speedup against torch.compile is scaled
// by the same ratio.
Verdict counted(const RewardOptions& options, Verdict verdict) {
  const double speedup = counted_speedup(options, verdict);
  if (verdict.speedup_compiled && verdict.speedup > 0) *verdict.speedup_compiled *= speedup / verdict.speedup;
  verdict.speedup = speedup;
  for (env::ShapeTime& at : verdict.shapes)
    if (options.lower_end) at.speedup = at.speedup_low;
  return verdict;
}

double partial_credit(const RewardOptions& options, VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kFailCompile:
    case VerdictKind::kFailPlan:
      return options.parse_credit;
    case VerdictKind::kFailRuntime:
    case VerdictKind::kFailTimeout:
    case VerdictKind::kFailIncorrect:
    case VerdictKind::kFailNondet:
      return options.compile_credit;
    default:
      return 0;
  }
}

}  // namespace

void RewardOptions::visit(OptionVisitor& v) {
  std::vector<std::string> names;
  for (const RewardRecipe& recipe : kRewardRecipes) names.push_back(recipe.name);
  v.option("name", name, {.help = "reward function of a judged answer", .choices = names});
  v.option("lower_end", lower_end,
           {.help = "reward, and fast_p, use the lower end of the speedup's 95 % interval, so that "
                    "measurement noise earns nothing; false uses its center"});
  v.option("parse_credit", parse_credit,
           {.help = "reward of an answer that parses but does not compile", .min = 0});
  v.option("compile_credit", compile_credit,
           {.help = "reward of an answer that compiles but is not right", .min = 0});
  v.option("profile", profile,
           {.help = "drkernel: reward for the share of device time spent in the candidate's own "
                    "kernels",
            .min = 0});
  v.option("base", base, {.help = "log_speedup: reward of a right answer", .min = 0});
  v.option("slope", slope, {.help = "log_speedup: reward per e-fold of speedup", .min = 0});
  v.option("log_floor", log_floor,
           {.help = "log_speedup: lower bound of the logarithm; base + slope · log_floor must be at "
                    "least what a wrong answer earns",
            .max = 0});
  v.option("log_ceiling", log_ceiling, {.help = "log_speedup: upper bound of the logarithm", .min = 0});
}

// A right answer earns least where it is endlessly slow: no recipe falls as the speedup rises.
void RewardOptions::check(Problems& problems) const {
  Verdict slowest;
  slowest.kind = VerdictKind::kPass;
  const double right = turn_total(reward(*this, slowest));
  const double wrong = find_reward(name).failure + std::max(parse_credit, compile_credit);
  if (right >= wrong) return;
  if (name == "log_speedup")
    problems.add(
        "reward.log_floor",
        fmt::format("{} pays a slow right answer {:.4g} and a wrong one {:.4g}: reward.base + "
                    "reward.slope · reward.log_floor must be at least the largest credit of a wrong one",
                    log_floor, right, wrong));
  else
    problems.add("reward.name",
                 fmt::format("{} pays a slow right answer {:.4g} and a wrong one {:.4g}: lower "
                             "reward.parse_credit or reward.compile_credit",
                             name, right, wrong));
}

double counted_speedup(const RewardOptions& options, const Verdict& verdict) {
  return options.lower_end ? verdict.speedup_low : verdict.speedup;
}

TurnValue reward(const RewardOptions& options, const Verdict& verdict) {
  if (verdict.infra()) return {.kept = false};
  const RewardRecipe& recipe = find_reward(options.name);
  if (verdict.pass()) return recipe.pass(options, counted(options, verdict));
  return same(recipe.failure + partial_credit(options, verdict.kind));
}

TurnValues compute_rewards(const RewardOptions& options, const rollout::Batch& batch) {
  TurnValues rewards;
  for (const rollout::Group& group : batch.groups) {
    GroupValues& samples = rewards.emplace_back();
    for (const rollout::Trajectory& trajectory : group.samples) {
      SampleValues& turns = samples.emplace_back();
      for (const rollout::Turn& turn : trajectory.turns)
        turns.push_back(reward(options, env::told(turn.verdict)));
    }
  }
  return rewards;
}

}  // namespace temper::trainer
