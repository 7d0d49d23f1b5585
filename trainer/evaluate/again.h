#pragma once
// Judges answers again that passed once. This exposes answers that passed by luck, or because of a weakness that the
// judge no longer has.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "env/judge/judge.h"

namespace temper::trainer {

struct PassedAnswer {
  std::string task = {}, code = {};
  int64_t step = 0, sample = 0;  // step and sample of its trajectory
  env::Verdict before = {};
  std::vector<env::Verdict> after = {};  // one for each round, without INFRA

  // The result of all rounds: the first verdict that is not a PASS, or a PASS with the medians of the speedup and of
  // its interval's ends. `after` must not be empty.
  env::Verdict verdict() const;
  int64_t falls() const;  // rounds that did not pass
};

// Judges each answer `rounds` times. Every round is submitted as a different candidate, so that it is not answered
// from a cache and has draws of its own. `progress` is called with the verdicts done, and all. Errors: Interrupted.
void judge_again(env::Judge& judge, std::vector<PassedAnswer>& answers, int64_t rounds,
                 const std::function<void(int64_t, int64_t)>& progress = {});

}  // namespace temper::trainer
