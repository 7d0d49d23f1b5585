#include "base/process.h"

#include <signal.h>
#include <time.h>

#include <atomic>
#include <chrono>

#include "base/error.h"

namespace temper {
namespace {

constexpr int64_t kSameRequest_ns = 100'000'000;

std::atomic<int64_t> g_interrupted_ns{0};  // by the first signal; 0: none
std::atomic<bool> g_told{false};           // without one

// It may be called in a handler of signals.
int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Launchers such as timeout and mpirun send one request to the process and to its group.
void on_interrupt(int) {
  const int64_t now = monotonic_ns();
  int64_t first = 0;
  if (!g_interrupted_ns.compare_exchange_strong(first, now) && now - first > kSameRequest_ns)
    ::_exit(kExitInterrupted);
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  // A file that may not grow is an error of its write. A handler, unlike SIG_IGN, is not passed on to
  // children.
  action.sa_handler = [](int) {};
  ::sigaction(SIGXFSZ, &action, nullptr);
  // Whoever started this process may have blocked signals, or have let its children go without a word.
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool interrupted() { return g_interrupted_ns.load(std::memory_order_relaxed) != 0 || g_told; }

void interrupt() { g_told = true; }

void forget_interrupt() {
  g_interrupted_ns = 0;
  g_told = false;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace temper
