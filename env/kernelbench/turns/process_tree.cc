#include "env/kernelbench/turns/process_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "env/box/clock.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

constexpr nanoseconds kLastWait{1'000'000'000};  // for a process that was killed to end

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code gone;
  for (fs::directory_iterator at(fmt::format("/proc/{}/task", pid), gone), end; !gone && at != end;
       at.increment(gone))
    threads.push_back(pid_t(std::atoi(at->path().filename().c_str())));
  return threads;
}

// Of a thread: 'R', 'S', 'T', …; 'X' where it has ended.
char state_of(pid_t pid, pid_t thread) {
  const Fd file(::open(fmt::format("/proc/{}/task/{}/stat", pid, thread).c_str(), O_RDONLY | O_CLOEXEC));
  char text[512] = {};
  if (!file || ::read(file.get(), text, sizeof text - 1) <= 0) return 'X';
  const std::string_view line(text);
  const size_t name_ends = line.rfind(')');
  return name_ends == line.npos || name_ends + 2 >= line.size() ? 'X' : line[name_ends + 2];
}

bool all_stopped(pid_t pid) {
  constexpr std::string_view kStill = "TtXZ";  // stopped, or ended
  return std::ranges::all_of(threads_of(pid),
                             [&](pid_t thread) { return kStill.find(state_of(pid, thread)) != kStill.npos; });
}

// For kernels that keep no lists of children.
std::vector<pid_t> children_by_parent(pid_t pid) {
  std::vector<pid_t> children;
  std::error_code gone;
  for (fs::directory_iterator at("/proc", gone), end; !gone && at != end; at.increment(gone)) {
    const pid_t other = pid_t(std::atoi(at->path().filename().c_str()));
    std::ifstream file(at->path() / "status");
    for (std::string line; other > 0 && std::getline(file, line);)
      if (line == fmt::format("PPid:\t{}", pid)) children.push_back(other);
  }
  return children;
}

std::vector<pid_t> children_of(pid_t pid) {
  static const bool listed = fs::exists("/proc/thread-self/children");
  if (!listed) return children_by_parent(pid);
  std::vector<pid_t> children;
  for (const pid_t thread : threads_of(pid)) {
    std::ifstream file(fmt::format("/proc/{}/task/{}/children", pid, thread));
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

void send(const Fd& pidfd, int signal) {
  if (pidfd) ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
}

}  // namespace

ProcessTree::ProcessTree(pid_t init) : init_(init) {}

void ProcessTree::stop_one(pid_t pid, nanoseconds until) {
  Stopped one{pid, Fd(int(::syscall(SYS_pidfd_open, pid, 0)))};
  send(one.pidfd, SIGSTOP);
  while (!all_stopped(pid)) {
    if (raw_clock() > until) {
      send(one.pidfd, SIGKILL);
      break;
    }
    ::sched_yield();
  }
  stopped_.push_back(std::move(one));
}

// A parent is stopped before its children are listed, so that none escapes the list. The init is listed again in the end, as it
// inherits the children of those that ended meanwhile.
void ProcessTree::stop(nanoseconds patience) {
  const nanoseconds until = raw_clock() + patience;
  stopped_.clear();
  stop_one(init_, until);
  for (size_t before = 0; before != stopped_.size();) {
    before = stopped_.size();
    for (size_t i = 0; i < stopped_.size(); ++i)
      for (const pid_t child : children_of(stopped_[i].pid)) {
        const bool known =
            std::ranges::any_of(stopped_, [&](const Stopped& one) { return one.pid == child; });
        if (!known) stop_one(child, until);
      }
    if (raw_clock() > until + kLastWait) return;  // the kernel does not let go of it
    for (const Stopped& one : stopped_)
      if (!all_stopped(one.pid)) {
        send(one.pidfd, raw_clock() > until ? SIGKILL : SIGSTOP);
        before = 0;  // once more
      }
  }
}

void ProcessTree::resume() {
  for (const Stopped& one : stopped_) send(one.pidfd, SIGCONT);
  stopped_.clear();
}

}  // namespace temper::env
