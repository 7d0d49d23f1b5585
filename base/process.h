#pragma once
// Descriptors and the interrupt flag.

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

// First Ctrl-C or SIGTERM sets the flag; a second one, a tenth of a second later or more, ends the process with 130.
// Children that end are waited for, whatever the program was started by wanted.
void install_interrupt_handler();
bool interrupted();
void interrupt();         // sets the flag; a signal that follows is the first one
void forget_interrupt();  // for tests: as if there had been none

// Monotonic seconds, for durations.
double now_s();

}  // namespace temper
