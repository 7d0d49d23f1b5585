// temper-recorder MEMORY_BYTES CPU_S USER: a plan box. Locks itself up, loads a candidate beside the
// recording CUDA runtime, and calls its launcher twice for each shape. Single use.
//
// After `load` untrusted code runs in this process and its messages are not trusted: it can only produce a plan, and
// the receiver checks plans.

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/machine/surroundings.h"
#include "env/box/candidate_box.h"
#include "env/box/shared_memory.h"
#include "env/box/wire.h"
#include "env/plan/recorder/recorder.h"
#include "env/plan/recorder/undefined.h"
#include "env/plan/recorder_protocol.h"

namespace temper::env {
namespace {

constexpr int kSocket = 3, kArena = 4;
constexpr size_t kSignalStack = 64 << 10;
int probe[2] = {-1, -1};  // a pipe
uint32_t sequence = 0;    // sequence number of the current request

void reply(RecorderReply message) {
  message.header = {.bytes = sizeof message, .sequence = sequence};
  if (::write(kSocket, &message, sizeof message) != ssize_t(sizeof message)) ::_exit(1);
}

void reply(RecorderStatus status, bool user_dropped = false, int64_t plan_bytes = 0) {
  RecorderReply message;
  message.status = status;
  message.user_dropped = user_dropped;
  message.plan_bytes = plan_bytes;
  reply(message);
}

void reply_sandbox_failed(std::string_view what) {
  RecorderReply message;
  what.copy(message.detail, sizeof message.detail - 1);
  reply(message);
}

[[noreturn]] void fail(const Finding& failure) { fail(failure.kind, failure.reason, failure.detail); }

// An access to GPU memory is reported. Any other fault ends the process as it would without this handler.
void on_fault(int number, siginfo_t* info, void*) {
  if (Recorder::get().find(info->si_addr))
    fail_plan("host_read",
              "launch touches GPU memory on the host, where it is not; only kernels can read and write it");
  ::signal(number, SIG_DFL);
}

void at_exit() {
  const std::string& refused = Recorder::get().refused();
  if (!refused.empty()) fail(VerdictKind::kFailRuntime, "cuda_error", refused);
}

void catch_faults() {
  static char stack[kSignalStack];
  const stack_t own{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  if (::sigaltstack(&own, nullptr) != 0 || ::sigaction(SIGSEGV, &action, nullptr) != 0)
    throw system_error("catch faults");
  std::atexit(at_exit);
}

using Argument = int64_t;
using Entry = void (*)(Argument, Argument, Argument, Argument, Argument, Argument, Argument, Argument,
                       Argument, Argument, Argument, Argument, Argument, Argument, Argument, Argument,
                       Argument, Argument, Argument, Argument, Argument, Argument, Argument, Argument,
                       Argument);

Entry load(const RecorderRequest& request, const Mapping& arena, Fd file) {
  const int64_t size = arena.bytes();
  if (request.object_bytes < 0 || request.cubin_bytes < 0 || request.object_bytes > size ||
      request.cubin_bytes > size - request.object_bytes)
    ::_exit(1);
  const auto* object = arena.data();
  Cubin cubin;
  const std::string_view bytes(reinterpret_cast<const char*>(object + request.object_bytes),
                               size_t(request.cubin_bytes));
  const std::string unreadable = read_cubin(bytes, cubin);
  if (!unreadable.empty()) fail(VerdictKind::kFailCompile, "cubin", unreadable);
  Recorder::get().set_up(std::move(cubin), request.target, request.workspace_bytes);
  std::string error;
  void* library = load_object(std::move(file), object, request.object_bytes, error);
  constexpr std::string_view kUndefined = "undefined symbol: ";
  if (error.starts_with(kUndefined)) {
    const std::string name = error.substr(kUndefined.size());
    fail(undefined_symbol(name.substr(0, name.find_first_of(" ,"))));
  }
  void* entry = library != nullptr ? ::dlsym(library, "launch") : nullptr;
  if (entry == nullptr) fail_plan("load_error", error.empty() ? "there is no launch" : error);
  return reinterpret_cast<Entry>(entry);
}

// Clears the stack, because the padding of structures that are passed by value would contain data of earlier calls.
[[gnu::noinline]] void clear_stack() {
  char below[256 << 10];
  std::memset(below, 0, sizeof below);
  asm volatile("" : : "r"(below) : "memory");  // somebody might look: else all this is left out
}

void call(Entry entry, const Argument (&a)[kMaxTensors + kMaxDims + 1]) {
  static_assert(kMaxTensors + kMaxDims + 1 == 25);
  entry(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15],
        a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24]);
}

Recording run(Entry entry, const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs,
              const RecorderRequest& request) {
  Recorder& recorder = Recorder::get();
  recorder.begin_run(inputs, outputs);
  Argument a[kMaxTensors + kMaxDims + 1] = {};  // the last: a stream, 0
  size_t count = 0;
  for (const DeviceBuffer& buffer : recorder.task_buffers()) a[count++] = Argument(buffer.address);
  for (uint32_t i = 0; i < request.dims; ++i) a[count++] = request.dim[i];
  clear_stack();
  try {
    call(entry, a);
  } catch (const std::exception& e) {
    fail(VerdictKind::kFailRuntime, "exception", fmt::format("launch throws: {}", e.what()));
  } catch (...) {
    fail(VerdictKind::kFailRuntime, "exception", "launch throws");
  }
  return recorder.end_run();
}

void record(Entry entry, const RecorderRequest& request, const Mapping& arena) {
  if (request.inputs > uint32_t(kMaxTensors) || request.outputs > kMaxTensors - request.inputs ||
      request.dims > uint32_t(kMaxDims))
    ::_exit(1);
  const int64_t* bytes = request.buffer_bytes;
  const std::vector<int64_t> inputs(bytes, bytes + request.inputs),
      outputs(bytes + request.inputs, bytes + request.inputs + request.outputs);
  const Recording first = run(entry, inputs, outputs, request);
  const Recording second = run(entry, inputs, outputs, request);
  LaunchPlan plan;
  if (const auto failure = resolve(first, second, Recorder::get().settings(), plan)) fail(*failure);
  const std::string text = serialize(plan);
  if (text.size() > kMaxPlanBytes) fail_plan("too_many_steps", "the plan is too large; launch fewer kernels");
  std::copy(text.begin(), text.end(), arena.data());
  reply(RecorderStatus::kPlanned, false, int64_t(text.size()));
}

bool next_request(RecorderRequest& request) {
  if (::read(kSocket, &request, sizeof request) != ssize_t(sizeof request)) return false;
  sequence = request.header.sequence;
  return true;
}

void serve(char** arguments) {
  const Mapping arena = map_whole(kArena);
  ::close(kArena);
  if (::pipe2(probe, O_CLOEXEC) != 0) throw system_error("make a pipe");
  CandidateBox box =
      lock_up(std::stoll(arguments[1]), std::stoll(arguments[2]), uid_t(std::stoul(arguments[3])));
  catch_faults();
  reply(RecorderStatus::kReady, box.user_dropped);
  RecorderRequest request;
  if (!next_request(request) || request.op != RecorderOp::kLoad) return;
  const Entry entry = load(request, arena, std::move(box.object));
  reply(RecorderStatus::kLoaded);
  while (next_request(request)) record(entry, request, arena);
}

}  // namespace

[[noreturn]] void fail(VerdictKind kind, const std::string& reason, const std::string& detail) {
  RecorderReply message;
  message.status = RecorderStatus::kFailed;
  message.kind = uint32_t(kind);
  reason.copy(message.reason, sizeof message.reason - 1);
  detail.copy(message.detail, sizeof message.detail - 1);
  reply(message);
  ::_exit(0);
}

bool readable_on_host(const void* pointer) {
  constexpr uint64_t kLowest = 1 << 16, kHighest = uint64_t(1) << 47;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  char byte;
  return address >= kLowest && address < kHighest && ::write(probe[1], pointer, 1) == 1 &&
         ::read(probe[0], &byte, 1) == 1;
}

}  // namespace temper::env

int main(int count, char** arguments) {
  temper::begin_process();
  if (count != 4) return temper::kExitUser;
  try {
    temper::env::serve(arguments);
  } catch (const std::exception& e) {
    temper::env::reply_sandbox_failed(e.what());
  }
  return 1;
}
