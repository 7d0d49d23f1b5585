#include "trainer/config/rank_options.h"

namespace temper::trainer {

void RankOptions::visit(OptionVisitor& v) {
  v.option("start_s", start_s,
           {.help = "how long the ranks wait for each other at the start",
            .unit = "s",
            .min = 1,
            .may_change = true});
  v.option("silence_s", silence_s,
           {.help = "after how long without a sign of life a rank counts as lost",
            .unit = "s",
            .min = 3,
            .may_change = true});
  v.option("timeout_s", timeout_s,
           {.help = "after how long without progress, while others wait for it, a rank counts as hung",
            .unit = "s",
            .min = 3,
            .may_change = true});
  v.option(
      "check_every", check_every,
      {.help =
           "after how many steps the ranks compare their weights, which must be equal bit by bit; 0 compares "
           "them at saves alone, which always do",
       .min = 0,
       .may_change = true});
  v.option(
      "env", env,
      {.help =
           "how many ranks, the last ones, hold no policy and judge for the others, which then judge nothing "
           "themselves; if one of them is lost, the others go on",
       .min = 0,
       .max = 4096,
       .may_change = true});
}

}  // namespace temper::trainer
