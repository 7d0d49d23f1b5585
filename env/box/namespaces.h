#pragma once
// A child process in namespaces of its own: pid, mount, net, ipc, uts, and user where we are not root. It is
// the init of its pid namespace, so killing it ends everything it started.
//
// It is not started as trusted children are (base/machine/child_process.h): it must be in its namespaces from
// its first instruction on, as only clone can have it, and works in them before it becomes another program,
// or without becoming one.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/process.h"

namespace temper::env {

// How a child ended: "exit_3", "signal_11"; a broken system-call filter rule is "forbidden_call".
std::string describe_wait_status(int status);

class BoxProcess {
 public:
  // Runs `body` in the child and ends it with the value returned. The body must not touch what only the
  // parent owns. Errors: WorldError that says what an unprivileged user lacks, where that is the reason.
  static BoxProcess start(const std::function<int()>& body);
  // One that another process has forked and waits for. `status` asks that process for the wait status once there is one; it
  // must not throw, and gives nothing where nobody knows. Errors: WorldError if the process is none that we see.
  static BoxProcess adopt(Fd pidfd, std::function<std::optional<int>()> status);
  BoxProcess() = default;
  BoxProcess(BoxProcess&&) noexcept = default;
  BoxProcess& operator=(BoxProcess&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(pidfd_, other.pidfd_);
    std::swap(status_, other.status_);
    return *this;
  }
  ~BoxProcess() { kill(); }

  pid_t pid() const { return pid_; }
  bool running() const { return bool(pidfd_); }
  // The wait status once it has ended (reaped then), nothing if it still runs after `timeout`. Errors: WorldError if it has
  // ended and nobody knows how, as where the process that has forked it is gone.
  std::optional<int> wait(std::chrono::milliseconds timeout);
  void signal(int number) const;
  void stop() const;  // and wait until it has stopped, or ended; not of one that is adopted
  void kill();        // SIGKILL and reap; nothing if it has ended

 private:
  std::optional<int> reap();

  pid_t pid_ = -1;
  Fd pidfd_;
  std::function<std::optional<int>()> status_;  // of one that is adopted
};

// For a failed system call on namespaces or mounts: errno in words, and the kernel setting that forbids them
// to unprivileged users, where one does.
[[nodiscard]] WorldError namespace_error(const std::string& what);

}  // namespace temper::env
