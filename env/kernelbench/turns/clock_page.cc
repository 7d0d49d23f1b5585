#include "env/kernelbench/turns/clock_page.h"

#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstring>

#include "base/error.h"
#include "env/box/clock.h"
#include "env/kernelbench/turns/module_turns.h"

namespace temper::env {
namespace {

using std::chrono::nanoseconds;

constexpr int64_t kLine = 64, kPlacesAt = 512;  // bytes; env/kernelbench/python/clock.py has them, too
constexpr nanoseconds kSpins{20'000'000};       // what takes longer is timed well enough by short sleeps
constexpr nanoseconds kLook{1'000'000};         // how often it is asked whether all is over
constexpr int kSpinsBetween = 64;               // between two looks at the clock

std::atomic_ref<uint64_t> word_at(const Mapping& memory, ClockPage::Word word) {
  const int64_t at = kLine * int64_t(word);
  return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(memory.data() + at));
}

void rest() {
  constexpr timespec kNap{.tv_sec = 0, .tv_nsec = 20'000};
  ::nanosleep(&kNap, nullptr);
}

// True once the word has that value, within a few spins.
bool becomes(const std::atomic_ref<uint64_t>& word, uint64_t number) {
  for (int i = 0; i < kSpinsBetween; ++i) {
    if (word.load(std::memory_order_acquire) == number) return true;
    __builtin_ia32_pause();
  }
  return false;
}

}  // namespace

ClockPage::ClockPage() : file_(sealed_memory("clock", kBytes)), memory_(file_.get(), kBytes) {}

void ClockPage::say(Word word, uint64_t number) {
  word_at(memory_, word).store(number, std::memory_order_release);
}

bool ClockPage::said(Word word, uint64_t number) const {
  return word_at(memory_, word).load(std::memory_order_acquire) == number;
}

uint64_t ClockPage::read(Word word) const { return word_at(memory_, word).load(std::memory_order_acquire); }

void ClockPage::copy_places(const ClockPage& from) {
  std::memcpy(memory_.data() + kPlacesAt, from.memory_.data() + kPlacesAt, kMostPlaces * sizeof(uint64_t));
}

ClockPage::Wait ClockPage::wait(Word word, uint64_t number, nanoseconds patience,
                                const std::function<bool()>& broken) const {
  const auto at = word_at(memory_, word);
  const nanoseconds begun = raw_clock(), lane_begun = lane_clock();
  Wait wait{.ended = begun};
  for (nanoseconds looked = begun;;) {
    const bool ended = becomes(at, number);
    wait.ended = raw_clock();
    if (ended) {
      wait.end = End::kDone;
      return wait;
    }
    if (wait.ended - begun > patience && lane_clock() - lane_begun > patience) return wait;
    if (wait.ended - looked > kLook) {
      looked = wait.ended;
      lane_clock();  // which looks whether whoever has stopped us is gone
      // What was written just before the end counts.
      if (broken() && !becomes(at, number)) {
        wait.end = End::kBroken;
        return wait;
      }
    }
    if (wait.ended - begun > kSpins)
      rest();
    else
      ::sched_yield();  // whoever is waited for may have this very core, and would get it back after milliseconds
  }
}

}  // namespace temper::env
