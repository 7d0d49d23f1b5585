// temper-broker: one lane of a judge. On descriptor 3 it is told once what to judge and with which limits
// (env/lane_messages.h), and then gets one candidate after another.

#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "env/box/core_lease.h"
#include "env/box/lockdown.h"
#include "env/broker/naive.h"
#include "env/broker/procedure.h"
#include "env/lane_messages.h"
#include "env/message.h"

namespace temper {
namespace {

constexpr int kSocket = 3;
constexpr uid_t kFirstBoxUser = 100'000;  // one a broker, so that limits count its own processes alone

class Broker {
 public:
  explicit Broker(const LaneSetup& setup) : setup_(setup), program_dir_(executable_dir().string()) {
    pin_to_core(setup.core);
    start_oracle();
    tools_ = find_toolchain(kCpp.compiler_flags, kCpp.entry_point);
    const std::string alive = first_call_not_killed();
    if (!alive.empty()) throw WorldError("the sandbox does not hold: {} is possible", alive);
    options_ = procedure_options(setup);
    runner_options_ = runner_options();
    start_runner();
    runner_->wait_ready();
    oracle_->wait_ready();
    roofs_ = measure_roofs();
  }

  LaneReady ready() const {
    return {.level = std::string("S2 (namespaces, private root, rlimits, seccomp") +
                     (runner_->user_dropped() ? ", user dropped)" : ")"),
            .machine = description(tools_)};
  }

  Verdict judge(uint32_t task, const std::string& source) {
    Verdict verdict;
    try {
      if (!oracle_) start_oracle(), oracle_->wait_ready();
      if (!runner_) start_runner();
      Procedure procedure(options_, tools_, roofs_, empty_, *oracle_, *runner_, setup_.tasks, task);
      verdict = procedure.judge(source);
      if (setup_.naive && !procedure.object().empty()) verdict.naive = ask_naive(task, procedure.object());
    } catch (const std::exception& e) {
      oracle_.reset();  // whatever failed, the next candidate starts with fresh boxes
      verdict.kind = VerdictKind::kInfra;
      verdict.reason = scrub(e.what());
      verdict.message = verdict_message(verdict);
    }
    runner_.reset();
    return verdict;
  }

  NaiveVerdict ask_naive(uint32_t task, const std::string& object) {
    start_runner();
    return naive_verdict(options_, *oracle_, *runner_, setup_.tasks[task], task, object);
  }

  // While no candidate waits: the next runner starts up, and will be judged in when it is ready.
  void prepare() {
    try {
      if (!runner_) start_runner();
    } catch (const std::exception&) {
      runner_.reset();  // said by the next candidate's verdict, if it lasts
    }
  }

 private:
  static ProcedureOptions procedure_options(const LaneSetup& setup) {
    ProcedureOptions options;
    options.compile.wall = std::chrono::milliseconds(int64_t(setup.compile_timeout_s * 1e3));
    options.compile.memory_bytes = setup.memory_mb << 20;
    options.run_budget = std::chrono::nanoseconds(int64_t(setup.run_timeout_s * 1e9));
    options.min_pairs = setup.min_pairs;
    options.max_pairs = setup.max_pairs;
    options.user = kFirstBoxUser + uid_t(::getpid());
    options.core = setup.core;
    return options;
  }

  RunnerOptions runner_options() const {
    return {.program = program_dir_ + "/temper-runner",
            .memory_bytes = setup_.memory_mb << 20,
            .cpu_s = int64_t(setup_.run_timeout_s) + 2,
            .arena_bytes = std::max(largest_case(setup_.tasks), options_.compile.object_bytes),
            .user = options_.user};
  }

  void start_oracle() { oracle_.emplace(program_dir_ + "/temper-oracle", setup_.tasks); }
  void start_runner() { runner_.emplace(runner_options_); }

  LaneSetup setup_;
  std::string program_dir_;
  ProcedureOptions options_;
  RunnerOptions runner_options_;
  Toolchain tools_;
  Roofs roofs_;
  EmptyCalls empty_;
  std::optional<OracleProcess> oracle_;
  std::optional<RunnerProcess> runner_;
};

std::optional<Broker> start(const std::string& setup) {
  LaneReady ready;
  std::optional<Broker> broker;
  try {
    broker.emplace(lane_setup_from(setup));
    ready = broker->ready();
  } catch (const ConfigError& e) {
    ready = {.error = e.what(), .user_error = true};
  } catch (const std::exception& e) {
    ready = {.error = e.what()};
  }
  if (!send_message(kSocket, to_text(ready)) || !ready.error.empty()) broker.reset();
  return broker;
}

int run() {
  const auto setup = receive_message(kSocket);
  if (!setup) return kExitOk;
  auto broker = start(*setup);
  if (!broker) return kExitWorld;
  for (;;) {
    const auto message = receive_message(kSocket);
    if (!message) return kExitOk;
    const LaneRequest request = lane_request_from(*message);
    if (!send_message(kSocket, to_text(broker->judge(request.task, request.source)))) return kExitOk;
    broker->prepare();
  }
}

}  // namespace
}  // namespace temper

int main() { return temper::run(); }
