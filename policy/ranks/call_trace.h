#pragma once
// The collective calls that a rank has made, as a running digest: two ranks that made the same calls in the same
// order have the same digest after the same number of calls. The last calls are kept, so that the first difference
// can be found between ranks with different digests.

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "policy/ranks/call_history.h"

namespace temper::policy {

class CallTrace {
 public:
  CallTrace();

  struct Point {
    uint64_t calls = 0, digest = 0;
    std::string last;  // the last of the calls: "all-reduce \"gradient norm\" of 1 × f64"
  };

  // In front of each call, on the thread that makes it. Texts must be literals, or of lasting_name().
  void add(const char* kind, const char* what, int64_t count, const char* number);
  // A number that must be the same on all ranks counts like a call: "note \"micro-batch\" of 3".
  void note(const char* what, uint64_t value) { add("note", what, int64_t(value), ""); }

  // May be called from any thread.
  Point now() const;
  std::optional<Point> after(uint64_t calls) const;  // none: not yet, or too long ago
  CallHistory history() const;                       // the calls that are kept

 private:
  struct Call {
    uint64_t digest;
    const char *kind, *what, *number;
    int64_t count;
  };
  static std::string text_of(const Call& call);
  Point point(uint64_t calls) const;

  mutable std::mutex mutex_;
  std::vector<Call> recent_;  // by number of calls, round and round
  uint64_t calls_ = 0;
};

// Returns a copy of the name that lives as long as the process, for names of calls that are made at run time.
const char* lasting_name(const std::string& name);

}  // namespace temper::policy
