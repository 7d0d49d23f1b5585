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
  // Where it is ignored, the kernel forgets how children ended.
  ::signal(SIGCHLD, SIG_DFL);
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
