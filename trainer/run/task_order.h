#pragma once
// Which tasks a step works on.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rollout/trajectory.h"
#include "trainer/config/config.h"

namespace temper::trainer {

// dealt: the tasks in an order that the seed decides, round and round; step s (from 1) gets the next ones.
//
// difficulty: drawn without replacement, a task of pass rate p with weight max(least_weight, 4p(1 − p)): where some
// answers pass and others do not, there is most to learn. p moves half way to what each visit saw, from 1/2.
// Source of the idea: difficulty-aware sampling by online pass rates, as in DAPO (2503.14476) and Makora
// (2602.11000); the floor keeps easy and hopeless tasks in the mixture.
class TaskOrder {
 public:
  // The tasks must outlive it.
  TaskOrder(const TaskOptions& options, const std::vector<env::Task>& tasks, uint64_t seed);

  // The tasks of step `step`, none of them twice (count ≤ tasks). They depend only on seed, step and pass rates.
  std::vector<const env::Task*> of_step(int64_t step, int64_t count) const;

  // Updates the pass rates from a step's answers; every rank passes the whole batch. INFRA is ignored.
  void observe(const rollout::Batch& batch);

  // By task; those not visited yet are not in it. Empty where nothing depends on them.
  const std::map<std::string, double>& pass_rates() const { return pass_rates_; }
  void restore(std::map<std::string, double> pass_rates) { pass_rates_ = std::move(pass_rates); }

 private:
  std::vector<const env::Task*> dealt(int64_t step, int64_t count) const;
  std::vector<const env::Task*> by_difficulty(int64_t step, int64_t count) const;
  double weight(const env::Task& task) const;

  const TaskOptions options_;
  std::vector<const env::Task*> tasks_;
  const uint64_t seed_;
  std::map<std::string, double> pass_rates_;
};

}  // namespace temper::trainer
