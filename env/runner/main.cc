// temper-runner MEMORY_BYTES CPU_S USER: locks itself up, then becomes the candidate. Single use.
//
// Everything before `load_candidate` is our own code; everything after it is not, and nothing here is
// believed then.

#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/machine/surroundings.h"
#include "env/box/candidate_box.h"
#include "env/box/shared_memory.h"
#include "env/box/wire.h"
#include "env/call/case.h"
#include "env/call/handover.h"

namespace temper::env {
namespace {

constexpr int kSocket = 3, kArena = 4, kPage = 5;

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

void protect_gaps(const ControlPage& page, uint8_t* arena, int access) {
  for (uint32_t i = 0; i < std::min<uint32_t>(page.gaps, kMaxTensors + 1); ++i)
    if (::mprotect(arena + page.gap_offset[i], kGapBytes, access) != 0) ::_exit(1);
}

void call(Entry entry, const ControlPage& page, uint8_t* arena) {
  Argument a[kMaxTensors + kMaxDims] = {};
  const uint32_t tensors = std::min<uint32_t>(page.tensors, kMaxTensors);
  for (uint32_t i = 0; i < tensors; ++i) a[i] = Argument(arena + page.tensor_offset[i]);
  for (uint32_t i = 0; i < std::min<uint32_t>(page.dims, kMaxDims); ++i) a[tensors + i] = page.dim[i];
  protect_gaps(page, arena, PROT_NONE);
  entry(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15],
        a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23]);
  protect_gaps(page, arena, PROT_READ | PROT_WRITE);
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
  std::string error = "no entry point";
  void* library = load_object(std::move(file), object, bytes, error);
  void* entry = library != nullptr ? ::dlsym(library, "temper_kernel") : nullptr;
  if (entry == nullptr) {
    reply(RunnerStatus::kLoadFailed, sequence, error);
    ::_exit(1);
  }
  reply(RunnerStatus::kLoaded, sequence);
  ::close(kSocket);
  return reinterpret_cast<Entry>(entry);
}

// What the candidate allocates holds no zeros: large numbers of either sign, as floats and as integers.
void make_heap_unkind() {
  constexpr int kAllocated[] = {0x4B, 0x7E, 0xCB, 0xFE};
  int choice = 0;
  if (::getrandom(&choice, sizeof choice, 0) != ssize_t(sizeof choice)) ::_exit(1);
  ::mallopt(M_PERTURB, kAllocated[unsigned(choice) % 4] ^ 0xFF);
}

void run(char** arguments) {
  const Mapping arena = map_whole(kArena), page_memory = map_whole(kPage);
  auto& page = *reinterpret_cast<ControlPage*>(page_memory.data());
  ::close(kArena);
  ::close(kPage);
  CandidateBox box =
      lock_up(std::stoll(arguments[1]), std::stoll(arguments[2]), uid_t(std::stoul(arguments[3])));
  reply(RunnerStatus::kReady, 0, "", box.user_dropped);
  serve(nullptr, page, arena.data(), 0);
  RunnerRequest request;
  if (::read(kSocket, &request, sizeof request) != ssize_t(sizeof request)) return;
  make_heap_unkind();
  const Entry entry =
      load_candidate(std::move(box.object), arena.data(), request.object_bytes, request.header.sequence);
  serve(entry, page, arena.data(), kStopServing);
}

}  // namespace
}  // namespace temper::env

int main(int count, char** arguments) {
  temper::begin_process();
  if (count != 4) return temper::kExitUser;
  try {
    temper::env::run(arguments);
  } catch (const std::exception& e) {
    temper::env::reply(temper::env::RunnerStatus::kSandboxFailed, 0, e.what());
  }
  return 1;
}
