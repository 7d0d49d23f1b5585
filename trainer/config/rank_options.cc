#include "trainer/config/rank_options.h"

namespace temper {

void RankOptions::visit(OptionVisitor& v) {
  v.option("start_s", start_s, {.help = "for all ranks to meet", .unit = "s", .min = 1, .may_change = true});
  v.option("silence_s", silence_s,
           {.help = "without a sign of life, then a rank counts as lost",
            .unit = "s",
            .min = 3,
            .may_change = true});
  v.option("timeout_s", timeout_s,
           {.help = "without progress while others wait for it, then a rank counts as hung",
            .unit = "s",
            .min = 3,
            .may_change = true});
  v.option("check_every", check_every,
           {.help = "steps after which the ranks compare their weights, which must be equal to the bit; each "
                    "save compares them too; 0: saves alone",
            .min = 0,
            .may_change = true});
  v.option(
      "env", env,
      {.help = "the last of the ranks that hold no policy and judge for the others, who then judge nothing "
               "themselves; where one is lost, the others go on",
       .min = 0,
       .max = 4096,
       .may_change = true});
}

}  // namespace temper
