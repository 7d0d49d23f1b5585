#include "policy/ranks/activity.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "policy/ranks/transport.h"

namespace temper::policy {
namespace {

std::atomic<const char*> g_phase{"start-up"};
std::atomic<const char*> g_collective{nullptr}, g_device_collective{nullptr};
std::atomic<const std::string*> g_failed_call{
    nullptr};  // never taken down: a thread may read it to the very end
std::atomic<uint64_t> g_progress{0};
std::function<void()> g_listener;  // the main thread's
int g_depth = 0;                   // nesting of its phases

bool is_place(const std::string& wanted, std::string_view place) {
  return place == wanted || place.starts_with(wanted + " of ");
}

}  // namespace

std::string fail_if_asked(const char* place) {
  static const char* const fault = std::getenv("TEMPER_FAULT");
  if (!fault) return "";
  const std::string wanted = fault;
  const size_t colon = wanted.rfind(':'), at = wanted.rfind('@');
  if (colon == std::string::npos || !is_place(wanted.substr(0, colon), place)) return "";
  static std::atomic<int> came{0};
  if (++came != (at == std::string::npos ? 1 : std::atoi(wanted.c_str() + at + 1))) return "";
  const std::string kind = wanted.substr(colon + 1, at == std::string::npos ? at : at - colon - 1);
  if (kind == "kill") ::raise(SIGKILL);
  if (kind == "crash") ::raise(SIGSEGV);
  if (kind == "stop") ::raise(SIGSTOP);
  if (kind == "exit") ::_exit(0);
  if (kind == "interrupt") ::raise(SIGTERM);
  if (kind == "throw") throw WorldError("this failure was asked for");
  while (kind == "hang") ::sleep(1);
  if (kind == "slow") ::sleep(15);
  return kind;
}

Phase::Phase(const char* name) : before_(g_phase.exchange(name)), exceptions_(std::uncaught_exceptions()) {
  made_progress();
  if (g_listener) g_listener();
  const bool within_itself = g_depth++ > 0 && std::string_view(before_) == name;
  if (!within_itself) fail_if_asked(name);
}

Phase::~Phase() {
  --g_depth;
  if (std::uncaught_exceptions() != exceptions_) return;
  g_phase = before_;
  if (g_listener) g_listener();
}

CollectiveWait::CollectiveWait(const char* name)
    : exceptions_(std::uncaught_exceptions()), fault_(fail_if_asked(name)) {
  if (const std::string why = failed_call(); !why.empty()) throw LostRanks("{}", why);
  g_collective = name;
}

CollectiveWait::~CollectiveWait() {
  if (std::uncaught_exceptions() == exceptions_) g_collective = nullptr;
  made_progress();
}

void listen_to_phases(std::function<void()> listener) { g_listener = std::move(listener); }

void made_progress() { g_progress.fetch_add(1, std::memory_order_relaxed); }

void device_waits_in(const char* name) { g_device_collective = name; }

void report_failed_call(const std::string& why) {
  const std::string* none = nullptr;
  if (why.empty())
    g_failed_call = nullptr;
  else if (!g_failed_call.load())
    g_failed_call.compare_exchange_strong(none, new std::string(why));
}

std::string failed_call() {
  const std::string* why = g_failed_call.load();
  return why ? *why : "";
}

Activity present_activity() {
  const char* collective = g_collective.load();
  if (!collective) collective = g_device_collective.load();
  return {g_phase.load(), g_progress.load(), collective ? collective : ""};
}

}  // namespace temper::policy
