#pragma once
// What a task may have, as messages of a fixed size carry it.

namespace temper::env {

inline constexpr int kMaxDims = 8;
inline constexpr int kMaxTensors = 16;
inline constexpr int kMaxShapes = 64;  // that are checked or timed

}  // namespace temper::env
