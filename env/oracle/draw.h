#pragma once
// Secret inputs: a fast generator of whole tensors.

#include <cstdint>

#include "env/task.h"

namespace temper {

// Fills `out` with one draw of an input. The same key gives the same draw.
void draw_input(const TensorSpec& input, const Shape& shape, double magnitude, uint64_t key, void* out);

// Changes one element by much: a sum, a maximum or a gathered row shows it.
void spike_input(const TensorSpec& input, const Shape& shape, double magnitude, uint64_t key, void* data);

// n words of AES in counter mode: who sees some draws cannot tell the next. n < 2^29.
void fill_random(uint64_t key, uint32_t* out, int64_t n);

}  // namespace temper
