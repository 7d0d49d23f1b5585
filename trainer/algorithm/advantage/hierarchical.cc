// Source:  HRD, TritonRL, 2510.17891: J = α·J_plan + J_code, α = 0.1; plan tokens have the normalised speedup
//          reward, code tokens the normalised correctness reward (the reward `tritonrl` gives both)
// As both objectives are linear in their advantages, α may as well multiply the plan's.
// One rule is not the paper's: an answer without code keeps weight 1. It consists of a plan alone, and
// multiplied by α it would cost the policy a tenth of what a wrong kernel costs.

#include "trainer/algorithm/advantage/estimators.h"

namespace temper::trainer {

void weigh_plan(const BatchTokens& tokens, double alpha, TurnValues& advantages) {
  for (size_t g = 0; g < advantages.size(); ++g)
    for (size_t n = 0; n < advantages[g].size(); ++n)
      for (size_t t = 0; t < advantages[g][n].size(); ++t)
        if (tokens.empty() || tokens[g][n][t].code > 0) advantages[g][n][t].plan *= alpha;
}

}  // namespace temper::trainer
