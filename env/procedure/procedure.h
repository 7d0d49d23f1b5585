#pragma once
// How one candidate is judged, from its source to its verdict.

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "env/box/oracle_process.h"
#include "env/box/runner_process.h"
#include "env/call/case.h"
#include "env/compile/compile_box.h"
#include "env/languages/language.h"
#include "env/procedure/judging.h"
#include "env/task/task.h"
#include "env/verdict/timing.h"
#include "env/verdict/verdict.h"

namespace temper::env {

struct ProcedureOptions {
  CompileQuota compile;
  std::chrono::nanoseconds run_budget{
      5'000'000'000};  // for the load and all calls together; each attempt and each further timed shape has a new one
  int64_t min_pairs = 7, max_pairs = 21;
  uid_t user = 65534;
  int core = 0;
};

constexpr int kGoes =
    3;  // the number of attempts at timing a candidate at a shape, each with a budget of its own

// The most budgets that a candidate can use up, where no task has more timed shapes than that.
constexpr int64_t most_budgets(size_t timed_shapes) {
  return kGoes + int64_t(timed_shapes - 1) * (1 + kGoes);  // a further shape is checked under one more
}

double microseconds(std::chrono::nanoseconds time);

// The time of an empty hand-over, and the overhead of a timed call.
class EmptyCall {
 public:
  // Calls while nothing foreign was in the process.
  explicit EmptyCall(const std::vector<CallTime>& trusted = {});
  // To be taken off a call that came after these empty ones, in the same conditions. A candidate could make
  // them longer, so never more than the middle one of those that are trusted.
  double us(const std::vector<CallTime>& beside) const;

 private:
  double most_us_ = 0;
};

class Procedure {
 public:
  // `tools` are tried in turn until one compiles the source. `runner` is fresh and is used up. `roofs` rise
  // where the machine turns out to be faster.
  Procedure(const ProcedureOptions& options, const std::vector<Toolchain>& tools, Roofs& roofs,
            OracleProcess& oracle, RunnerProcess& runner, const std::vector<Task>& tasks, uint32_t task);

  // Errors: WorldError, and only where the failure is ours: that is the evidence an INFRA verdict needs.
  Verdict judge(const std::string& source);
  const std::string& object() const { return object_; }  // the judged object; empty if it did not compile

 private:
  Found compile_source(const std::string& source);
  Found load_object();
  Found check_shapes();
  Found check_shape(int32_t shape);
  Found check_timed_shape(int32_t shape);
  Found check_draws(const DrawRequest& request);
  void draw(DrawRequest request);
  Found judge_times();
  Found judge_times_at(int32_t shape);
  Found time_pairs();
  Found time_draws(int32_t count);
  Found time_pair(int32_t draw);
  void warm_baseline();
  Found calibrate();
  bool time_is_up() const;
  Found weigh_times();

  void prepare(int32_t draw, const CallLayout& laid);
  Found call_candidate(int32_t draw, Placement placement = Placement::kPacked);
  Placement placement_of(const DrawRequest& request, int32_t draw) const;
  Found compare_outputs(int32_t draw);
  Finding call_failure(VerdictKind kind, const std::string& reason) const;
  Finding fault_beside_gap(const std::string& reason, Placement placement) const;
  void use_shape(int32_t shape);
  uint8_t* oracle_case(int32_t draw) const { return oracle_.arena() + draw * packed().bytes; }
  const CallLayout& packed() const { return laid_[size_t(Placement::kPacked)].layout; }

  const ProcedureOptions& options_;
  const std::vector<Toolchain>& tools_;
  Roofs& roofs_;
  OracleProcess& oracle_;
  RunnerProcess& runner_;
  const Task& task_;
  uint32_t task_index_;

  std::string object_;
  VerdictTurns turns_{0};                 // of the next draws
  Fill fill_;                             // the fill of the last call
  std::array<Fill, kDrawsAtOnce> fills_;  // the fill of the last call on each draw
  int32_t shape_index_ = 0;               // the number of the shape of the calls being made
  const Shape* shape_ = nullptr;          // that shape
  // Where its buffers lie, by Placement. The oracle's are always packed.
  struct Laid {
    CallLayout layout;
    CallArguments arguments;
  };
  std::array<Laid, 3> laid_;
  EmptyCall empty_runner_, empty_oracle_;
  double handover_us_ = 0;  // hand-over time of the candidate's next call
  int64_t unmeasured_ = 0;  // pairs with a call that took no longer than an empty one
  TimedPairs pairs_;        // times of the timed calls, without the time of empty ones
  ShapeTimes times_;        // at the timed shapes that are done
  Verdict verdict_;
};

}  // namespace temper::env
