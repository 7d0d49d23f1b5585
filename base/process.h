#pragma once
// Descriptors, child processes and the interrupt flag.

#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace temper {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// A trusted child program of ours with a connected stream socket on its descriptor 3. Killed when destroyed
// or when the parent dies.
class Subprocess {
 public:
  // Errors: WorldError if the program cannot be started.
  static Subprocess start(const std::vector<std::string>& argv);
  Subprocess() = default;
  Subprocess(Subprocess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)) {}
  Subprocess& operator=(Subprocess&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~Subprocess();
  int socket() const { return socket_.get(); }
  pid_t pid() const { return pid_; }
  void kill();  // SIGKILL and reap
  // The same, and how it had ended: "was killed by signal 9 (Killed)"; empty if it had not.
  std::string end();

 private:
  pid_t pid_ = -1;
  Fd socket_;
};

// First Ctrl-C or SIGTERM sets the flag; a second one ends the process with 130.
void install_interrupt_handler();
bool interrupted();
void interrupt();         // sets the flag; a signal that follows is the first one
void forget_interrupt();  // for tests: as if there had been none

// Monotonic seconds, for durations.
double now_s();

}  // namespace temper
