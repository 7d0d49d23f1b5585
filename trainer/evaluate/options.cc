#include "trainer/evaluate/options.h"

#include <fmt/format.h>

#include <algorithm>

namespace temper::trainer {

void ScalingOptions::visit(OptionVisitor& v) {
  v.option("ways", ways,
           {.help = "ways of spending more answers on a task, which are compared with each other",
            .choices = {"parallel", "sequential", "beam"}});
  v.option("budget", budget, {.help = "number of answers to each task", .min = 1});
  v.option(
      "shown", shown,
      {.help = "sequential and beam: how many of the best turns so far the next answer is shown", .min = 0});
  v.option("width", width, {.help = "beam: number of chains, which must divide the budget", .min = 1});
  v.option("keep", keep,
           {.help = "beam: how many chains are chosen to go on; copies of them fill the width", .min = 1});
  v.option(
      "every", every,
      {.help = "beam: how many answers each chain gives between two choices; Kevin's beam has 4", .min = 1});
}

void ScalingOptions::check(Problems& problems) const {
  if (std::ranges::find(ways, "beam") == ways.end()) return;
  if (budget % width != 0)
    problems.add("eval.scaling.width",
                 fmt::format("{} does not divide eval.scaling.budget, {}", width, budget));
  if (keep > width)
    problems.add("eval.scaling.keep", fmt::format("{} is more than eval.scaling.width, {}", keep, width));
}

void EvalOptions::visit(OptionVisitor& v) {
  v.option("split", split,
           {.help = "which tasks to evaluate on", .choices = {env::Split::kHeldOut, env::Split::kTrain}});
  v.option("samples", samples,
           {.help = "number of sampled trajectories for each task; a greedy one is added", .min = 1});
  v.option("turns", turns, {.help = "number of turns in a trajectory; 0 takes rollout.turns", .min = 0});
  v.option(
      "top_p", top_p,
      {.help = "sample from the likeliest tokens whose probabilities add up to this; 0 takes rollout.top_p",
       .min = 0,
       .max = 1});
  v.option("top_k", top_k,
           {.help = "sample from this many of the likeliest tokens; 0 takes all, -1 takes rollout.top_k",
            .min = -1});
  v.option("before", before, {.help = "evaluate also before reinforcement learning begins"});
  v.option(
      "every", every,
      {.help = "evaluate also during reinforcement learning, each time after this many steps; 0 does not",
       .unit = "steps",
       .min = 0});
  v.option(
      "kernelbench_baseline", kernelbench_baseline,
      {.help = "for problems in PyTorch: file of KernelBench's results/timing, whose times of references "
               "the comparable speedups are then over; if empty, those of the judge's own GPU",
       .text = TextKind::kPath});
  v.section("scaling", scaling, "spending more answers on a task, in `temper eval` alone");
}

rollout::RolloutOptions EvalOptions::rollout(const rollout::RolloutOptions& trained) const {
  rollout::RolloutOptions options = trained;
  if (turns > 0) options.turns = turns;
  if (top_p > 0) options.top_p = top_p;
  if (top_k >= 0) options.top_k = top_k;
  return options;
}

}  // namespace temper::trainer
