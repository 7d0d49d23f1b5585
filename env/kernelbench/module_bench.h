#pragma once
// What judging modules needs and lasts from candidate to candidate: the reference with its problem, the baseline of that
// problem, warm processes for candidates, and what forks these.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "env/kernelbench/candidate_process.h"
#include "env/kernelbench/module_limits.h"
#include "env/kernelbench/module_machine.h"
#include "env/kernelbench/reference_process.h"
#include "env/kernelbench/turns/module_turns.h"
#include "env/task/task.h"
#include "env/verdict/comparable.h"

namespace temper::env {

// A problem that cannot be judged here, through no candidate's fault. Others can.
class ProblemUnusable : public WorldError {
 public:
  using WorldError::WorldError;
};

class ModuleBench {
 public:
  // Starts processes and returns at once. `turns`: with the lanes beside this one, if there may be any, which share `gpu_bytes` of the GPU's
  // memory; they outlive it. Errors: WorldError.
  ModuleBench(const ModuleBoxOptions& options, int64_t spares = 2, ModuleTurns* turns = nullptr,
              int64_t gpu_bytes = 0);
  ~ModuleBench();
  void wait_ready();

  // Loads the task's problem and builds its baseline, so that it is the problem at hand. If it is that already, nothing is done.
  // Errors: ProblemUnusable says in one line why this problem cannot be judged, and says it again for each of its candidates.
  // WorldError says what else failed.
  void open(const Task& task);
  // The problem at hand is no more, and its memory is free.
  void close();

  // All that follows is of the problem at hand.
  const ModuleProblemFacts& facts() const { return facts_; }
  ReferenceProcess& reference() { return reference_; }
  CandidateProcess& baseline() { return *baseline_; }
  const ModuleCost& baseline_cost() const { return baseline_cost_; }
  // KernelBench's own timing of the reference. Measured once for each number of trials. Errors: WorldError.
  const RuntimeStats& reference_times(int64_t trials);

  // One call of a process on that draw. What it shall not see lies in the reference's own memory before the clock runs.
  CandidateProcess::Call call(CandidateProcess& process, const ModuleDraw& draw, bool own_time = false);

  // What the baseline's own module takes while no candidate and no other lane's processes run, and a call beside it, microseconds: of the
  // medians of two times some calls, those now and the last ones before, the smaller. Errors: WorldError.
  struct Alone {
    double own_us = 0, rest_us = 0;
  };
  Alone time_alone();
  // Whether the GPU does nothing else: work that a stopped process has left there is waited for. False where it goes on.
  bool quiet(std::chrono::nanoseconds patience);

  // A process for one candidate. What others have exported is forgotten.
  std::unique_ptr<CandidateProcess> take();
  void prepare();  // starts what is missing
  // While the result lives no other lane's processes run.
  std::unique_ptr<ModuleTurns::Alone> alone() const;
  // Before calls are timed: until nothing that was started is still starting. A process that makes its context takes turns on the
  // GPU, and delays the calls of others. Errors: WorldError.
  void settle() { pool_.settle(); }

 private:
  void claim_memory(const Task& task);
  void start_baseline(const Task& task);
  CandidateProcess::Exchange exchange(bool baseline) const;

  uid_t user_;
  ModuleTurns* turns_;
  int64_t gpu_bytes_, lanes_;
  Fd starting_;  // others time no calls until it is told which processes there are
  ModuleZygote zygote_;
  ReferenceProcess reference_;
  CandidatePool pool_;
  std::unique_ptr<CandidateProcess> baseline_;
  std::string open_;                             // digest of the task at hand
  std::map<std::string, std::string> unusable_;  // by digest: why
  ModuleProblemFacts facts_;
  ModuleCost baseline_cost_;
  Alone alone_;                                      // the last medians
  std::map<int64_t, RuntimeStats> reference_times_;  // by trials
};

// Digits for ModuleDraw::key, of 128 random bits.
std::string secret_key();

}  // namespace temper::env
