#pragma once
// What a task may have, as messages of a fixed size carry it.

namespace temper::env {

inline constexpr int kMaxDims = 8;
inline constexpr int kMaxTensors = 16;

}  // namespace temper::env
