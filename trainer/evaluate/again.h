#pragma once
// Answers that passed once, judged anew: what passes by luck, or by a habit of the judge that it no longer has,
// falls.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "env/judge/judge.h"

namespace temper {

struct PassedAnswer {
  std::string task = {}, code = {};
  int64_t step = 0, sample = 0;  // of its trajectory
  Verdict before = {};
  std::vector<Verdict> after = {};  // of each round; INFRA is left out

  // What the rounds come to: the first that did not pass, or a PASS with the medians of the speedup and of its
  // interval's ends. `after` is not empty.
  Verdict verdict() const;
  int64_t falls() const;  // rounds that did not pass
};

// Judges each `rounds` times. To the judge every round is another candidate, so that no cache answers it and it
// is drawn for with keys of its own. `progress` hears of verdicts done, and of all. Errors: Interrupted.
void judge_again(Judge& judge, std::vector<PassedAnswer>& answers, int64_t rounds,
                 const std::function<void(int64_t, int64_t)>& progress = {});

}  // namespace temper
