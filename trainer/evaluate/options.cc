#include "trainer/evaluate/options.h"

#include <fmt/format.h>

#include <algorithm>

namespace temper {

void ScalingOptions::visit(OptionVisitor& v) {
  v.option("ways", ways,
           {.help = "ways to spend more answers on a task, side by side",
            .choices = {"parallel", "sequential", "beam"}});
  v.option("budget", budget, {.help = "answers to a task", .min = 1});
  v.option(
      "shown", shown,
      {.help =
           "sequential and beam: of the turns so far, so many of the best stand in front of the next answer",
       .min = 0});
  v.option("width", width, {.help = "beam: chains; divides the budget", .min = 1});
  v.option("keep", keep,
           {.help = "beam: chains that go on when they are chosen, copied to the width", .min = 1});
  v.option("every", every,
           {.help = "beam: answers of a chain between two choices; Kevin's beam has 4", .min = 1});
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
  v.option("split", split, {.help = "tasks to evaluate on", .choices = {Split::kHeldOut, Split::kTrain}});
  v.option("samples", samples, {.help = "sampled trajectories per task; one greedy one is added", .min = 1});
  v.option("turns", turns, {.help = "turns per trajectory; 0: rollout.turns", .min = 0});
  v.option("top_p", top_p,
           {.help = "sample from the likeliest tokens of this total probability; 0: rollout.top_p",
            .min = 0,
            .max = 1});
  v.option("top_k", top_k,
           {.help = "sample from so many likeliest tokens; 0: all; -1: rollout.top_k", .min = -1});
  v.option("before", before, {.help = "evaluate before reinforcement learning too"});
  v.option("every", every,
           {.help = "also during it, every so many steps; 0: not", .unit = "steps", .min = 0});
  v.section("scaling", scaling, "spending more answers on a task; `temper eval` only");
}

RolloutOptions EvalOptions::rollout(const RolloutOptions& trained) const {
  RolloutOptions options = trained;
  if (turns > 0) options.turns = turns;
  if (top_p > 0) options.top_p = top_p;
  if (top_k >= 0) options.top_k = top_k;
  return options;
}

}  // namespace temper
