#include "trainer/checkpoint/options.h"

namespace temper::trainer {

void CheckpointOptions::visit(OptionVisitor& v) {
  v.option("every", every,
           {.help = "steps between checkpoints; 0 saves only after the cold start, at the end and "
                    "when interrupted",
            .unit = "steps",
            .min = 0,
            .may_change = true});
  v.option("every_s", every_s,
           {.help = "also save at the end of a step if this much time has passed since the last "
                    "save; 0 for never",
            .unit = "s",
            .min = 0,
            .may_change = true});
  v.option("keep", keep,
           {.help = "number of newest checkpoints that are kept", .min = 1, .may_change = true});
  v.option("best", best,
           {.help = "also keep the checkpoint with the highest value of this metric, such as "
                    "val/sampled/reward or critic/rewards/mean",
            .text = TextKind::kName,
            .may_change = true});
  v.option("resume", resume,
           {.help = "auto resumes the run in the run directory from its newest good checkpoint; "
                    "never does not resume; a checkpoint folder resumes from that one (later ones "
                    "of the same run are deleted)",
            .text = TextKind::kPath,
            .may_change = true});
  v.option("fork", fork,
           {.help = "a run, or one of its step_… folders: a new run with its own options starts "
                    "from the weights, moments and step count found there; options that differ are "
                    "logged",
            .text = TextKind::kPath,
            .may_change = true});
}

}  // namespace temper::trainer
