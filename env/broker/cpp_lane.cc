#include "env/broker/cpp_lane.h"

#include "base/error.h"
#include "base/files.h"
#include "env/box/core_lease.h"
#include "env/box/lockdown.h"
#include "env/procedure/naive.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

ProcedureOptions procedure_options(const LaneSetup& setup) {
  ProcedureOptions options;
  options.compile.wall = std::chrono::milliseconds(int64_t(setup.compile_timeout_s * 1e3));
  options.compile.memory_bytes = setup.memory_mb << 20;
  options.run_budget = std::chrono::nanoseconds(int64_t(setup.run_timeout_s * 1e9));
  options.min_pairs = setup.min_pairs;
  options.max_pairs = setup.max_pairs;
  options.user = lane_user();
  options.core = setup.core;
  return options;
}

std::vector<Toolchain> toolchains() {
  std::vector<std::string> newer = kCpp.compiler_flags;
  newer.insert(newer.end(), kCpp.newer_flags.begin(), kCpp.newer_flags.end());
  return {find_toolchain(kCpp.compiler_flags, kCpp.entry_symbol), find_toolchain(newer, kCpp.entry_symbol)};
}

}  // namespace

CppLane::CppLane(const LaneSetup& setup) : setup_(setup), program_dir_(executable_dir().string()) {
  start_oracle();
  tools_ = toolchains();
  const std::string alive = first_call_not_killed();
  if (!alive.empty()) throw WorldError("the sandbox does not hold: {} is possible", alive);
  options_ = procedure_options(setup);
  runner_options_ = runner_options();
  start_runner();
  runner_->wait_ready();
  oracle_->wait_ready();
  roofs_ = measure_roofs();
}

LaneReady CppLane::ready() const {
  return {.level = sandbox_level(runner_->user_dropped()),
          .machine = description(tools_[0]) + "; or " + description(tools_[1])};
}

LaneAnswer CppLane::judge(const LaneRequest& request) {
  Verdict verdict;
  try {
    if (!oracle_) start_oracle(), oracle_->wait_ready();
    if (!runner_) start_runner();
    Procedure procedure(options_, tools_, roofs_, *oracle_, *runner_, setup_.tasks, request.task);
    verdict = procedure.judge(request.source);
    if (setup_.naive && !procedure.object().empty())
      verdict.naive = ask_naive(request.task, procedure.object());
  } catch (const std::exception& e) {
    oracle_.reset();  // whatever failed, the next candidate starts with fresh boxes
    verdict = infra(e.what());
  }
  runner_.reset();
  return {verdict};
}

NaiveVerdict CppLane::ask_naive(uint32_t task, const std::string& object) {
  start_runner();
  return naive_verdict(options_, *oracle_, *runner_, setup_.tasks[task], task, object);
}

// The next runner starts up, and will be judged in when it is ready.
void CppLane::prepare() {
  try {
    if (!runner_) start_runner();
  } catch (const std::exception&) {
    runner_.reset();  // said by the next candidate's verdict, if it lasts
  }
}

RunnerOptions CppLane::runner_options() const {
  return {.program = program_dir_ + "/temper-runner",
          .memory_bytes = setup_.memory_mb << 20,
          .cpu_s = most_budgets(most_timed(setup_.tasks)) * int64_t(setup_.run_timeout_s) + 2,
          .arena_bytes = std::max(largest_laid_case(setup_.tasks), options_.compile.object_bytes),
          .user = options_.user};
}

void CppLane::start_oracle() { oracle_.emplace(program_dir_ + "/temper-oracle", setup_.tasks); }
void CppLane::start_runner() { runner_.emplace(runner_options_); }

}  // namespace temper::env
