#include "policy/memory_options.h"

namespace temper::policy {

void MemoryOptions::visit(OptionVisitor& v) {
  v.option(
      "recompute", recompute,
      {.help =
           "what a backward computes again instead of keeping it from the forward. feed_forward: the inside "
           "of each block's feed-forward, about half of the memory of activations for a seventh more time. "
           "all: everything but each block's input, about three quarters of it for a fifth more time",
       .choices = {"none", "feed_forward", "all"},
       .may_change = true});
  v.option(
      "recompute_blocks", recompute_blocks,
      {.help =
           "how many blocks recompute, from the first on; 0: all but the last, whose backward begins where "
           "its forward ends",
       .min = 0,
       .may_change = true});
  v.option(
      "offload_activations", offload_activations,
      {.help =
           "how many of the blocks that recompute, spread evenly over them, move what they would compute "
           "again to the host's memory and back instead, while other blocks compute. Only on a GPU. It "
           "costs no time while the link to the host keeps up, which it does for about half of the blocks",
       .min = 0,
       .may_change = true});
  v.option("logits_chunk", logits_chunk,
           {.help = "rows of logits that exist at once; 0 chooses 512 on the CPU and 8192 on a GPU",
            .unit = "tokens",
            .min = 0,
            .may_change = true});
  v.option("zero_stage", zero_stage,
           {.help = "ZeRO stage with several ranks. 1: every rank keeps the whole gradient, which "
                    "is reduced once per update. 2: it is reduced block by block after each "
                    "micro-batch, which takes less memory. 3: a rank also holds no more than its "
                    "share of the weights while the policy learns, and they are gathered block by "
                    "block for each forward and backward. 0: chooses 1 if the gradient is at most "
                    "1 GiB, else 2",
            .min = 0,
            .max = 3,
            .may_change = true});
  v.option("shard_degree", shard_degree,
           {.help = "how many ranks, one after another, share one copy of master weights, moments and "
                    "gradients (hybrid sharding); such groups hold replicas of each other, whose "
                    "gradients are summed once per update. It must divide the number of ranks. 0: all "
                    "ranks are one group",
            .min = 0,
            .may_change = true});
  v.option("phases", phases,
           {.help = "whether keys and values of rollouts are in memory together with activations and "
                    "gradients of updates. "
                    "apart: each phase gives its memory to the other, which takes some time at each change. "
                    "auto: apart "
                    "where they do not fit together",
            .choices = {"auto", "together", "apart"},
            .may_change = true});
  v.option("offload_optimizer", offload_optimizer,
           {.help = "keep master weights and moments in the host's memory, 12 bytes for each parameter of a "
                    "rank's share; an update moves them through the GPU piece by piece, and a checkpoint is "
                    "written before the run goes on",
            .may_change = true});
}

}  // namespace temper::policy
