// temper-runner MEMORY_BYTES CPU_S USER: locks itself up, then becomes the candidate. Single use.
//
// Everything before `load_candidate` is our own code; everything after it is not, and nothing here is
// believed then.

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>

#include <cstring>

#include "base/error.h"
#include "env/box/lockdown.h"
#include "env/box/private_root.h"
#include "env/box/shared_memory.h"
#include "env/box/wire.h"
#include "env/handover.h"

namespace temper {
namespace {

constexpr int kSocket = 3, kArena = 4, kPage = 5;
constexpr int64_t kRootBytes = 8 << 20;  // the object's file lies in the private root
constexpr const char* kObjectPath = "/candidate.so";
constexpr auto kForEver = std::chrono::milliseconds(-1);

// As init of a pid namespace we would survive abort(): end as a shell would report it.
void on_abort(int) { ::_exit(128 + SIGABRT); }

Fd lock_up(char** arguments, bool& user_dropped) {
  enter_private_root(kRootBytes, {});
  Fd object(::open(kObjectPath, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644));
  if (!object) throw system_error("create the object's file");
  apply_limits({.memory_bytes = std::stoll(arguments[1]),
                .cpu_s = std::stoll(arguments[2]),
                .file_bytes = kRootBytes,
                .open_files = 32});
  user_dropped = drop_privileges(uid_t(std::stoul(arguments[3])));
  ::signal(SIGABRT, on_abort);
  allow_only_candidate_calls();
  const std::string door = first_open_door();
  if (!door.empty()) throw WorldError("the sandbox does not hold: {} works", door);
  return object;
}

void reply(RunnerStatus status, uint32_t sequence, std::string_view error = "", bool user_dropped = false) {
  RunnerReply message;
  message.user_dropped = user_dropped;
  message.header = {.bytes = sizeof message, .sequence = sequence};
  message.status = status;
  error.copy(message.error, sizeof message.error - 1);
  if (::write(kSocket, &message, sizeof message) != ssize_t(sizeof message)) ::_exit(1);
}

// Arguments are pointers and integers only, which the calling conventions of 64-bit machines pass alike: a
// callee that takes fewer ignores the rest.
using Argument = int64_t;
using Entry = void (*)(Argument, Argument, Argument, Argument, Argument, Argument, Argument, Argument,
                       Argument, Argument, Argument, Argument, Argument, Argument, Argument, Argument,
                       Argument, Argument, Argument, Argument, Argument, Argument, Argument, Argument);
static_assert(kMaxTensors + kMaxDims == 24);

void call(Entry entry, const ControlPage& page, uint8_t* arena) {
  Argument a[kMaxTensors + kMaxDims] = {};
  const uint32_t tensors = std::min<uint32_t>(page.tensors, kMaxTensors);
  for (uint32_t i = 0; i < tensors; ++i) a[i] = Argument(arena + page.tensor_offset[i]);
  for (uint32_t i = 0; i < std::min<uint32_t>(page.dims, kMaxDims); ++i) a[tensors + i] = page.dim[i];
  entry(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15],
        a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23]);
}

// Answers calls after `last` until told to stop. Without an entry point it only hands the core back.
void serve(Entry entry, ControlPage& page, uint8_t* arena, uint32_t last) {
  for (;;) {
    last = wait_for_call(page, last);
    if (last == kStopServing) return;
    if (entry != nullptr && page.null_call == 0) call(entry, page, arena);
    answer_call(page, last);
  }
}

Entry load_candidate(Fd file, const uint8_t* object, int64_t bytes, uint32_t sequence) {
  if (::write(file.get(), object, size_t(bytes)) != bytes) ::_exit(1);
  file = Fd();
  void* library = ::dlopen(kObjectPath, RTLD_NOW | RTLD_LOCAL);
  void* entry = library != nullptr ? ::dlsym(library, "kernel") : nullptr;
  if (entry == nullptr) {
    const char* error = ::dlerror();
    std::string_view words = error != nullptr ? error : "no entry point";
    if (words.starts_with(kObjectPath)) words.remove_prefix(std::strlen(kObjectPath) + std::strlen(": "));
    reply(RunnerStatus::kLoadFailed, sequence, words);
    ::_exit(1);
  }
  reply(RunnerStatus::kLoaded, sequence);
  ::close(kSocket);
  return reinterpret_cast<Entry>(entry);
}

void run(char** arguments) {
  const Mapping arena = map_whole(kArena), page_memory = map_whole(kPage);
  auto& page = *reinterpret_cast<ControlPage*>(page_memory.data());
  ::close(kArena);
  ::close(kPage);
  bool user_dropped = false;
  Fd file = lock_up(arguments, user_dropped);
  reply(RunnerStatus::kReady, 0, "", user_dropped);
  serve(nullptr, page, arena.data(), 0);
  RunnerRequest request;
  if (::read(kSocket, &request, sizeof request) != ssize_t(sizeof request)) return;
  const Entry entry =
      load_candidate(std::move(file), arena.data(), request.object_bytes, request.header.sequence);
  serve(entry, page, arena.data(), kStopServing);
}

}  // namespace
}  // namespace temper

int main(int count, char** arguments) {
  if (count != 4) return temper::kExitUser;
  try {
    temper::run(arguments);
  } catch (const std::exception& e) {
    temper::reply(temper::RunnerStatus::kSandboxFailed, 0, e.what());
  }
  return 1;
}
