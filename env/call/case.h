#pragma once
// One call of a candidate: which tensors it sees, at which sizes, and where they lie in shared memory. Broker and
// oracle compute the same layout from the same task, so no offset ever travels between them.

#include <cstdint>
#include <vector>

#include "env/call/layout.h"
#include "env/task/task.h"

namespace temper {

inline constexpr int64_t kGuardBytes = 256;  // on both sides of every buffer
inline constexpr int64_t kBufferAlign = 64;
inline constexpr uint8_t kPoisonByte = 0xFF;  // a GPU's outputs before each call: NaN as f32, -1 as i32

// In an arena of layout.bytes; there are no workspaces.
CallLayout case_layout(const Task& task, const Shape& shape);

// The dimension arguments of the candidate's entry point, in order.
std::vector<int64_t> dim_arguments(const Task& task, const Shape& shape);

}  // namespace temper
