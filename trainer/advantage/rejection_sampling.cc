// Source:  rejection-sampled fine-tuning: RAFT, 2304.06767, algorithm 1; Think, Prune, Train, 2504.18116: sample, keep what
//          is good, fine-tune on it, repeat
// A = 1 where G > 0; what is not kept is in no denominator: the loss is that of supervised fine-tuning on the kept answers.

#include "trainer/advantage/estimators.h"

namespace temper {

void keep_positive(TurnValues& values) {
  for (GroupValues& group : values)
    for (SampleValues& sample : group)
      for (TurnValue& turn : sample) {
        turn.kept = turn.kept && turn.code > 0;
        turn.plan = turn.code = 1;
      }
}

}  // namespace temper
