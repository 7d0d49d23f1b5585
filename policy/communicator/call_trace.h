#pragma once
// Which collectives a rank has called, as a running digest: two ranks that made the same calls in the same
// order have the same digest after the same number of calls.

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace temper {

class CallTrace {
 public:
  CallTrace();

  struct Point {
    uint64_t calls = 0, digest = 0;
    std::string last;  // the last of the calls: "all-reduce \"gradient norm\" of 1 × f64"
  };

  // In front of each call, on the thread that makes it. Texts must be literals.
  void add(const char* kind, const char* what, int64_t count, const char* number);

  // Of any thread.
  Point now() const;
  std::optional<Point> after(uint64_t calls) const;  // none: not yet, or too long ago

 private:
  struct Call {
    uint64_t digest;
    const char *kind, *what, *number;
    int64_t count;
  };
  Point point(uint64_t calls) const;

  mutable std::mutex mutex_;
  std::vector<Call> recent_;  // by number of calls, round and round
  uint64_t calls_ = 0;
};

}  // namespace temper
