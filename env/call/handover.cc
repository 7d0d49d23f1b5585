#include "env/call/handover.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace temper::env {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
              std::atomic<uint32_t>::is_always_lock_free);

void futex_wait(std::atomic<uint32_t>& word, uint32_t seen, const timespec* timeout) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, timeout, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace

uint32_t wait_for_call(ControlPage& page, uint32_t last) {
  for (;;) {
    const uint32_t number = page.go.load(std::memory_order_acquire);
    if (number != last) return number;
    futex_wait(page.go, last, nullptr);
  }
}

void answer_call(ControlPage& page, uint32_t number) {
  page.done.store(number, std::memory_order_release);
  futex_wake(page.done);
}

void start_call(ControlPage& page, uint32_t number) {
  page.go.store(number, std::memory_order_release);
  futex_wake(page.go);
}

bool wait_for_answer(ControlPage& page, uint32_t number, std::chrono::nanoseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const uint32_t seen = page.done.load(std::memory_order_acquire);
    if (seen == number) return true;
    const int64_t left = (deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    const timespec wait{left / 1'000'000'000, left % 1'000'000'000};
    futex_wait(page.done, seen, &wait);
  }
}

}  // namespace temper::env
