#pragma once
// Secret inputs: a fast generator of whole tensors.

#include <cstdint>

#include "env/call/draw_family.h"
#include "env/task/task.h"

namespace temper::env {

// Fills `out` with one plain draw of an input. The same key gives the same draw.
void draw_input(const TensorSpec& input, const Shape& shape, double magnitude, uint64_t key, void* out);

// Fills `out` with a draw of that form, which was made for this input at this shape.
void draw_input(const TensorSpec& input, const Shape& shape, double magnitude, const DrawForm& form,
                uint64_t key, void* out);

// Changes one element by much: a sum, a maximum or a gathered row shows it.
void spike_input(const TensorSpec& input, const Shape& shape, double magnitude, uint64_t key, void* data);

// Writes n < 2^29 words of AES in counter mode, so that the draws seen so far do not reveal the next.
void fill_random(uint64_t key, uint32_t* out, int64_t n);

}  // namespace temper::env
