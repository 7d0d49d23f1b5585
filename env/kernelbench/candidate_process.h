#pragma once
// The broker's side of a process that becomes one candidate, or that holds the baseline. It is warm before it is needed and
// used for one source. Whatever it answers, its time is the broker's, and the reference reads its results where they lie.

#include <chrono>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "env/kernelbench/module_candidate.h"
#include "env/kernelbench/module_limits.h"
#include "env/kernelbench/module_process.h"
#include "env/kernelbench/module_reply.h"
#include "env/kernelbench/module_zygote.h"
#include "env/kernelbench/reference_process.h"
#include "env/kernelbench/turns/clock_page.h"
#include "env/kernelbench/turns/process_tree.h"
#include "env/verdict/verdict.h"

namespace temper::env {

class CandidateProcess {
 public:
  // The memory through which inputs and weights come to it, the baseline's or a candidate's.
  struct Exchange {
    int descriptor = -1;
    int64_t bytes = 0;
    bool baseline = false;
  };
  // Starts it; it becomes `user`. Errors: WorldError.
  CandidateProcess(ModuleZygote& zygote, const Exchange& exchange, uid_t user);
  // Waits until it is locked up. Errors: WorldError.
  void wait_ready() { process_.wait_ready(); }

  // What follows may take so long. Once a step takes longer, the process is killed and its candidate out of time.
  void allow(const ModuleLimits& limits) { limits_ = limits, left_ = limits.whole; }
  std::chrono::nanoseconds left() const { return left_; }  // of all steps together
  // The next call is a first one again: other weights or another precision may make it compile.
  void expect_warm_up() { warm_ = false; }

  // An answer, or why there is none.
  struct Answer {
    nlohmann::json json;
    Found found;
    ModuleFailure failure;  // where the process itself said why
  };
  // The source becomes a module. Foreign code runs from here on. Errors: WorldError if files cannot be handed over.
  Answer take(const ModuleCandidate& candidate, const Task& task);
  Answer take_weights(const nlohmann::json& weights);

  // Makes ready for a call. Nothing of its inputs is there yet. `own_time`: the process shall say what its module took.
  Answer arm(const ReferenceProcess::Placed& placed, bool own_time = false);
  struct Call {
    Answer answer;
    std::vector<ModuleTensor> outputs;
    double us = 0;  // from when its inputs were there until the reference had copied its outputs
    // Its outputs lay in memory that the reference had not mapped before, which took a part of that time.
    bool maps = false;
  };
  // Makes the call that is armed, with the reference, which has drawn its inputs.
  Call go(ReferenceProcess& reference);

  // freeze() stops the process with all that it has started, and sees them stopped. What does not stop is killed, and the next request
  // finds that it has ended. thaw() sets them going again.
  void freeze();
  void thaw();

  // Times as the process itself measures them, milliseconds. Nobody believes them. KernelBench times candidates with what they
  // keep for gradients, and its reference without. `expected`: what such a call has taken so far.
  Answer comparable_times(int64_t trials, std::chrono::nanoseconds expected, std::vector<double>& times_ms,
                          bool gradients = true);
  // The kernels of a call on the inputs of the last one, where the process says so.
  Answer profile(std::optional<ModuleProfile>& seen);

  bool running() const { return process_.running(); }
  pid_t pid() const { return process_.pid(); }
  const ReferenceProcess::Party& party() const { return party_; }

 private:
  void let_compute(ReferenceProcess& reference, Call& call);
  bool until_computed(ReferenceProcess& reference, Call& call, ClockPage::Wait& wait);
  bool pass_segment(ReferenceProcess& reference);
  Answer ask(ModuleStep step, const nlohmann::json& request, const char* expected,
             std::chrono::nanoseconds usual = {});
  Answer answer_of(ModuleFrame frame, const char* expected, const ModuleBound& bound);
  ModuleBound bound(ModuleStep step, std::chrono::nanoseconds usual = {}) const {
    return bound_of(limits_, step, left_, usual);
  }
  Finding ending(const std::string& end) const;
  Finding malformed(const std::string& what);

  ClockPage clock_;
  ModuleProcess process_;
  ReferenceProcess::Party party_;
  ProcessTree tree_;
  std::optional<ModuleFrame> said_;  // in a call, before it was asked
  int64_t segments_ = 0;             // that it has exported
  ModuleLimits limits_ = one_limit({});
  std::chrono::nanoseconds left_{0};
  bool warm_ = false;    // a call has been made
  uint64_t number_ = 0;  // of the call that is armed
};

// One or two that are warm, made in the background. Each is used for one candidate.
class CandidatePool {
 public:
  // `user`: the first of those that they become if we are root.
  CandidatePool(ModuleZygote& zygote, uid_t user, int64_t spares)
      : zygote_(zygote), user_(user), spares_(spares) {}
  // One that is ready, for its taker alone. Errors: WorldError if none can be started.
  std::unique_ptr<CandidateProcess> take();
  // Starts what is missing. With another exchange than before, all begin anew.
  void prepare(const CandidateProcess::Exchange& exchange);
  // Waits until none of those that were started is still starting. Errors: WorldError if one cannot be.
  void settle();
  void clear() { waiting_.clear(); }

 private:
  ModuleZygote& zygote_;
  uid_t user_;
  int64_t spares_;
  int64_t started_ = 0;
  CandidateProcess::Exchange exchange_;
  std::deque<std::unique_ptr<CandidateProcess>> waiting_;
};

}  // namespace temper::env
