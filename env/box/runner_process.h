#pragma once
// The broker's side of a runner: a process that locks itself up and then becomes one candidate.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "env/box/call_time.h"
#include "env/box/namespaces.h"
#include "env/box/shared_memory.h"
#include "env/call/case.h"
#include "env/call/protocol.h"

namespace temper::env {

struct RunnerOptions {
  std::string program;  // temper-runner
  int64_t memory_bytes = int64_t(1) << 30;
  int64_t cpu_s = 10;
  int64_t arena_bytes = 0;  // ≥ any case and any object
  uid_t user = 65534;       // the user that it becomes if we are root
};

struct CallArguments {
  std::vector<int64_t> tensor_offsets = {}, dims = {};
  std::vector<int64_t> gaps = {};  // CallLayout::gaps
};
CallArguments arguments_of(const Task& task, const Shape& shape, const CallLayout& layout);

class RunnerProcess {
 public:
  // Starts it and returns at once; it gets ready by itself. Errors: WorldError.
  explicit RunnerProcess(const RunnerOptions& options);

  // Waits until it is locked up. Errors: WorldError in the runner's words if a step failed.
  void wait_ready();
  bool user_dropped() const { return user_dropped_; }
  // Times of empty hand-overs, before `load`, while nothing in it is foreign.
  std::vector<CallTime> null_calls();
  // Makes one empty hand-over, which call_time() then times. "" or why there is no answer. It may come after
  // `load`, too: a candidate can only make it longer, and the least of many is what counts.
  std::string call_nothing();

  // The candidate runs from here on. "" or why it cannot be called: load_error, timeout, signal_N, exit_N, …
  // `detail` gets the loader's words. `budget` bounds this and all calls together.
  std::string load(const std::string& object, std::chrono::nanoseconds budget, std::string& detail);

  // Calls the candidate and freezes it again. "" or why there is no answer.
  std::string call(const CallArguments& arguments);
  CallTime call_time() const { return call_time_; }  // time of the last call, hand-over included
  // From now on all calls together may take this long, whatever the load and earlier calls took.
  void renew_budget(std::chrono::nanoseconds budget) { budget_ = budget; }

  uint8_t* arena() const { return arena_.data(); }
  int64_t arena_bytes() const { return arena_.bytes(); }
  void kill() { process_.kill(); }

 private:
  std::string failure_without_reply();
  std::string await_answer(uint32_t number);
  std::string death(std::chrono::milliseconds wait);
  ControlPage& page() const { return *reinterpret_cast<ControlPage*>(page_.data()); }

  Fd socket_;
  Mapping arena_, page_;
  BoxProcess process_;
  uint32_t number_ = 0;
  bool ready_ = false, user_dropped_ = false;
  std::chrono::nanoseconds budget_{0};
  CallWatch watch_;
  CallTime call_time_;
};

}  // namespace temper::env
