// Source:  rejection-sampled fine-tuning: RAFT, 2304.06767, algorithm 1; Think, Prune, Train, 2504.18116:
//          sample, keep what is good, fine-tune on it, repeat
// A = 1 where the answer's own reward R > 0: what a later turn repaired is not imitated. What is not kept is
// in no denominator: with loss.objective likelihood every update has the gradient of supervised fine-tuning
// on the kept answers.

#include "trainer/algorithm/advantage/estimators.h"

namespace temper::trainer {

void keep_positive(TurnValues& rewards) {
  for (GroupValues& group : rewards)
    for (SampleValues& sample : group)
      for (TurnValue& turn : sample) {
        turn.kept = turn.kept && turn.code > 0;
        turn.plan = turn.code = 1;
      }
}

}  // namespace temper::trainer
