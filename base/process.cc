#include "base/process.h"

#include <signal.h>

#include <atomic>
#include <chrono>

#include "base/error.h"

namespace temper {
namespace {

std::atomic<int> g_interrupts{0};  // signals
std::atomic<bool> g_told{false};   // without one

void on_interrupt(int) {
  if (g_interrupts.fetch_add(1) > 0) ::_exit(kExitInterrupted);
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

bool interrupted() { return g_interrupts.load(std::memory_order_relaxed) > 0 || g_told; }

void interrupt() { g_told = true; }

void forget_interrupt() {
  g_interrupts = 0;
  g_told = false;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace temper
