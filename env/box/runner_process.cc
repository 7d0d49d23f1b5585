#include "env/box/runner_process.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/error.h"
#include "base/machine/child_process.h"
#include "env/box/clock.h"
#include "env/box/execute.h"
#include "env/box/wire.h"
#include "env/call/handover.h"

namespace temper::env {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kReadyTimeout{20'000};
constexpr nanoseconds kDeathCheck{2'000'000};  // how long a dead runner can look like a slow one
// For one that is ending to end, so that it is known how. It takes a moment, or many on a busy machine.
constexpr milliseconds kLastWords{2'000};
constexpr int kNullCalls = 15;

}  // namespace

CallArguments arguments_of(const Task& task, const Shape& shape, const CallLayout& layout) {
  CallArguments arguments{.dims = dim_arguments(task, shape), .gaps = layout.gaps};
  for (const auto* buffers : {&layout.inputs, &layout.outputs})
    for (const Buffer& buffer : *buffers) arguments.tensor_offsets.push_back(buffer.offset);
  return arguments;
}

RunnerProcess::RunnerProcess(const RunnerOptions& options) {
  require_program(options.program);
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw system_error("create a socket pair");
  socket_ = Fd(pair[0]);
  const Fd theirs(pair[1]);
  const Fd arena = sealed_memory("arena", options.arena_bytes),
           page = sealed_memory("page", sizeof(ControlPage));
  arena_ = Mapping(arena.get(), options.arena_bytes);
  page_ = Mapping(page.get(), sizeof(ControlPage));
  const std::vector<std::string> argv{options.program, std::to_string(options.memory_bytes),
                                      std::to_string(options.cpu_s), std::to_string(options.user)};
  const std::vector<std::string> environment{"OMP_NUM_THREADS=1", "OMP_THREAD_LIMIT=1", "LC_ALL=C"};
  const std::vector<int> descriptors{theirs.get(), arena.get(), page.get()};
  process_ = BoxProcess::start([&] { return execute(argv, environment, descriptors, false); });
  watch_ = CallWatch(process_.pid());
}

void RunnerProcess::wait_ready() {
  if (ready_) return;
  const auto reply = receive_wire<RunnerReply>(socket_.get(), 0, kReadyTimeout);
  if (!reply) throw WorldError("the runner does not start ({})", death(milliseconds(1000)));
  ready_ = true;
  user_dropped_ = reply->user_dropped != 0;
  if (reply->status != RunnerStatus::kReady)
    throw WorldError("the sandbox cannot be made: {}", text_of(reply->error));
}

std::vector<CallTime> RunnerProcess::null_calls() {
  std::vector<CallTime> times;
  budget_ = kReadyTimeout;
  for (int i = 0; i < kNullCalls; ++i) {
    const std::string failed = call_nothing();
    if (!failed.empty()) throw WorldError("the runner does not answer ({})", failed);
    times.push_back(call_time_);
  }
  return times;
}

std::string RunnerProcess::call_nothing() {
  page().null_call = 1;
  const std::string failed = call({});
  page().null_call = 0;
  return failed;
}

std::string RunnerProcess::load(const std::string& object, nanoseconds budget, std::string& detail) {
  TEMPER_CHECK(int64_t(object.size()) <= arena_.bytes());
  budget_ = budget;
  std::copy(object.begin(), object.end(), arena_.data());
  process_.signal(SIGCONT);
  start_call(page(), kStopServing);
  RunnerRequest request;
  request.object_bytes = int64_t(object.size());
  if (!send_wire(socket_.get(), request, 1)) return death(milliseconds(1000));
  const nanoseconds start = raw_clock();
  const auto reply =
      receive_wire<RunnerReply>(socket_.get(), 1, std::chrono::duration_cast<milliseconds>(budget_));
  process_.signal(SIGSTOP);
  budget_ -= raw_clock() - start;
  if (!reply) return failure_without_reply();
  if (reply->status == RunnerStatus::kLoaded) return "";
  detail = text_of(reply->error);
  return "load_error";
}

std::string RunnerProcess::call(const CallArguments& arguments) {
  ControlPage& shared = page();
  shared.tensors = uint32_t(arguments.tensor_offsets.size());
  shared.dims = uint32_t(arguments.dims.size());
  std::copy(arguments.tensor_offsets.begin(), arguments.tensor_offsets.end(), shared.tensor_offset);
  std::copy(arguments.dims.begin(), arguments.dims.end(), shared.dim);
  shared.gaps = uint32_t(arguments.gaps.size());
  std::copy(arguments.gaps.begin(), arguments.gaps.end(), shared.gap_offset);
  shared.done.store(0, std::memory_order_relaxed);
  // All that the candidate's process ever runs lies between the two readings, whatever woke it.
  // It is asked before it may run, and has stopped before the second reading: else what waking and stopping
  // take would lie within or without by chance.
  watch_.start();
  start_call(shared, ++number_);
  process_.signal(SIGCONT);
  const std::string failed = await_answer(number_);
  process_.stop();
  call_time_ = watch_.stop();
  budget_ -= call_time_.wall;
  return failed;
}

std::string RunnerProcess::await_answer(uint32_t number) {
  const nanoseconds deadline = raw_clock() + budget_;
  for (;;) {
    const nanoseconds left = deadline - raw_clock();
    if (left.count() <= 0) return "timeout";
    if (wait_for_answer(page(), number, std::min(left, kDeathCheck))) return "";
    if (const std::string ended = death(milliseconds(0)); ended != "timeout") return ended;
  }
}

std::string RunnerProcess::failure_without_reply() {
  if (budget_.count() <= 0) return "timeout";
  process_.signal(SIGCONT);  // a stopped process ends too, but let one that is ending do so
  const std::string ended = death(kLastWords);
  return ended == "timeout" ? "protocol" : ended;
}

// How it ended, or "timeout" if it still runs after `wait`.
std::string RunnerProcess::death(milliseconds wait) {
  if (!process_.running()) return "exit";
  const auto status = process_.wait(wait);
  if (!status) return "timeout";
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 128 + SIGABRT) return fmt::format("signal_{}", SIGABRT);
  return WIFEXITED(*status) ? "exit" : describe_wait_status(*status);
}

}  // namespace temper::env
