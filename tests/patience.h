#pragma once

namespace temper {

// What limits of time in tests are multiplied by: a program that sanitizers watch takes several times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double kPatience = 6;
#else
inline constexpr double kPatience = 1;
#endif

}  // namespace temper
