#include "trainer/checkpoint/options.h"

namespace temper {

void CheckpointOptions::visit(OptionVisitor& v) {
  v.option("every", every,
           {.help = "between checkpoints; 0: only after the cold start, at the end and when interrupted",
            .unit = "steps",
            .min = 0});
  v.option("every_s", every_s,
           {.help = "after so long, at the end of the step; 0: never", .unit = "s", .min = 0});
  v.option("keep", keep, {.help = "newest checkpoints that are kept", .min = 1});
  v.option("best", best,
           {.help = "also keep the one with the highest value of this metric, such as val/sampled/reward or "
                    "critic/rewards/mean; empty: none"});
  v.option(
      "resume", resume,
      {.help = "auto: go on with the run in the run directory from its newest good checkpoint; never; or "
               "the checkpoint folder to go on from (later ones of the same run are deleted)"});
  v.option(
      "fork", fork,
      {.help = "a run, or one of its step_… folders: a new run begins from its weights, moments and count of "
               "steps, with the options of its own; what differs is said. empty: none"});
}

}  // namespace temper
