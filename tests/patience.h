#pragma once
// How long tests wait. A test never asks that something is done soon: on a machine that others keep busy nothing is. It waits until it
// is done, and what must not happen would take much longer than its patience.

#include <unistd.h>

#include <chrono>

#include "base/process.h"

namespace temper {

// What limits of time in tests are multiplied by: a program that sanitizers watch takes several times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double kPatience = 6;
#else
inline constexpr double kPatience = 1;
#endif

// For what takes a moment where nothing else runs.
inline constexpr double kPatience_s = 60 * kPatience;
inline constexpr std::chrono::milliseconds kPatience_ms{int64_t(1e3 * kPatience_s)};
// What would come after that is waited for by nobody.
inline constexpr double kNever_s = 3600 * kPatience;

// Waits until it is so. False: patience is over.
template <class Condition>
bool comes_true(const Condition& condition) {
  for (const double until_s = now_s() + kPatience_s; !condition(); ::usleep(1000))
    if (now_s() > until_s) return condition();
  return true;
}

}  // namespace temper
