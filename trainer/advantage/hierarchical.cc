// Source:  HRD, TritonRL, 2510.17891: J = α·J_plan + J_code, α = 0.1; plan tokens have the
// normalised
//          speedup reward, code tokens the normalised correctness reward (the reward `tritonrl` gives both)
// As both objectives are linear in their advantages, α may as well multiply the plan's.

#include "trainer/advantage/estimators.h"

namespace temper {

void weigh_plan(TurnValues& advantages, double alpha) {
  for (GroupValues& group : advantages)
    for (SampleValues& sample : group)
      for (TurnValue& turn : sample) turn.plan *= alpha;
}

}  // namespace temper
