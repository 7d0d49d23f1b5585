#pragma once
// What a program prints, where it may be that nobody reads: a pipe that is full, a terminal that is held.

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/process.h"

namespace temper {

// A descriptor to which one writes without waiting: what it does not take at once is kept, and written by a
// thread as soon as somebody reads. Lines of up to a page stay whole where several write to one pipe.
class Outlet {
 public:
  // `fd` must stay open as long as the outlet. By `clock`, in seconds, patience is measured.
  explicit Outlet(int fd, std::function<double()> clock = now_s);
  ~Outlet();  // what still waits is dropped
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  // False where it cannot be written; errno says why, and what waited is dropped. Waits only where 16 MiB
  // wait already.
  bool write(std::string_view text);
  // Until all is written, or cannot be; but after interrupted(), or where the caller has no patience, no
  // longer than until nobody has read for a second. Returns the errno of the first text that was lost, EINTR
  // where nobody read it; 0: none was.
  int finish(bool patient = true);
  bool behind() const;  // whether some of it waits

 private:
  size_t waiting() const { return waiting_.size() - begin_; }
  ssize_t write_some(std::string_view text) const;
  bool write_now(std::string_view& text);
  bool wait_until(std::unique_lock<std::mutex>& lock, size_t most, bool patient);
  bool lose(int error);
  void write_what_waits();

  const int fd_;
  const std::function<double()> clock_;
  const Fd
      own_;  // the same pipe or terminal, opened anew so that a write of ours, and no other's, never waits
  const bool socket_;
  mutable std::mutex mutex_;
  std::condition_variable more_, less_;
  std::string waiting_;  // from begin_ on
  size_t begin_ = 0;
  double moved_s_ = 0;  // when something was written last
  int lost_ = 0;
  bool ends_ = false;
  std::thread thread_;  // from when something waits for the first time
};

// From here on, whatever is printed by stdout and stderr goes through outlets, so that a run neither stands
// still where nobody reads it nor is deaf to signals. For programs that print by these two alone: std::cout
// and std::cerr stay as they were. Once, before anything is printed.
void begin_output();
// What finish() of standard output and then of standard error came to.
struct OutputEnd {
  int output = 0, errors = 0;  // errno; 0: all was written
};
OutputEnd finish_output(bool patient = true);
// Whether some of what was printed to standard error waits; false before begin_output().
bool errors_wait();

}  // namespace temper
