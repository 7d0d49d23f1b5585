#pragma once
// The clock of a module's calls: two words of memory shared with the process that makes them.
//
// The process is told a number beforehand and waits until `go` is that number. It calls, and writes the number into `done`.
// The broker alone takes the time. What is in the outputs by then is looked at by another process, so a number that comes too
// early has computed nothing.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "env/box/shared_memory.h"

namespace temper::env {

class ClockPage {
 public:
  static constexpr int64_t kBytes = 4096;

  // Makes the memory. Errors: WorldError.
  ClockPage();
  int file() const { return file_.get(); }

  enum class End : uint8_t {
    kDone,
    kEarly,   // `done` was written before `go`
    kBroken,  // `broken` said so
    kLate,    // `patience` has passed
  };
  struct Call {
    End end = End::kLate;
    std::chrono::nanoseconds begun{0}, ended{0};  // by raw_clock(); `ended` is when `done` was seen
  };
  // Lets the call `number` begin and waits until it is done. `broken` is asked every millisecond or so whether nothing will
  // come any more. Waits by spinning at first and in short sleeps later, so that what takes long occupies no core.
  Call run(uint64_t number, std::chrono::nanoseconds patience, const std::function<bool()>& broken);

 private:
  Fd file_;
  Mapping memory_;
};

}  // namespace temper::env
