#pragma once
// One call of a candidate: which tensors it sees, at which sizes, and where they lie in shared memory. Broker and
// oracle compute the same layout from the same task, so no offset ever travels between them.

#include <cstdint>
#include <vector>

#include "env/call/layout.h"
#include "env/task/task.h"

namespace temper::env {

inline constexpr int64_t kGuardBytes = 256;  // on both sides of every buffer
inline constexpr int64_t kBufferAlign = 64;
inline constexpr uint8_t kPoisonByte = 0xFF;  // a GPU's outputs before each call: NaN as f32, -1 as i32

// In an arena of layout.bytes; there are no workspaces.
CallLayout case_layout(const Task& task, const Shape& shape);

// How a call's buffers lie. Guards are seen only where what was read from them matters, or where they were written;
// beside a gap each access outside a buffer faults.
enum class Placement : uint8_t {
  kPacked = 0,  // one after another, guards between them
  kEndAtGap,    // each ends where its mapped memory ends, but for what its alignment leaves
  kBeginAtGap,  // each begins where its mapped memory begins
};
inline constexpr int64_t kGapBytes = 16 << 10;  // whole pages; on either side of every buffer

// The buffers of `packed`, each in pages of its own with gaps around them. Guards fill what the pages hold besides, at
// least kGuardBytes on the side away from the gap.
CallLayout apart(const CallLayout& packed, Placement placement);

// The dimension arguments of the candidate's entry point, in order.
std::vector<int64_t> dim_arguments(const Task& task, const Shape& shape);

}  // namespace temper::env
