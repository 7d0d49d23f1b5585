#pragma once
// How one module is judged. Two verdicts come of it: what KernelBench would have said (Verdict::comparable), and what is
// believed and rewarded, the verdict itself. KernelBench has no list of modules that may be imported: where a candidate is refused
// for one, its comparable verdict is found without the list, in a process of its own, if it is asked for.

#include <chrono>
#include <string>
#include <vector>

#include "env/kernelbench/module_bench.h"
#include "env/kernelbench/module_candidate.h"
#include "env/kernelbench/module_times.h"
#include "env/verdict/verdict.h"

namespace temper::env {

struct ModuleProcedureOptions {
  // What a candidate's process may take in all, an audit's anew, and in a step in which it may compile: module_limits.h.
  std::chrono::nanoseconds budget{180'000'000'000}, warm_up{30'000'000'000};
  int64_t min_pairs = 7, max_pairs = 21;
  bool naive = false;  // the comparable verdict is also the naive one
  // Of candidates for training tasks, by their text, which get a comparable verdict. Its draws are the host's, as KernelBench's are,
  // and take long.
  double comparable_share = 1;
  // Whether the share of its own kernels that a candidate's process tells is the verdict's. It can be forged there, and nobody else can
  // tell: were the kernels made empty to see what is lost, a candidate could leave out the rest where its own have not run.
  bool believe_shares = false;
  bool compare_refused =
      false;  // what is refused for its imports is run once more, for its comparable verdict
};

class ModuleProcedure {
 public:
  ModuleProcedure(const ModuleProcedureOptions& options, const ModuleMachine& machine, ModuleBench& bench,
                  const Task& task);

  // Errors: WorldError, and only where the failure is ours or the problem's.
  Verdict judge(const ModuleCandidate& candidate);

 private:
  Found examine(const ModuleCandidate& candidate);
  Found find_comparable(const ModuleCandidate& candidate);
  bool compares(const ModuleCandidate& candidate) const;
  void find_comparable_ungated(ModuleCandidate candidate);
  Found take(const ModuleCandidate& candidate);
  Found try_comparable();
  Found try_one_comparable(int64_t trial);
  Found time_comparable();
  Found time_alone();
  Found left_work();
  Found be_alone(std::unique_ptr<ModuleTurns::Alone>& alone);
  Found take_weights();
  Found check_strict();
  Found time_pairs(int64_t min_pairs, int64_t max_pairs);
  Found time_pair(CandidateProcess::Call& made, CandidateProcess::Call& baseline);
  Found weigh_times();
  Found audit();
  Found profile();
  Found call_and_compare(const ModuleDraw& draw, CandidateProcess::Call& made);
  Found give_turn(CandidateProcess& to);
  Found call_baseline(const ModuleDraw& draw, CandidateProcess::Call& made);
  void use_faster_baseline();
  void tell(const CandidateProcess::Answer& answer);
  ModuleDraw next_draw();
  ModuleLimits limits() const;
  NaiveVerdict naive() const;

  const ModuleProcedureOptions& options_;
  const ModuleMachine& machine_;
  ModuleBench& bench_;
  const Task& task_;

  std::unique_ptr<CandidateProcess> process_;
  const std::string key_ = secret_key();
  int64_t draws_ = 0;
  int64_t mapped_ = 0;  // pairs that were repeated
  double bytes_ = 0;    // that a call must read or write
  double last_us_ = 0;  // the last comparable call
  ModulePairs pairs_;
  ComparableResult comparable_;
  Verdict verdict_;
};

// What is wrong with the outputs that a candidate says it has returned, beside their values: their number, shapes, types, and
// how they lie in memory.
Found weigh_shapes(const std::vector<ModuleTensor>& outputs, const std::vector<ModuleTensor>& expected);

}  // namespace temper::env
