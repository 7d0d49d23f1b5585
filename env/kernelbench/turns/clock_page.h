#pragma once
// The clock of a module's calls: words of memory shared with a process, through which it and the broker take turns.
//
// A process is told a number beforehand, and waits until that number is in a word of the broker's. It does what it shall, and
// writes the number into a word of its own. The broker alone takes the time. What lies at the places that it names by then is
// looked at by another process, so a number that comes too early has computed nothing.

#include <chrono>
#include <cstdint>
#include <functional>

#include "env/box/shared_memory.h"

namespace temper::env {

class ClockPage {
 public:
  static constexpr int64_t kBytes = 4096;
  static constexpr size_t kMostPlaces = 256;

  // Each in a cache line of its own. A candidate's process writes kComputed, the reference's kDone, the broker the others.
  enum class Word : uint8_t {
    kGo,        // the call begins, the step shall be done
    kDone,      // the step is over
    kGiven,     // the inputs are there or, on a GPU, on their way
    kComputed,  // the result is there, in memory of the process's own
    kStep,      // what the reference shall do
    kTook,      // nanoseconds of a call, by the reference
  };

  // Makes the memory. Errors: WorldError.
  ClockPage();
  int file() const { return file_.get(); }

  void say(Word word, uint64_t number);
  bool said(Word word, uint64_t number) const;
  uint64_t read(Word word) const;
  // Copies the words in which a party says where its outputs lie. The reference reads them (env/kernelbench/python/vmm.py); the broker
  // does not.
  void copy_places(const ClockPage& from);

  enum class End : uint8_t {
    kDone,
    kBroken,  // `broken` said so
    kLate,    // `patience` has passed
  };
  struct Wait {
    End end = End::kLate;
    std::chrono::nanoseconds ended{0};  // by raw_clock(): when the number was seen
  };
  // Until the word has that number. `broken` is asked every millisecond or so whether nothing will come any more. Waits by
  // spinning at first and in short sleeps later, so that what takes long occupies no core.
  Wait wait(Word word, uint64_t number, std::chrono::nanoseconds patience,
            const std::function<bool()>& broken) const;

 private:
  Fd file_;
  Mapping memory_;
};

}  // namespace temper::env
