#include "env/kernelbench/clock_page.h"

#include <time.h>

#include <atomic>

#include "env/box/clock.h"

namespace temper::env {
namespace {

using std::chrono::nanoseconds;

constexpr int64_t kGoAt = 0, kDoneAt = 64;  // bytes: words in cache lines of their own
constexpr nanoseconds kSpins{20'000'000};   // what takes longer is timed well enough by short sleeps
constexpr nanoseconds kLook{1'000'000};     // how often it is asked whether all is over
constexpr int kSpinsBetween = 64;           // between two looks at the clock

std::atomic_ref<uint64_t> word_at(const Mapping& memory, int64_t at) {
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

ClockPage::Call ClockPage::run(uint64_t number, nanoseconds patience, const std::function<bool()>& broken) {
  const auto go = word_at(memory_, kGoAt), done = word_at(memory_, kDoneAt);
  Call call;
  if (done.load(std::memory_order_acquire) == number) {
    call.end = End::kEarly;
    return call;
  }
  call.begun = raw_clock();
  go.store(number, std::memory_order_release);
  for (nanoseconds looked = call.begun;;) {
    const bool ended = becomes(done, number);
    call.ended = raw_clock();
    if (ended) {
      call.end = End::kDone;
      return call;
    }
    if (call.ended - call.begun > patience) return call;
    if (call.ended - looked > kLook) {
      looked = call.ended;
      // What was written just before the end counts.
      if (broken() && !becomes(done, number)) {
        call.end = End::kBroken;
        return call;
      }
    }
    if (call.ended - call.begun > kSpins) rest();
  }
}

}  // namespace temper::env
