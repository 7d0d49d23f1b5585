#pragma once
// How the buffers of one call lie in one stretch of memory, on whatever device.

#include <cstdint>
#include <vector>

#include "env/task/task.h"

namespace temper::env {

struct Buffer {
  int64_t offset = 0;  // from the start of the stretch
  int64_t bytes = 0;
  bool integers = false;
};

// A stretch beside a buffer. On a GPU its first half is filled like the buffer `before`, and its second half like the
// buffer `behind`. Both are numbers of buffers: inputs come first, then outputs, then workspaces.
struct Guard : Buffer {
  size_t before = 0, behind = 0;
};

// Inputs, outputs, workspaces, with guard zones before, between and after them.
struct CallLayout {
  std::vector<Buffer> inputs, outputs, workspaces;
  std::vector<Guard> guards;
  std::vector<int64_t> gaps;  // rising offsets of kGapBytes (case.h) each that a candidate cannot touch
  int64_t bytes = 0;          // guards and gaps included
};

struct LayoutRules {
  int64_t guard_bytes;  // at least so many on both sides of every buffer
  int64_t align;        // of every buffer
};
int64_t aligned(int64_t offset, int64_t align);  // rounded up to a multiple

// Sizes in bytes.
CallLayout lay_out_call(const LayoutRules& rules, const std::vector<int64_t>& inputs,
                        const std::vector<int64_t>& outputs, const std::vector<int64_t>& workspaces);

std::vector<int64_t> buffer_bytes(const std::vector<TensorSpec>& tensors, const Shape& shape);

}  // namespace temper::env
