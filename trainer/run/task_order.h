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
// Problems in PyTorch whose first verdict says that nothing is to be learned from them are left out from then on, and others
// stand in for them.
//
// difficulty: drawn without replacement, a task of pass rate p with weight max(least_weight, 4p(1 − p)): where some
// answers pass and others do not, there is most to learn. p moves half way to what each visit saw, from 1/2.
// Source of the idea: difficulty-aware sampling by online pass rates, as in DAPO (2503.14476) and Makora
// (2602.11000); the floor keeps easy and hopeless tasks in the mixture.
class TaskOrder {
 public:
  // The tasks must outlive it.
  TaskOrder(const TaskOptions& options, const std::vector<env::Task>& tasks, uint64_t seed);

  // The tasks of step `step`, none of them twice (count ≤ tasks); fewer where too many are left out. They depend only on seed,
  // step, pass rates and what is left out.
  std::vector<const env::Task*> of_step(int64_t step, int64_t count) const;

  // Updates the pass rates from a step's answers, and what is left out; every rank passes the whole batch. INFRA is ignored.
  // Returns a line for each task that is left out from now on.
  std::vector<std::string> observe(const rollout::Batch& batch);

  // By task; those not visited yet are not in it. Empty where nothing depends on them.
  const std::map<std::string, double>& pass_rates() const { return pass_rates_; }
  // Problems that do not fit beside the policy are left out from the start.
  void leave_out_large(const std::vector<std::string>& tasks);

  // By task, and why: "weak", whose PASSes say little (tasks.weak), "unusable" or "too_large".
  const std::map<std::string, std::string>& left_out() const { return left_out_; }
  void restore(std::map<std::string, double> pass_rates, std::map<std::string, std::string> left_out) {
    pass_rates_ = std::move(pass_rates);
    left_out_ = std::move(left_out);
  }

 private:
  std::vector<const env::Task*> dealt(int64_t step, int64_t count) const;
  std::vector<const env::Task*> by_difficulty(int64_t step, int64_t count) const;
  double weight(const env::Task& task) const;
  std::vector<const env::Task*> stand_ins(int64_t step, const std::vector<const env::Task*>& chosen) const;
  std::string learn_of(const std::string& task, const env::Verdict& verdict);
  void observe_pass_rate(const rollout::Group& group);

  const TaskOptions options_;
  std::vector<const env::Task*> tasks_;
  const uint64_t seed_;
  std::map<std::string, double> pass_rates_;
  std::map<std::string, std::string> left_out_;
};

}  // namespace temper::trainer
